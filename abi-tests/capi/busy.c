/* A peer that is stopped, and one that only computes: with nothing under way, with messages that it doesn't read, and
 * in the middle of large ones. However long that takes, nobody is told that it is dead; then everything arrives.
 * The times after which a silent host would be lost are much shorter than the pause, or (`default`) those that users
 * have who set nothing.
 * usage: busy [SECONDS [default]] */
#include "inside.h"
#include "pair.h"
#include <signal.h>
#include <sys/wait.h>

enum { N = 300, SMALL = 20000, LARGE = 4 << 20, LARGE_N = 4 };
static unsigned char *out, *in;
static int failed, child;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    failed++;
    if (!child) DIE("the error handler is called: %s", name(s));
    _exit(0); /* the other side has said what is wrong */
}

static size_t size_of(int i) { return i < N ? SMALL : LARGE; }

static ucs_status_ptr_t message(int i)
{
    return child ? ucp_tag_recv_nbx(A.w, in, size_of(i), i, ALL, &plain) : ucp_tag_send_nbx(A.ep, out, size_of(i), i, &plain);
}

static void peer(int computes, double pause)
{
    char c = 0;
    MUST(settled(ucp_tag_recv_nbx(A.w, &c, 1, 1000, ALL, &plain)));
    MUST(settled(ucp_tag_send_nbx(A.ep, &c, 1, 1001, &plain)));
    if (computes) usleep(pause * 1e6); /* no call of ours */
    for (int i = 0; i < N + LARGE_N; i++) {
        MUST(settled(message(i)));
        if (!same(in, size_of(i), 5)) DIE("message %d is not what was sent", i);
    }
    MUST(settled(ucp_tag_send_nbx(A.ep, &c, 1, 1001, &plain)));
    MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
    for (double end = now() + 0.3; now() < end;) ucp_worker_progress(A.w);
    _exit(0);
}

static void the_case(int computes, int loaded, double pause)
{
    int fds[2], st;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    child = pid == 0;
    fd = fds[child];
    close(fds[!child]);
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    open_side(&A);
    ucp_address_t *theirs = swap_addresses();
    connect_to(&A, theirs);
    if (child) peer(computes, pause);
    static ucs_status_ptr_t s[N + LARGE_N];
    char c = 0;
    MUST(settled(ucp_tag_send_nbx(A.ep, &c, 1, 1000, &plain)));
    MUST(settled(ucp_tag_recv_nbx(A.w, &c, 1, 1001, ALL, &plain)));
    if (!computes) kill(pid, SIGSTOP);
    for (int i = 0; loaded && i < N + LARGE_N; i++) s[i] = message(i);
    for (double end = now() + pause; now() < end; usleep(1000)) ucp_worker_progress(A.w);
    if (!computes) kill(pid, SIGCONT);
    for (int i = 0; i < N + LARGE_N; i++) MUST(settled(loaded ? s[i] : message(i)));
    MUST(settled(ucp_tag_recv_nbx(A.w, &c, 1, 1001, ALL, &plain)));
    extra_ep_params.err_handler.cb = NULL;
    while (waitpid(pid, &st, WNOHANG) == 0) usleep(1000); /* no progress: it goes now, and may be missed */
    HOLDS(WIFEXITED(st) && WEXITSTATUS(st) == 0);
    _exit(0);
}

int main(int argc, char **argv)
{
    double pause = argc > 1 ? atof(argv[1]) : 4;
    patience += pause;
    if (argc < 3) {
        setenv("UCX_KEEPALIVE_INTERVAL", "100ms", 1);
        setenv("UCX_TCP_KEEPIDLE", "1s", 1);
        setenv("UCX_TCP_KEEPINTVL", "1s", 1);
        setenv("UCX_TCP_KEEPCNT", "2", 1);
    }
    out = malloc(LARGE);
    in = malloc(LARGE);
    fill(out, LARGE, 5);
    /* Side by side: the time is the pause's. */
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        fflush(NULL);
        pids[i] = fork();
        if (pids[i] == 0) the_case(i & 1, i >> 1, pause);
    }
    int wrong = 0, st;
    for (int i = 0; i < 4; i++) {
        HOLDS(waitpid(pids[i], &st, 0) == pids[i]);
        int right = WIFEXITED(st) && WEXITSTATUS(st) == 0;
        wrong += !right;
        printf("a peer that %s, %s: %s\n", i & 1 ? "computes" : "is stopped", i >> 1 ? "with much under way" : "with nothing under way",
               right ? "not dead, all arrives" : "WRONG");
    }
    say_maps();
    if (wrong) return 3;
    printf("end\n");
    return 0;
}
