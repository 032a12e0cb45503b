/* A worker that sleeps in poll on its descriptor, and nothing else: it wakes to find that its peer
 * was killed, at once where the kernel tells of that, and to accept clients; a peer that is only stopped is not taken for dead; the thread
 * behind it exists while it is needed, and not in a forked child. On our libraries only: genuine UCX
 * has no error handling over shared memory. */
#include "pair.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int count_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    while (d && (e = readdir(d))) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

/* The same after threads were joined: the kernel lists them for a moment longer. */
static int threads_left(int expected)
{
    double end = now() + 5;
    int n;
    while ((n = count_threads()) > expected && now() < end) usleep(1000);
    return n;
}

static int failed, wakes;
static ucs_status_t reason;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    failed++;
    reason = s;
}

/* Sleeps until the worker wakes up or `ms` have passed; then does what there is to do. */
static void doze(int ms)
{
    int efd;
    while (ucp_worker_progress(A.w)) {}
    MUST(ucp_worker_get_efd(A.w, &efd));
    ucs_status_t s = ucp_worker_arm(A.w);
    if (s == UCS_OK) {
        struct pollfd p = {.fd = efd, .events = POLLIN};
        wakes += poll(&p, 1, ms) == 1;
    } else if (s != UCS_ERR_BUSY)
        DIE("arm gave %s", name(s));
    while (ucp_worker_progress(A.w)) {}
}

static void watch_peer(void)
{
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
}

/* A child with a worker that is connected to ours; it progresses until told otherwise. */
static pid_t peer(void)
{
    int fds[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    fd = fds[pid == 0];
    close(fds[pid != 0]);
    watch_peer();
    open_side(&A);
    uint64_t len = A.len, theirs;
    give(&len, sizeof len);
    give(A.addr, A.len);
    take(&theirs, sizeof theirs);
    ucp_address_t *addr = malloc(theirs);
    take(addr, theirs);
    connect_to(&A, addr);
    free(addr);
    if (pid == 0) {
        long v = 1;
        for (int i = 0; i < 3; i++) {
            HOLDS(finished(ucp_tag_recv_nbx(A.w, &v, sizeof v, 1, ALL, &plain)) == UCS_OK);
            HOLDS(finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 2, &plain)) == UCS_OK);
        }
        for (;;) ucp_worker_progress(A.w), usleep(1000);
    }
    return pid;
}

static void round_trip(void)
{
    long v = 77, w = 0;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &w, sizeof w, 2, ALL, &plain);
    HOLDS(finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain)) == UCS_OK);
    HOLDS(finished(r) == UCS_OK && w == v);
}

static void leave(void)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    finished(ucp_ep_close_nbx(A.ep, &p));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    memset(&A, 0, sizeof A);
    close(fd);
}

static void peers(void)
{
    int before = count_threads();
    pid_t pid = peer();
    round_trip();
    printf("threads: %d more with an endpoint to watch\n", count_threads() - before);

    /* Healthy and stopped peers, longer than several intervals. */
    double end = now() + 1;
    wakes = 0;
    while (now() < end) doze(1000);
    printf("a healthy peer: %s, handler called %d\n", wakes > 0 && wakes < 30 ? "woken for a look now and then" : "WRONG number of wakes", failed);
    kill(pid, SIGSTOP);
    end = now() + 1;
    while (now() < end) doze(1000);
    printf("a stopped peer: handler called %d\n", failed);
    kill(pid, SIGCONT);
    round_trip();

    /* A child that does not use UCX has no thread of ours and dies quietly; one that does, lives alone. */
    for (int use = 0; use < 2; use++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            int n = count_threads();
            if (use) {
                memset(&A, 0, sizeof A);
                features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
                pair_open(0);
                still_works();
                n += count_threads() - 2;
                close_side(&A), close_side(&B);
                n += threads_left(1) - 1;
            }
            _exit(n);
        }
        int st;
        HOLDS(waitpid(child, &st, 0) == child);
        printf("a forked child that %s: %s\n", use ? "uses UCX" : "does not use it", WIFEXITED(st) && WEXITSTATUS(st) == 1 ? "right" : "WRONG");
    }
    round_trip();

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    int naps = 0;
    while (!failed && naps++ < 100) doze(10000);
    printf("a killed peer: handler called %d, %s\n", failed, failed && reason < 0 ? "an error" : "NONE");
    for (int i = 0; i < 5; i++) doze(200);
    printf("later: %d\n", failed);
    leave();
    printf("threads: %d more afterwards\n", threads_left(before) - before);
}

/* Nothing but the peer's end wakes the worker: no other look is due for long. By poll, and inside UCX. */
static void at_once(int inside)
{
    setenv("UCX_KEEPALIVE_INTERVAL", "1000s", 1);
    pid_t pid = peer();
    for (int i = 0; i < 3; i++) round_trip();
    failed = wakes = 0;
    fflush(NULL);
    pid_t killer = fork();
    if (killer == 0) {
        usleep(300000); /* it sleeps */
        kill(pid, SIGKILL);
        _exit(0);
    }
    for (int naps = 0; !failed && naps < 3; naps++) {
        if (inside) MUST(ucp_worker_wait(A.w));
        else doze(10000);
        for (int i = 0; i < 100; i++) ucp_worker_progress(A.w);
    }
    printf("the only sign is a death: %s, handler called %d, %s\n", inside || wakes ? "woken" : "NOT woken", failed,
           failed && reason < 0 ? "an error" : "NONE");
    wakes = 0;
    for (int i = 0; i < 3; i++) doze(100);
    printf("later: handler called %d, woken %d\n", failed, wakes);
    HOLDS(waitpid(pid, NULL, 0) == pid && waitpid(killer, NULL, 0) == killer);
    leave();
    setenv("UCX_KEEPALIVE_INTERVAL", "100ms", 1);
}

static ucp_conn_request_h asked;
static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }

/* A server that only sleeps accepts, and serves. */
static void listener(void)
{
    int fds[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    fd = fds[pid == 0];
    close(fds[pid != 0]);
    watch_peer();
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ucp_ep_params_t p = extra_ep_params;
    open_side(&A);
    if (pid == 0) {
        take(&a, sizeof a);
        p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
        p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        p.sockaddr.addr = (struct sockaddr *)&a;
        p.sockaddr.addrlen = sizeof a;
        usleep(100000); /* the server sleeps */
        MUST(ucp_ep_create(A.w, &p, &A.ep));
        long v = 5;
        HOLDS(finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain)) == UCS_OK);
        HOLDS(finished(ucp_tag_recv_nbx(A.w, &v, sizeof v, 2, ALL, &plain)) == UCS_OK && v == 6);
        _exit(0);
    }
    ucp_listener_h l;
    ucp_listener_params_t lp = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER};
    lp.sockaddr.addr = (struct sockaddr *)&a;
    lp.sockaddr.addrlen = sizeof a;
    lp.conn_handler.cb = on_request;
    MUST(ucp_listener_create(A.w, &lp, &l));
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(l, &attr));
    a = *(struct sockaddr_in *)&attr.sockaddr;
    give(&a, sizeof a);
    long v = 0;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &v, sizeof v, 1, ALL, &plain);
    for (int naps = 0; !asked && naps < 100; naps++) doze(10000);
    HOLDS(asked);
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = asked;
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    for (int naps = 0; UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS && naps < 100; naps++) doze(10000);
    HOLDS(finished(r) == UCS_OK && v == 5);
    v = 6;
    ucs_status_ptr_t s = ucp_tag_send_nbx(A.ep, &v, sizeof v, 2, &plain);
    for (int naps = 0; UCS_PTR_IS_PTR(s) && ucp_request_check_status(s) == UCS_INPROGRESS && naps < 100; naps++) doze(10000);
    HOLDS(finished(s) == UCS_OK);
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid);
    printf("a sleeping server: client ended with %d\n", st);
    ucp_listener_destroy(l);
    leave();
}

int main(void)
{
    setenv("UCX_KEEPALIVE_INTERVAL", "100ms", 1);
    features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    peers();
    at_once(0);
    at_once(1);
    listener();
    return finish();
}
