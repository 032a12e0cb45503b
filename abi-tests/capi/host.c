/* A process that meets UCX by dlopen only (see plugin.c): opened, used and closed many times, by
 * several threads; its signal handlers stay; forked children that do nothing, exec, exit or use UCX
 * themselves; no /proc, or one with a very long list of mappings. On our libraries only.
 * usage: host PLUGIN [ROUNDS] */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDS(cond) \
    do { if (!(cond)) { printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond); fflush(stdout); _exit(3); } } while (0)

static const char *plugin;

static void *opened(int flags)
{
    void *h = dlopen(plugin, RTLD_NOW | flags);
    if (!h) {
        printf("FAILED %s\n", dlerror());
        exit(3);
    }
    return h;
}

static void call(void *h, const char *name)
{
    void (*f)(void) = (void (*)(void))dlsym(h, name);
    HOLDS(f);
    f();
}

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) n++;
    if (d) closedir(d);
    return n;
}

static long number_in(const char *file, const char *key)
{
    char line[512];
    long n = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (!key) n++;
        else if (!strncmp(line, key, strlen(key))) n = atol(line + strlen(key));
    }
    if (f) fclose(f);
    return n;
}

/* ---- signals ------------------------------------------------------------------------------------------ */

static void mine(int sig) {}

static void set_handlers(struct sigaction *all)
{
    static const int some[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGUSR1, SIGUSR2, SIGIO, SIGALRM, SIGCHLD, SIGPIPE, SIGTERM, SIGINT};
    struct sigaction sa = {.sa_handler = mine, .sa_flags = SA_RESTART};
    for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) HOLDS(sigaction(some[i], &sa, NULL) == 0);
    for (int s = 1; s < 65; s++) sigaction(s, NULL, &all[s]);
}

static int handlers_changed(const struct sigaction *all)
{
    int n = 0;
    for (int s = 1; s < 65; s++) {
        struct sigaction is;
        memset(&is, 0, sizeof is);
        if (sigaction(s, NULL, &is) == 0) n += is.sa_handler != all[s].sa_handler || is.sa_flags != all[s].sa_flags;
    }
    return n;
}

/* ---- again and again ------------------------------------------------------------------------------------ */

static void reload(int rounds)
{
    static const int flags[] = {RTLD_LOCAL, RTLD_LOCAL | RTLD_DEEPBIND, RTLD_GLOBAL};
    int fds = 0, tasks = 0;
    long maps = 0, size = 0, rss = 0;
    for (int i = 0; i < rounds; i++) {
        void *h = opened(flags[i % 3]);
        call(h, "plugin_use");
        dlclose(h);
        if (i == 9) {
            fds = entries("/proc/self/fd"), tasks = entries("/proc/self/task");
            maps = number_in("/proc/self/maps", NULL), size = number_in("/proc/self/status", "VmSize:"), rss = number_in("/proc/self/status", "VmRSS:");
        }
    }
    fds = entries("/proc/self/fd") - fds, tasks = entries("/proc/self/task") - tasks;
    maps = number_in("/proc/self/maps", NULL) - maps, size = number_in("/proc/self/status", "VmSize:") - size, rss = number_in("/proc/self/status", "VmRSS:") - rss;
    printf("opened, used and closed %d times: %d descriptors, %d threads more", rounds, fds, tasks);
    if (fds || tasks || maps > 4 || size > 4096 || rss > 4096) printf(", WRONG: %ld mappings, %ld KB, %ld KB resident", maps, size, rss);
    printf("\n");
}

static void *one_of_many(void *arg)
{
    for (int i = 0; i < 5; i++) {
        void *h = opened((i + (long)arg) % 2 ? RTLD_LOCAL : RTLD_LOCAL | RTLD_DEEPBIND);
        call(h, "plugin_start_and_end");
        dlclose(h);
    }
    return NULL;
}

static void at_once(void)
{
    enum { T = 8 };
    pthread_t t[T];
    for (long i = 0; i < T; i++) HOLDS(pthread_create(&t[i], NULL, one_of_many, (void *)i) == 0);
    for (int i = 0; i < T; i++) pthread_join(t[i], NULL);
    printf("%d threads open, use and close at once\n", T);
}

/* ---- fork -------------------------------------------------------------------------------------------------- */

static volatile int stop;
static void *goes_on(void *h)
{
    while (!stop) call(h, "plugin_check");
    return NULL;
}

/* What the child does. */
enum { QUITS, RUNS_ANOTHER, EXITS, LIVES, USES, KINDS };
static const char *const kinds[] = {"_exit", "exec", "exit", "goes on without UCX", "uses UCX itself"};

static int child_of(void *h, int kind)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        switch (kind) {
        case QUITS: _exit(7);
        case RUNS_ANOTHER: execl("/bin/sh", "sh", "-c", "exit 7", NULL); _exit(1);
        case EXITS: exit(7);
        case LIVES:
            for (int i = 0; i < 1000; i++) free(malloc(100000 + i));
            mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            exit(entries("/proc/self/task") == 3 ? 7 : 1);
        default: {
            void *again = opened(RTLD_LOCAL);
            call(again, "plugin_use");
            exit(7);
        }
        }
    }
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid);
    return WIFEXITED(st) && WEXITSTATUS(st) == 7;
}

static void forks(void)
{
    void *h = opened(RTLD_LOCAL);
    call(h, "plugin_open");
    for (int kind = 0; kind < KINDS; kind++) {
        int right = 0;
        for (int i = 0; i < 10; i++) {
            right += child_of(h, kind);
            call(h, "plugin_check");
        }
        printf("a child that %s: %d of 10 right, the parent goes on\n", kinds[kind], right);
        if (right != 10) printf("WRONG\n");
    }
    /* While another thread is inside UCX. */
    pthread_t t;
    HOLDS(pthread_create(&t, NULL, goes_on, h) == 0);
    int right = 0;
    for (int i = 0; i < 60; i++) right += child_of(h, i % LIVES);
    stop = 1;
    pthread_join(t, NULL);
    printf("forked in the middle of communication: %d of 60 right\n", right);
    if (right != 60) printf("WRONG\n");
    call(h, "plugin_close");
    dlclose(h);
}

/* ---- /proc -------------------------------------------------------------------------------------------------- */

static void in_child(const char *what, int (*prepare)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        if (prepare()) {
            void *h = opened(RTLD_LOCAL);
            call(h, "plugin_use");
            _exit(0);
        }
        _exit(9);
    }
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid);
    printf("%s: %s\n", what, WIFSIGNALED(st) ? "WRONG, a signal" : WEXITSTATUS(st) == 0 ? "works" : WEXITSTATUS(st) == 9 ? "WRONG, can't be tried" : "WRONG");
}

static int private_mounts(void) { return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0; }
static int no_maps(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", getpid());
    return private_mounts() && mount("/dev/null", path, NULL, MS_BIND, NULL) == 0;
}
static int no_proc(void) { return private_mounts() && mount("none", "/proc", "tmpfs", 0, "size=4k") == 0; }
static int long_maps(void)
{
    /* Neighbours of different protection don't merge. */
    char *p = mmap(NULL, 120000ul << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 0;
    int n = 0;
    while (n < 30000 && mprotect(p + ((size_t)n * 2 << 12), 4096, PROT_READ) == 0) n++;
    return n > 25000;
}

int main(int argc, char **argv)
{
    struct sigaction before[65];
    plugin = argv[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    set_handlers(before);
    reload(argc > 2 ? atoi(argv[2]) : 100);
    at_once();
    printf("signal handlers changed: %d\n", handlers_changed(before));
    forks();
    in_child("an empty /proc/self/maps", no_maps);
    /* Without it processes can't wake each other over shared memory. */
    if (strstr(getenv("UCX_TLS"), "tcp")) in_child("no /proc", no_proc);
    in_child("60,000 mappings", long_maps);
    void *h = opened(RTLD_LOCAL);
    call(h, "plugin_maps");
    printf("end\n");
    return 0;
}
