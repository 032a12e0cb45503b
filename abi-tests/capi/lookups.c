/* No namespace is looked up while endpoints are made, and nothing else in /proc: 1,000 endpoints to a worker of this process, and as many to one of another. The program stands in for the calls of the C library by which a
 * path is looked at. usage: lookups [ENDPOINTS] */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static int in_proc, in_ns;
static void look(const char *path)
{
    static const char proc[] = "/proc/";
    for (int i = 0; proc[i]; i++)
        if (!path || path[i] != proc[i]) return;
    in_proc++;
    for (int i = 0; path[i]; i++) in_ns += path[i] == '/' && path[i + 1] == 'n' && path[i + 2] == 's' && path[i + 3] == '/';
}

#define OPEN(name, ...)                                           \
    int name(__VA_ARGS__ const char *path, int flags, ...)        \
    {                                                             \
        va_list more;                                             \
        va_start(more, flags);                                    \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; \
        va_end(more);                                             \
        look(path);                                               \
        return syscall(SYS_openat, AT, path, flags, mode);        \
    }
#define AT AT_FDCWD
OPEN(open, )
OPEN(open64, )
#undef AT
#define AT at
#define COMMA ,
OPEN(openat, int at COMMA)
OPEN(openat64, int at COMMA)
struct statx;
int statx(int at, const char *path, int flags, unsigned mask, struct statx *out)
{
    look(path);
    return syscall(SYS_statx, at, path, flags, mask, out);
}
ssize_t readlink(const char *path, char *out, size_t n)
{
    look(path);
    return syscall(SYS_readlinkat, AT_FDCWD, path, out, n);
}

#include "pair.h"
#include <signal.h>
#include <sys/wait.h>

static ucp_address_t *theirs;
static void more(int n)
{
    for (int i = 0; i < n; i++) {
        ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = theirs};
        ucp_ep_h ep;
        MUST(ucp_ep_create(A.w, &p, &ep));
        for (int k = 0; k < 5; k++) ucp_worker_progress(A.w);
    }
}

static void count(const char *to, int n)
{
    more(2);
    int proc = in_proc, ns = in_ns;
    if (!proc) DIE("nothing is counted");
    more(n);
    /* The worker looks at its peers now and then, which grows with the time and not with them. */
    int few = in_proc - proc <= n / 10;
    printf("%s: %s lookups in /proc, %s of namespaces\n", to, few ? "few" : "WRONG: many", in_ns == ns ? "none" : "WRONG");
    if (!few) printf("%d lookups for %d endpoints\n", in_proc - proc, n);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000, fds[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    close(fds[pid == 0]);
    fd = fds[pid != 0];
    if (pid == 0) {
        open_side(&B);
        give(&B.len, sizeof B.len);
        give(B.addr, B.len);
        for (;;) ucp_worker_progress(B.w), usleep(1000);
    }
    say_maps();
    open_side(&A);
    open_side(&B);
    theirs = B.addr;
    count("to this process", n);
    size_t len;
    take(&len, sizeof len);
    theirs = malloc(len);
    take(theirs, len);
    count("to another process", n);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    printf("end\n");
    fflush(stdout);
    _exit(0);
}
