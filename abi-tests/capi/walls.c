/* Walls between the processes of a host, as containers and hardening put them up: namespaces, seccomp, other
 * users, little shared memory. Messages of all sizes, put and get work all the same, by another way where need
 * be; nothing is printed at the default log level but where memory is short, and the peer isn't taken for dead.
 * Each case has two processes of its own. Run on our libraries only: genuine UCX fails in several cases.
 *
 *   walls               sets UCX_TLS itself
 *
 * Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "am.h"
#include "rma.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { BIG = 2 << 20, PART = 100000 };
static unsigned char out[BIG], in[BIG];
static int line, handled;
static char log_file[64];

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { handled++; }

/* ---- two processes talk --------------------------------------------------------------------------- */

static void swap(const void *mine, size_t n, void *theirs, size_t *their_n)
{
    HOLDS(write(line, &n, sizeof n) == sizeof n && write(line, mine, n) == (ssize_t)n);
    size_t got = 0;
    HOLDS(recv(line, their_n, sizeof *their_n, MSG_WAITALL) == sizeof *their_n && *their_n <= 4096);
    got = recv(line, theirs, *their_n, MSG_WAITALL);
    HOLDS(got == *their_n);
}

static void both_ways(size_t n)
{
    static unsigned seed;
    seed++;
    fill(out, n, seed);
    memset(in, 0, n);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, in, n, n, ALL, &plain), s = ucp_tag_send_nbx(A.ep, out, n, n, &plain);
    MUST(finished(s));
    MUST(finished(r));
    if (!same(in, n, seed)) DIE("%zu bytes are wrong", n);
}

/* Waits until the other is here, too, with progress. */
static void both_are_here(void)
{
    char c = 0;
    HOLDS(write(line, &c, 1) == 1);
    UNTIL(recv(line, &c, 1, MSG_DONTWAIT) == 1);
}

/* Much memory, all of it used, and a crowd of messages that nobody has asked for, some of them long. */
static int crowd;
static void come_in_crowds(void)
{
    enum { N = 10000, LONG_ONE = 30000 };
    static unsigned char long_one[LONG_ONE];
    struct region large = map_region(&A, ALLOCATED, 64 << 20); /* written from end to end */
    fill(long_one, LONG_ONE, 1);
    for (int i = 0; i < N; i++) {
        if (i % 100 == 0) { /* it may wait for its receive */
            ucs_status_ptr_t s = ucp_tag_send_nbx(A.ep, long_one, LONG_ONE, 5000 + i, &plain);
            HOLDS(!UCS_PTR_IS_ERR(s));
            if (s) ucp_request_free(s);
        } else {
            size_t n = (size_t)i * 37 % 900;
            fill(out, n, i);
            MUST(finished(ucp_tag_send_nbx(A.ep, out, n, 5000 + i, &plain)));
        }
    }
    both_are_here();
    let_it_arrive();
    for (int i = 0; i < N; i++) {
        int is_long = i % 100 == 0;
        size_t n = is_long ? LONG_ONE : (size_t)i * 37 % 900;
        memset(in, 0, n);
        MUST(finished(ucp_tag_recv_nbx(A.w, in, n, 5000 + i, ALL, &plain)));
        if (!same(in, n, is_long ? 1 : i)) DIE("message %d of the crowd is wrong", i);
    }
    both_are_here();
    unmap_region(&A, &large);
}

/* Opens, connects, talks, and closes. */
static void talk(void)
{
    static char theirs[4096], their_key[4096];
    size_t n;
    uint64_t at;
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    open_side(&A);
    B = A;
    swap(A.addr, A.len, theirs, &n);
    connect_to(&A, (ucp_address_t *)theirs);
    for (int i = 0; i < 3; i++) {
        both_ways(8);
        both_ways(5000);
        both_ways(BIG);
    }
    if (crowd) come_in_crowds();
    struct region mine = map_region(&A, USER, PART);
    swap(mine.packed, mine.packed_len, their_key, &n);
    swap(&mine.at, sizeof mine.at, &at, &n);
    ucp_rkey_h key = key_of(A.ep, their_key);
    fill(out, PART, 77);
    MUST(finished(ucp_put_nbx(A.ep, out, PART, at, key, &plain)));
    MUST(flushed(A.ep));
    both_ways(9); /* so that the other's put is here, too */
    HOLDS(same(mine.at, PART, 77));
    memset(in, 0, PART);
    MUST(finished(ucp_get_nbx(A.ep, in, PART, at, key, &plain)));
    HOLDS(same(in, PART, 77));
    both_ways(10);
    double end = now() + 0.25; /* several looks for the peer's life */
    while (now() < end) progress();
    both_ways(11);
    if (handled) DIE("the peer was taken for dead");
    ucp_rkey_destroy(key);
    unmap_region(&A, &mine);
    /* Who comes first waits for the other: a close is an error to a peer that handles errors. */
    char c = 0;
    HOLDS(write(line, &c, 1) == 1);
    HOLDS(fcntl(line, F_SETFL, O_NONBLOCK) == 0);
    UNTIL(read(line, &c, 1) == 1);
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain);
    UNTIL(!is_pending(r));
    if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
}

static int wrong;

/* Lines that have all of these words in them ("this|that"). */
static int log_lines(const char *with)
{
    char text[1024], words[256], *word;
    int n = 0;
    FILE *f = fopen(log_file, "r");
    while (f && fgets(text, sizeof text, f)) {
        snprintf(words, sizeof words, "%s", with);
        int all = 1;
        for (char *rest = words; (word = strsep(&rest, "|")) != NULL;) all &= strstr(text, word) != NULL;
        n += all;
    }
    if (f) fclose(f);
    return n;
}
static void show_log(void)
{
    char text[1024];
    FILE *f = fopen(log_file, "r");
    while (f && fgets(text, sizeof text, f)) printf("  %s", text);
    if (f) fclose(f);
}

enum said { NOTHING, SOMETHING };

/* `before` runs in each of the two processes, 0 and 1; it returns 0 if this machine doesn't let it. */
static void check(const char *what, const char *tls, int (*before)(int), enum said said, const char *must_say)
{
    int fds[2], st;
    pid_t pids[2];
    unlink(log_file);
    fflush(NULL);
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    for (int who = 0; who < 2; who++)
        if ((pids[who] = fork()) == 0) {
            alarm(60);
            close(fds[!who]);
            line = fds[who];
            setenv("UCX_TLS", tls, 1);
            setenv("UCX_KEEPALIVE_INTERVAL", "50ms", 1);
            int log = open(log_file, O_CREAT | O_WRONLY | O_APPEND, 0600);
            HOLDS(log >= 0 && dup2(log, 1) == 1 && dup2(log, 2) == 2);
            close(log);
            if (!before(who)) _exit(77);
            /* A new pid namespace is for children. */
            pid_t pid = fork();
            if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                alarm(60);
                char number[12];
                snprintf(number, sizeof number, "%d", line);
                /* The level of the log is read when the library is loaded. */
                if (getenv("UCX_LOG_LEVEL")) execl("/proc/self/exe", "walls", number, NULL);
                talk();
                fflush(NULL);
                _exit(0);
            }
            if (waitpid(pid, &st, 0) != pid) _exit(3);
            if (WIFSIGNALED(st)) printf("FAILED: ended by signal %d\n", WTERMSIG(st));
            fflush(NULL);
            _exit(WIFEXITED(st) ? WEXITSTATUS(st) : 3);
        }
    close(fds[0]);
    close(fds[1]);
    int bad = 0, refused = 0;
    for (int who = 0; who < 2; who++) {
        HOLDS(waitpid(pids[who], &st, 0) == pids[who]);
        refused |= WIFEXITED(st) && WEXITSTATUS(st) == 77;
        bad |= !WIFEXITED(st) || WEXITSTATUS(st) != 0;
    }
    if (refused) {
        printf("  (%s: this machine doesn't let us)\n", what);
        return;
    }
    if (said == NOTHING && log_lines("") != 0) bad = 1;
    if (must_say && !log_lines(must_say)) {
        printf("  no line says \"%s\"\n", must_say);
        bad = 1;
    }
    if (bad) show_log();
    printf("%s %s, %s\n", bad ? "WRONG" : "ok", what, tls);
    wrong += bad;
}

/* ---- walls ---------------------------------------------------------------------------------------- */

static int none(int who) { return 1; }
static int user_namespaces(int who) { return unshare(CLONE_NEWUSER) == 0; }
static int one_user_namespace(int who) { return who || unshare(CLONE_NEWUSER) == 0; }
static int pid_ipc_namespaces(int who) { return unshare(CLONE_NEWPID | CLONE_NEWIPC) == 0; }
static int named_files(int who)
{
    setenv("UCX_POSIX_USE_PROC_LINK", "n", 1);
    return pid_ipc_namespaces(who);
}
static int ipc_namespaces(int who) { return unshare(CLONE_NEWIPC) == 0; }

static int forbid(int error)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {sizeof f / sizeof *f, f};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}
static int seccomp_eperm(int who) { return forbid(EPERM); }
static int seccomp_enosys(int who) { return forbid(ENOSYS); }
static int seccomp_one_side(int who) { return who || forbid(EPERM); }
static int seccomp_told(int who)
{
    setenv("UCX_LOG_LEVEL", "diag", 1);
    return forbid(EPERM);
}
static int not_dumpable(int who) { return setgid(65534) == 0 && setuid(65534) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0; }
/* Neither sees that the other's process exists. */
static int hidden(int who)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/proc", "proc", 0, "hidepid=2") == 0 && not_dumpable(who);
}
static int other_users(int who) { return setgid(4000 + who) == 0 && setuid(4000 + who) == 0; }
static int small_folder(int who)
{
    static char kib[] = "size=64k";
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, kib) == 0;
}
static int small_named_folder(int who)
{
    setenv("UCX_POSIX_USE_PROC_LINK", "n", 1);
    return small_folder(who);
}
static int folder_of_1_mib(int who)
{
    static char kib[] = "size=1m";
    crowd = 1;
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, kib) == 0;
}
static int folder_of_1_mib_for_allocations(int who)
{
    setenv("UCX_ALLOC_PRIO", "md:posix,mmap", 1);
    return folder_of_1_mib(who);
}
static int folder_of_1_mib_by_name(int who)
{
    setenv("UCX_POSIX_USE_PROC_LINK", "n", 1);
    return folder_of_1_mib_for_allocations(who);
}
/* Both in one namespace of their own would need a third process; a segment fails in each all the same. */
static int small_sysv(int who)
{
    if (unshare(CLONE_NEWIPC) != 0) return 0;
    int fd = open("/proc/sys/kernel/shmmax", O_WRONLY);
    if (fd < 0 || write(fd, "4096", 4) != 4) return 0;
    close(fd);
    return 1;
}
static int small_sysv_crowded(int who)
{
    crowd = 1;
    setenv("UCX_ALLOC_PRIO", "md:sysv,mmap", 1);
    return small_sysv(who);
}
static int no_proc(int who)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/proc", "tmpfs", 0, "size=64k") == 0;
}

/* ---- system calls --------------------------------------------------------------------------------- */

/* Counts, in the child, looks at /proc/self/ns and requests for huge pages. */
static int namespaces_looked_at, huge;
static void count_call(pid_t pid, const struct user_regs_struct *r)
{
    unsigned long at = 0;
    switch (r->orig_rax) {
    case SYS_open: case SYS_stat: case SYS_lstat: case SYS_readlink: at = r->rdi; break;
    case SYS_openat: case SYS_newfstatat: case SYS_readlinkat: case SYS_statx: at = r->rsi; break;
    case SYS_mmap: huge += r->r10 != 0 && (r->r10 & 0x40000) != 0; return;
    case SYS_shmget: huge += (r->rdx & SHM_HUGETLB) != 0; return;
    default: return;
    }
    char path[64] = "";
    for (size_t i = 0; i < sizeof path - 8; i += 8) {
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, at + i, NULL);
        if (errno) break;
        memcpy(path + i, &word, 8);
        if (memchr(path + i, 0, 8)) break;
    }
    namespaces_looked_at += strstr(path, "/proc/") && strstr(path, "/ns/");
}

/* Many endpoints in one process, a new pair of workers for each ten; and some memory. */
static void endpoints(int n)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    pair_open(0);
    for (int i = 0; i < n; i++) {
        ucp_ep_h ep;
        ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = B.addr};
        MUST(ucp_ep_create(A.w, &p, &ep));
    }
    struct region r = map_region(&A, ALLOCATED, 8 << 20);
    unmap_region(&A, &r);
    still_works();
}

static int looks_of(int n)
{
    namespaces_looked_at = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        setenv("UCX_TLS", "self,sm,tcp", 1);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(77);
        raise(SIGSTOP);
        endpoints(n);
        _exit(0);
    }
    int st, entering = 0;
    HOLDS(waitpid(pid, &st, 0) == pid);
    if (WIFEXITED(st)) return -1;
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (long sig = 0;;) {
        HOLDS(ptrace(PTRACE_SYSCALL, pid, NULL, sig) == 0);
        HOLDS(waitpid(pid, &st, 0) == pid);
        if (WIFEXITED(st) || WIFSIGNALED(st)) break;
        sig = WSTOPSIG(st) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(st);
        if (sig) continue;
        struct user_regs_struct r;
        entering = !entering;
        if (entering && ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0) count_call(pid, &r);
    }
    if (!WIFEXITED(st) || WEXITSTATUS(st)) DIE("%d endpoints: it ended badly", n);
    return namespaces_looked_at;
}

static void system_calls(void)
{
    int few = looks_of(1), many = few < 0 ? -1 : looks_of(1000);
    if (few < 0) {
        printf("  (system calls: this machine doesn't let us trace)\n");
        return;
    }
    int bad = few == 0 || many > few;
    if (bad) printf("  %d with one endpoint, %d with a thousand\n", few, many);
    printf("%s looks at namespaces don't grow with endpoints\n", bad ? "WRONG" : "ok");
    printf("%s no huge page is asked for\n", huge ? "WRONG" : "ok");
    wrong += bad + (huge != 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        line = atoi(argv[1]);
        talk();
        return 0;
    }
    unsetenv("UCX_LOG_LEVEL");
    unsetenv("UCX_LOG_FILE"); /* then it goes to where ours does */
    snprintf(log_file, sizeof log_file, "/tmp/ucx_rs_walls_%d", getpid());
    say_maps();
    static const char *const tls[] = {"self,sm,tcp", "all"};
    for (int i = 0; i < 2; i++) {
        check("no wall", tls[i], none, NOTHING, NULL);
        check("user namespaces", tls[i], user_namespaces, NOTHING, NULL);
        check("namespaces of processes and System V objects", tls[i], pid_ipc_namespaces, NOTHING, NULL);
        check("seccomp", tls[i], seccomp_eperm, NOTHING, NULL);
        check("other users", tls[i], other_users, NOTHING, NULL);
    }
    check("one user namespace", "self,sm,tcp", one_user_namespace, NOTHING, NULL);
    check("the same with files in a folder", "self,sm,tcp", named_files, NOTHING, NULL);
    check("not dumpable", "self,sm,tcp", not_dumpable, NOTHING, NULL);
    check("hidden processes", "self,sm,tcp", hidden, NOTHING, NULL);
    check("hidden processes", "self,sysv", hidden, NOTHING, NULL);
    check("the same with files in a folder", "self,posix", named_files, NOTHING, NULL);
    check("namespaces of System V objects", "self,posix,cma", ipc_namespaces, NOTHING, NULL);
    check("seccomp", "self,sm", seccomp_eperm, NOTHING, NULL);
    check("seccomp as if not there", "self,sm", seccomp_enosys, NOTHING, NULL);
    check("seccomp on one side", "self,sm", seccomp_one_side, NOTHING, NULL);
    check("seccomp, told", "self,sm", seccomp_told, SOMETHING, "DIAG  cma is not available: Operation not permitted");
    check("little room in /dev/shm", "self,sm,tcp", small_folder, SOMETHING, "/dev/shm");
    check("little room in /dev/shm", "self,posix,cma", small_folder, SOMETHING, "bytes are free");
    check("little room for named files", "self,posix,tcp", small_named_folder, SOMETHING, "UCX_POSIX_DIR");
    check("small System V segments", "self,sysv,tcp", small_sysv, SOMETHING, "kernel.shmmax");
    static const char *const remedy = "/dev/shm|bytes are free|bytes in|UCX_POSIX_DIR";
    check("a crowd in a folder of 1 MiB", "self,sm,tcp", folder_of_1_mib, NOTHING, NULL);
    check("a crowd in a folder of 1 MiB", "self,posix", folder_of_1_mib, SOMETHING, NULL);
    check("a crowd in a folder of 1 MiB, allocations too", "self,sm,tcp", folder_of_1_mib_for_allocations, SOMETHING, remedy);
    check("a crowd in a folder of 1 MiB, allocations too", "self,posix,tcp", folder_of_1_mib_for_allocations, SOMETHING, remedy);
    check("a crowd in a folder of 1 MiB, by name", "self,posix,tcp", folder_of_1_mib_by_name, SOMETHING, remedy);
    check("a crowd in small System V segments", "self,sysv,tcp", small_sysv_crowded, SOMETHING, "kernel.shmmax|bytes");
    check("no /proc", "self,sm,tcp", no_proc, SOMETHING, NULL);
    system_calls();
    unlink(log_file);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
