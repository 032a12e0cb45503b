/* Sleeping on the worker's descriptor between two processes: no wake-up is lost and none comes for
 * nothing, with senders at random times; ucp_worker_wait beside other threads; signals; a user's own
 * epoll set; waiting for memory. The child prints nothing.
 * usage: wakeup ROUNDS [apart]     apart: each process in a network namespace of its own */
#define _GNU_SOURCE
#include "pair.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int child;

/* The same for when the other one may need our progress. */
static void meet_in_progress(void)
{
    char c = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double end = now() + 30;
    give(&c, 1);
    while (poll(&p, 1, 0) != 1) {
        ucp_worker_progress(A.w);
        HOLDS(now() < end);
    }
    take(&c, 1);
}

/* ---- two network namespaces, joined by a pair of devices -------------------------------------------- */

static void command(const char *format, int pid)
{
    char text[200];
    snprintf(text, sizeof text, format, pid);
    if (system(text)) DIE("%s", text);
}

/* A network of its own, also to be seen in /sys, where genuine UCX looks. */
static void leave_network(void)
{
    HOLDS(unshare(CLONE_NEWNET | CLONE_NEWNS) == 0);
    HOLDS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount("sysfs", "/sys", "sysfs", 0, NULL) == 0);
}

static void move_apart(pid_t other)
{
    char c = 0;
    if (child) {
        leave_network();
        give(&c, 1);
        take(&c, 1);
        command("ip link set lo up", 0);
        command("ip addr add 10.7.0.2/24 dev right && ip link set right up", 0);
    } else {
        leave_network();
        take(&c, 1);
        command("ip link add left type veth peer name right netns %d", other);
        command("ip link set lo up", 0);
        command("ip addr add 10.7.0.1/24 dev left && ip link set left up", 0);
        give(&c, 1);
    }
    command("until grep -q up /sys/class/net/[lr]*t/operstate; do sleep 0.05; done", 0);
    meet();
}

/* ---- messages at random times ------------------------------------------------------------------------- */

static int efd;
static long slept, for_nothing;

/* Goes to sleep as the API says; at most 20 s, which is a lost wake-up. True if it had slept. */
static int doze(void)
{
    ucs_status_t s = ucp_worker_arm(A.w);
    if (s == UCS_ERR_BUSY) return 0;
    MUST(s);
    struct epoll_event e;
    static int set = -1;
    if (set < 0) {
        set = epoll_create1(0);
        e.events = EPOLLIN;
        HOLDS(epoll_ctl(set, EPOLL_CTL_ADD, efd, &e) == 0);
    }
    if (epoll_wait(set, &e, 1, 20000) != 1) DIE("a wake-up was lost");
    return 1;
}

static ucs_status_t wait_asleep(ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    while (ucp_request_check_status(r) == UCS_INPROGRESS) {
        if (ucp_worker_progress(A.w)) continue;
        if (!doze()) continue;
        slept++;
        unsigned found = 0;
        for (int i = 0; i < 10; i++) found += ucp_worker_progress(A.w);
        for_nothing += !found;
    }
    ucs_status_t s = ucp_request_check_status(r);
    ucp_request_free(r);
    return s;
}

static void spin(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i++) {}
}

static void random_times(int rounds)
{
    static unsigned char out[20000], in[20000];
    unsigned seed = 12345 + child;
    for (int i = 0; i < rounds; i++)
        for (int turn = 0; turn < 2; turn++) {
            size_t n = i % 50 == 7 ? 20000 : i % 10 == 3 ? 3000 : 8;
            if (turn == child) {
                memset(out, i, 8);
                spin(rand_r(&seed) % (i % 16 == 0 ? 60000 : 6000));
                HOLDS(wait_asleep(ucp_tag_send_nbx(A.ep, out, n, i, &plain)) == UCS_OK);
            } else {
                HOLDS(wait_asleep(ucp_tag_recv_nbx(A.w, in, n, i, ALL, &plain)) == UCS_OK);
                HOLDS(in[0] == (unsigned char)i);
            }
        }
    if (!child) printf("%d rounds: no wake-up lost, %s for nothing\n", rounds, for_nothing * 4 < slept + 100 ? "few" : "WRONG: many");
}

/* One side sends bursts, the other sleeps between them. */
static void bursts(int rounds)
{
    enum { N = 30 };
    long v[N];
    for (int i = 0; i < rounds; i++) {
        ucs_status_ptr_t r[N];
        for (int k = 0; k < N; k++) {
            v[k] = child ? i * N + k : -1;
            r[k] = child ? ucp_tag_send_nbx(A.ep, &v[k], sizeof v[k], k, &plain) : ucp_tag_recv_nbx(A.w, &v[k], sizeof v[k], k, ALL, &plain);
        }
        for (int k = 0; k < N; k++) HOLDS(wait_asleep(r[k]) == UCS_OK && v[k] == i * N + k);
        if (i % 8 == 0) {
            char c = 0;
            if (child) HOLDS(wait_asleep(ucp_tag_recv_nbx(A.w, &c, 1, 99, ALL, &plain)) == UCS_OK);
            else HOLDS(wait_asleep(ucp_tag_send_nbx(A.ep, &c, 1, 99, &plain)) == UCS_OK);
        }
    }
    if (!child) printf("bursts: %d\n", rounds);
}

/* With nothing left to do the descriptor stays quiet once armed, and progress says 0. */
static void quiet(void)
{
    meet();
    unsigned more = 0;
    struct pollfd p = {.fd = efd, .events = POLLIN};
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    meet();
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    int tries = 0;
    while (ucp_worker_arm(A.w) == UCS_ERR_BUSY && tries++ < 100) ucp_worker_progress(A.w);
    int readable = poll(&p, 1, 300);
    for (int i = 0; i < 1000; i++) more += ucp_worker_progress(A.w);
    if (!child) printf("nothing to do: armed %s, readable %d, progress %u\n", tries < 100 ? "soon" : "NEVER", readable, more);
    meet();
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static atomic_int asleep_now, stop;

static void *signals(void *arg)
{
    while (!stop) {
        if (asleep_now) MUST(ucp_worker_signal(A.w));
        usleep(50);
    }
    return NULL;
}

static void signalled(void)
{
    pthread_t t;
    stop = 0;
    HOLDS(pthread_create(&t, NULL, signals, NULL) == 0);
    alarm(60);
    for (int i = 0; i < 300; i++) {
        while (ucp_worker_progress(A.w)) {}
        asleep_now = 1;
        MUST(ucp_worker_wait(A.w));
        asleep_now = 0;
    }
    stop = 1;
    pthread_join(t, NULL);
    alarm(0);
    printf("woken by ucp_worker_signal: 300 times\n");
}

static void *sends(void *arg)
{
    static long v = 4711;
    usleep(50000); /* the other thread sleeps */
    ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain);
    double end = now() + 30;
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS && now() < end) ucp_worker_progress(A.w);
    if (UCS_PTR_IS_PTR(r)) {
        HOLDS(ucp_request_check_status(r) == UCS_OK);
        ucp_request_free(r);
    }
    return NULL;
}

/* One thread is in ucp_worker_wait, another one sends by the same worker; only the answer wakes the first. */
static void beside(void)
{
    meet();
    if (child) {
        for (int i = 0; i < 5; i++) {
            long v = 0;
            HOLDS(finished(ucp_tag_recv_nbx(A.w, &v, sizeof v, 1, ALL, &plain)) == UCS_OK && v == 4711);
            HOLDS(finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 2, &plain)) == UCS_OK);
        }
    } else {
        alarm(60);
        for (int i = 0; i < 5; i++) {
            long v = 0;
            ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &v, sizeof v, 2, ALL, &plain);
            pthread_t t;
            HOLDS(pthread_create(&t, NULL, sends, NULL) == 0);
            while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS)
                if (!ucp_worker_progress(A.w)) MUST(ucp_worker_wait(A.w));
            HOLDS(finished(r) == UCS_OK && v == 4711);
            pthread_join(t, NULL);
        }
        alarm(0);
        printf("sent by one thread while another waits: 5 times\n");
    }
    meet();
}

/* ---- the user's own epoll set ----------------------------------------------------------------------------- */

static void external(void)
{
    int set = epoll_create1(0), rounds = 0;
    ucp_worker_params_t wp = {.field_mask = UCP_WORKER_PARAM_FIELD_EVENT_FD | UCP_WORKER_PARAM_FIELD_USER_DATA, .event_fd = set, .user_data = &rounds};
    ucp_worker_h w;
    MUST(ucp_worker_create(A.ctx, &wp, &w));
    int none = -1;
    printf("the worker's own descriptor: %s\n", name(ucp_worker_get_efd(w, &none)));
    ucp_address_t *addr;
    size_t len;
    MUST(ucp_worker_get_address(w, &addr, &len));
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = addr};
    ucp_ep_h ep;
    MUST(ucp_ep_create(A.w, &p, &ep));
    for (int i = 0; i < 20; i++) {
        long v = i, got = -1;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(w, &got, sizeof got, 3, ALL, &plain), s = NULL;
        int sent = 0;
        double end = now() + 30;
        while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS && now() < end) {
            if (ucp_worker_progress(w)) continue;
            ucs_status_t st = ucp_worker_arm(w);
            if (st == UCS_ERR_BUSY) continue;
            MUST(st);
            if (!sent++) s = ucp_tag_send_nbx(ep, &v, sizeof v, 3, &plain);
            for (int k = 0; k < 100; k++) ucp_worker_progress(A.w);
            struct epoll_event e;
            HOLDS(epoll_wait(set, &e, 1, 20000) == 1);
            rounds += e.data.ptr == &rounds;
        }
        HOLDS(ucp_request_check_status(r) == UCS_OK && got == i);
        ucp_request_free(r);
        HOLDS(finished(s) == UCS_OK);
    }
    printf("the user's epoll set: woken %s\n", rounds >= 20 ? "with the user's data" : "WRONG");
    ucs_status_ptr_t c = ucp_ep_close_nbx(ep, &plain);
    while (UCS_PTR_IS_PTR(c) && ucp_request_check_status(c) == UCS_INPROGRESS) ucp_worker_progress(A.w), ucp_worker_progress(w);
    if (UCS_PTR_IS_PTR(c)) ucp_request_free(c);
    ucp_worker_release_address(w, addr);
    ucp_worker_destroy(w);
    close(set);
}

/* ---- memory that the peer writes ---------------------------------------------------------------------------- */

static void memory(void)
{
    static volatile uint64_t word;
    word = 0;
    ucp_mem_map_params_t mp = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = (void *)&word, .length = sizeof word};
    ucp_mem_h memh;
    MUST(ucp_mem_map(A.ctx, &mp, &memh));
    void *key;
    size_t len;
    MUST(ucp_rkey_pack(A.ctx, memh, &key, &len));
    uint64_t at = (uint64_t)&word, n = len, their_at, their_n;
    give(&at, 8);
    give(&n, 8);
    give(key, len);
    take(&their_at, 8);
    take(&their_n, 8);
    char theirs[4096];
    HOLDS(their_n <= sizeof theirs);
    take(theirs, their_n);
    ucp_rkey_h rkey;
    MUST(ucp_ep_rkey_unpack(A.ep, theirs, &rkey));
    for (uint64_t i = 1; i <= 200; i++)
        for (int turn = 0; turn < 2; turn++)
            if (turn == child) {
                uint64_t v = i;
                HOLDS(finished(ucp_put_nbx(A.ep, &v, sizeof v, their_at, rkey, &plain)) == UCS_OK);
                HOLDS(finished(ucp_ep_flush_nbx(A.ep, &plain)) == UCS_OK);
            } else {
                double end = now() + 30;
                while (word != i) {
                    ucp_worker_progress(A.w);
                    if (word != i) ucp_worker_wait_mem(A.w, (void *)&word);
                    HOLDS(now() < end);
                }
            }
    if (!child) printf("ucp_worker_wait_mem: 200 rounds\n");
    meet_in_progress();
    ucp_rkey_destroy(rkey);
    ucp_rkey_buffer_release(key);
    MUST(ucp_mem_unmap(A.ctx, memh));
}

int main(int argc, char **argv)
{
    int fds[2], rounds = argc > 1 ? atoi(argv[1]) : 5000;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    child = pid == 0;
    fd = fds[child];
    close(fds[!child]);
    if (argc > 2) move_apart(pid);
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    threads = UCS_THREAD_MODE_MULTI;
    open_side(&A);
    uint64_t len = A.len, theirs;
    give(&len, sizeof len);
    give(A.addr, A.len);
    take(&theirs, sizeof theirs);
    ucp_address_t *addr = malloc(theirs);
    take(addr, theirs);
    connect_to(&A, addr);
    free(addr);
    MUST(ucp_worker_get_efd(A.w, &efd));
    random_times(rounds);
    bursts(rounds / 10);
    quiet();
    if (!child) signalled();
    beside();
    if (!child && argc == 2) external();
    memory();
    meet_in_progress();
    close_side(&A);
    meet_in_progress();
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    if (child) return 0;
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid);
    printf("child ended with %d\n", st);
    return finish();
}
