/* Two processes: sleeping and waking by the event descriptor, data in both directions, an orderly end,
 * messages larger than 4 GiB when asked for. The child prints nothing.
 * usage: across [bytes of one huge message] */
#include "pair.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int child;

/* Sleeps in poll, at most 20 s, until the worker has something to do. */
static int sleeps;
static void doze(void)
{
    int efd;
    MUST(ucp_worker_get_efd(A.w, &efd));
    ucs_status_t s = ucp_worker_arm(A.w);
    if (s == UCS_ERR_BUSY) return;
    MUST(s);
    struct pollfd p = {.fd = efd, .events = POLLIN};
    sleeps++;
    if (poll(&p, 1, 20000) != 1) DIE("a wake-up was lost");
}

static ucs_status_t wait_asleep(ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    while (ucp_request_check_status(r) == UCS_INPROGRESS)
        if (!ucp_worker_progress(A.w)) doze();
    ucs_status_t s = ucp_request_check_status(r);
    ucp_request_free(r);
    return s;
}

static unsigned char big[2 << 20];

static void ping_pong(void)
{
    static const size_t sizes[] = {0, 8, 3000, 20000, 300000, 2 << 20};
    int rounds = 0;
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 30; i++, rounds++)
            for (int turn = 0; turn < 2; turn++) {
                size_t n = sizes[k];
                if (turn == child) {
                    fill(big, n, i);
                    if (i % 5 == 0) usleep(2000); /* so that the other surely sleeps */
                    ucs_status_t s = wait_asleep(ucp_tag_send_nbx(A.ep, big, n, 1, &plain));
                    if (s != UCS_OK) DIE("send gave %s", name(s));
                } else {
                    memset(big, 0, n);
                    ucs_status_t s = wait_asleep(ucp_tag_recv_nbx(A.w, big, n, 1, ALL, &plain));
                    if (s != UCS_OK || !same(big, n, i)) DIE("receive gave %s", name(s));
                }
            }
    if (!child) printf("asleep between messages: %d round trips, slept %s\n", rounds, sleeps > 10 ? "often" : "HARDLY");
}

/* Nothing to do: the descriptor stays quiet once armed, progress says 0, and signal wakes it. */
static void quiet(void)
{
    int efd, woken = 0;
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    MUST(ucp_worker_get_efd(A.w, &efd));
    struct pollfd p = {.fd = efd, .events = POLLIN};
    ucs_status_t s;
    while ((s = ucp_worker_arm(A.w)) == UCS_ERR_BUSY) ucp_worker_progress(A.w);
    int readable = poll(&p, 1, 200);
    MUST(ucp_worker_signal(A.w));
    woken = poll(&p, 1, 2000);
    if (!child) printf("arm %s, readable with nothing to do: %d, after signal: %d\n", name(s), readable, woken);
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    while ((s = ucp_worker_arm(A.w)) == UCS_ERR_BUSY) ucp_worker_progress(A.w);
    if (!child) printf("again: readable %d, progress %u\n", poll(&p, 1, 100), ucp_worker_progress(A.w));
}

static void waits(void)
{
    meet();
    for (int i = 0; i < 20; i++) {
        if (child) {
            usleep(i % 3 * 1000);
            HOLDS(wait_asleep(ucp_tag_send_nbx(A.ep, &i, sizeof i, 2, &plain)) == UCS_OK);
        } else {
            int v = -1;
            ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &v, sizeof v, 2, ALL, &plain);
            while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS)
                if (!ucp_worker_progress(A.w)) MUST(ucp_worker_wait(A.w));
            HOLDS(finished(r) == UCS_OK && v == i);
        }
    }
    if (!child) printf("worker_wait: 20 messages\n");
}

static void huge(size_t n)
{
    unsigned char *p = malloc(n);
    HOLDS(p);
    for (int expected = 0; expected < 2; expected++) {
        if (child) {
            for (size_t i = 0; i < n; i += 4093) p[i] = pattern(3, i);
            p[n - 1] = 77;
            if (expected) meet();
            HOLDS(finished(ucp_tag_send_nbx(A.ep, p, n, 9, &plain)) == UCS_OK);
        } else {
            memset(p, 0, n);
            ucp_tag_recv_info_t info = {0};
            ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
            ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, p, n, 9, ALL, &q);
            if (expected) meet();
            double end = now() + 300;
            while (ucp_request_check_status(r) == UCS_INPROGRESS && now() < end) ucp_worker_progress(A.w);
            HOLDS(ucp_tag_recv_request_test(r, &info) == UCS_OK && info.length == n);
            ucp_request_free(r);
            int right = p[n - 1] == 77;
            for (size_t i = 0; i + 4093 < n; i += 4093) right &= p[i] == pattern(3, i);
            printf("%zu bytes: %s\n", n, right ? "right" : "WRONG");
        }
    }
    free(p);
}

int main(int argc, char **argv)
{
    int fds[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    child = pid == 0;
    fd = fds[child];
    close(fds[!child]);
    features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    open_side(&A);
    uint64_t len = A.len, theirs;
    give(&len, sizeof len);
    give(A.addr, A.len);
    take(&theirs, sizeof theirs);
    ucp_address_t *addr = malloc(theirs);
    take(addr, theirs);
    connect_to(&A, addr);
    free(addr);
    ping_pong();
    meet();
    quiet();
    meet();
    waits();
    meet();
    if (argc > 1) huge(strtoull(argv[1], NULL, 0));
    meet();
    /* The child leaves first, the parent's close still finishes. */
    if (!child) usleep(20000);
    close_side(&A);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    if (child) return 0;
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid);
    printf("child ended with %d\n", st);
    return finish();
}
