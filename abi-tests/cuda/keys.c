/* The life of keys to another process's device memory, and of what is mapped for them.
 *
 *     keys PART [SECONDS [alloc|descriptor|fabric|pool]]
 *
 * The parent owns device memory and sends keys; the child uses them. At the end nothing of the
 * parent's is open in the child, and as much memory is free as before. */
#define _GNU_SOURCE
#include "two.h"
#include <pthread.h>
#include <signal.h>

enum { SIZE = 4 << 20, KEYS = 4, THREADS = 4 };

static int seconds = 2;
static const char *kind = "alloc"; /* of the owner's memory */
static size_t before;
static unsigned char host[SIZE];

/* ---- the owner ---------------------------------------------------------------------------------- */

static struct memory memory[KEYS];
static ucp_mem_h registered[KEYS];

static void store(CUdeviceptr at, unsigned seed)
{
    fill(host, SIZE, seed);
    CU(cuMemcpyHtoD_v2(at, host, SIZE));
}

static void offer(int i, unsigned seed)
{
    memory[i] = new_memory(kind, SIZE);
    store(memory[i].at, seed);
    registered[i] = map_memory(memory[i].at, SIZE);
    send_key(registered[i], memory[i].at);
}

static void take_back(int i)
{
    MUST(ucp_mem_unmap(A.ctx, registered[i]));
    give_memory_back(&memory[i]);
}

static void keep_serving(void)
{
    char c = 0;
    double end = now() + seconds + 60;
    while (recv(fd, &c, 1, MSG_DONTWAIT) != 1) {
        if (now() > end) DIE("the other process doesn't come");
        if (!ucp_worker_progress(A.w)) sched_yield();
    }
    give(&c, 1);
}

/* What is to be sent, and which call of the sender's driver fails meanwhile. */
struct order {
    int which;
    uint64_t nth;
};

/* Sends what is asked for, whatever becomes of it, and tells whether a fault had still to come. */
static void keep_sending(void)
{
    for (struct order o;;) {
        take_either(fd, &o, sizeof o, 1);
        if (o.which < 0) return;
        if (o.nth) cudasim_fail("*!", o.nth, 999);
        settled(ucp_tag_send_nbx(A.ep, (void *)memory[o.which].at, SIZE, 7, &plain));
        int left = cudasim_heal() != 0;
        give(&left, sizeof left);
    }
}

/* A key that outlives its endpoint, and what messages have opened, are looked at when all is over. */
static int is_late(const char *part) { return !strcmp(part, "alive") || !strncmp(part, "fail_", 5); }

static void owner(const char *part)
{
    serve();
    before = free_memory();
    for (int i = 0; i < KEYS; i++) offer(i, i);
    if (!strcmp(part, "fail_receiving") || !strcmp(part, "fail_sending")) keep_sending();
    keep_serving();
    if (!strcmp(part, "again")) {
        /* The same address, other contents, under the reader's nose. */
        CUdeviceptr old = memory[0].at;
        take_back(0);
        offer(0, 70);
        printf("at the same address: %s\n", memory[0].at == old ? "yes" : "no");
        serve();
    }
    for (int i = 0; i < KEYS; i++) take_back(i);
    end_pool();
    if (!is_late(part)) say_free(before);
    serve();
}

/* ---- the reader --------------------------------------------------------------------------------- */

static struct offer offers[KEYS];

static ucp_rkey_h unpacked(int i) { return unpack(&offers[i]); }

static void read_all(CUdeviceptr to, ucp_rkey_h key, int i, unsigned seed)
{
    MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, offers[i].at, key, &plain)));
    CU(cuMemcpyDtoH_v2(host, to, SIZE));
    HOLDS(same(host, SIZE, seed));
}

/* Of the driver, but for questions whether something is done. */
static uint64_t calls(void) { return cudasim_calls ? cudasim_calls("*!") : 0; }

/* Keys that were never used, beside others of the same process that were. */
static void never(CUdeviceptr to)
{
    ucp_rkey_h used = unpacked(0), same_memory = unpacked(0), other = unpacked(1);
    read_all(to, used, 0, 0);
    uint64_t made = calls();
    ucp_rkey_destroy(other);
    ucp_rkey_destroy(same_memory);
    HOLDS(calls() == made);
    is_open(1);
    read_all(to, used, 0, 0);
    ucp_rkey_destroy(used);
    is_open(0);
}

static void two(CUdeviceptr to)
{
    for (int first = 0; first < 2; first++) {
        ucp_rkey_h keys[2] = {unpacked(0), unpacked(0)};
        read_all(to, keys[0], 0, 0);
        read_all(to, keys[1], 0, 0);
        is_open(1);
        ucp_rkey_destroy(keys[first]);
        is_open(1);
        read_all(to, keys[!first], 0, 0);
        ucp_rkey_destroy(keys[!first]);
        is_open(0);
    }
}

static void in_flight(CUdeviceptr to)
{
    for (int i = 0; i < 50; i++) {
        ucp_rkey_h key = unpacked(i % KEYS);
        ucs_status_ptr_t r = ucp_get_nbx(A.ep, (void *)to, SIZE, offers[i % KEYS].at, key, &plain);
        ucp_rkey_destroy(key);
        MUST(settled(r));
        CU(cuMemcpyDtoH_v2(host, to, SIZE));
        HOLDS(same(host, SIZE, i % KEYS));
        is_open(0);
    }
}

static void pointers(CUdeviceptr to)
{
    ucp_rkey_h key = unpacked(0);
    void *p, *q;
    MUST(ucp_rkey_ptr(key, offers[0].at, &p));
    MUST(ucp_rkey_ptr(key, offers[0].at + 4096, &q));
    HOLDS((char *)q == (char *)p + 4096);
    CUcontext other, back;
    int devices;
    CU(cuDeviceGetCount(&devices));
    if (devices > 1) {
        CU(cuDevicePrimaryCtxRetain(&other, 1));
        CU(cuCtxPushCurrent_v2(other));
        MUST(ucp_rkey_ptr(key, offers[0].at, &q));
        HOLDS(q != p);
        CU(cuMemcpyDtoH_v2(host, (CUdeviceptr)q, SIZE));
        HOLDS(same(host, SIZE, 0));
        CU(cuCtxPopCurrent_v2(&back));
    }
    CU(cuMemcpyDtoH_v2(host, (CUdeviceptr)p, SIZE));
    HOLDS(same(host, SIZE, 0));
    HOLDS(ucp_rkey_ptr(key, offers[0].at + (64 << 20), &q) != UCS_OK);
    is_open(devices > 1 ? 2 : 1);
    ucp_rkey_destroy(key);
    is_open(0);
    if (devices > 1) CU(cuDevicePrimaryCtxRelease_v2(1));
}

/* The owner frees and allocates again while an old key is still there. */
static void again(CUdeviceptr to)
{
    ucp_rkey_h old = unpacked(0);
    read_all(to, old, 0, 0);
    meet();
    offers[0] = take_offer();
    ucp_rkey_h key = unpacked(0);
    read_all(to, key, 0, 70);
    ucp_rkey_destroy(old);
    read_all(to, key, 0, 70);
    ucp_rkey_destroy(key);
    is_open(0);
}

/* Writing. */
static void put(CUdeviceptr to)
{
    ucp_rkey_h key = unpacked(2);
    fill(host, SIZE, 33);
    CU(cuMemcpyHtoD_v2(to, host, SIZE));
    MUST(settled(ucp_put_nbx(A.ep, (void *)to, SIZE, offers[2].at, key, &plain)));
    MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
    CU(cuMemsetD8_v2(to, 0, SIZE));
    read_all(to, key, 2, 33);
    /* From the host's memory too, and a part. */
    fill(host, 1000, 5);
    MUST(settled(ucp_put_nbx(A.ep, host, 1000, offers[2].at + 77, key, &plain)));
    MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
    memset(host, 0, 1000);
    MUST(settled(ucp_get_nbx(A.ep, host, 1000, offers[2].at + 77, key, &plain)));
    HOLDS(same(host, 1000, 5));
    ucp_rkey_destroy(key);
    is_open(0);
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static uint64_t rounds;

static void *thread(void *arg)
{
    long me = (long)arg;
    unsigned char *mine = malloc(SIZE);
    use_device(0);
    CUdeviceptr to;
    CU(cuMemAlloc_v2(&to, SIZE));
    uint64_t done = 0;
    for (double end = now() + seconds; now() < end; done++) {
        int i = (me + done) % KEYS;
        ucp_rkey_h key = unpacked(i);
        if (done % 5 == 1) {
            void *p;
            MUST(ucp_rkey_ptr(key, offers[i].at, &p));
            CU(cuMemcpyDtoH_v2(mine, (CUdeviceptr)p, SIZE));
            HOLDS(same(mine, SIZE, i));
        } else if (done % 5 != 0) {
            ucs_status_ptr_t r = ucp_get_nbx(A.ep, (void *)to, SIZE, offers[i].at, key, &plain);
            if (done % 5 == 2) {
                ucp_rkey_destroy(key);
                key = NULL;
            }
            MUST(settled(r));
            CU(cuMemcpyDtoH_v2(mine, to, SIZE));
            HOLDS(same(mine, SIZE, i));
        }
        if (key) ucp_rkey_destroy(key);
    }
    CU(cuMemFree_v2(to));
    free(mine);
    pthread_mutex_lock(&one);
    rounds += done;
    pthread_mutex_unlock(&one);
    return NULL;
}

static void many_threads(void)
{
    pthread_t all[THREADS];
    for (long i = 0; i < THREADS; i++) HOLDS(pthread_create(&all[i], NULL, thread, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    HOLDS(rounds > THREADS);
    is_open(0);
}

static int errors;

/* What is tried with the nth call of `what` failing: whether it works or not, nothing is left open.
 * Returns whether there were as many calls. */
static int attempt(CUdeviceptr to, int i, const char *what, uint64_t nth)
{
    void *p;
    if (nth) cudasim_fail(what, nth, 999);
    ucp_rkey_h key = unpacked(i);
    ucs_status_t s = settled(ucp_get_nbx(A.ep, (void *)to, SIZE, offers[i].at, key, &plain));
    ucs_status_t t = ucp_rkey_ptr(key, offers[i].at, &p);
    ucp_rkey_destroy(key);
    int left = cudasim_heal() != 0;
    if (!nth && (s != UCS_OK || t != UCS_OK)) DIE("get: %s, pointer: %s", name(s), name(t));
    errors += s != UCS_OK || t != UCS_OK;
    if (s == UCS_OK) {
        CU(cuMemcpyDtoH_v2(host, to, SIZE));
        HOLDS(same(host, SIZE, i));
    }
    if (open_now()) DIE("call %lu fails: %lu are open", (unsigned long)nth, (unsigned long)open_now());
    return !left;
}

/* Calls of the driver fail once each. */
static void fail_each(CUdeviceptr to)
{
    uint64_t nth = 1;
    attempt(to, 0, NULL, 0);
    for (; attempt(to, nth % KEYS, "*!", nth); nth++) attempt(to, 1, NULL, 0);
    /* Questions whether a copy is done: as many as it takes time. */
    HOLDS(attempt(to, 0, "cuEventQuery", 1));
    for (int i = 2; i < 5; i++) attempt(to, i % KEYS, "cuEventQuery", i);
    attempt(to, 1, NULL, 0);
    printf("%lu calls failed, %d of the tries ended with an error\n", (unsigned long)nth - 1, errors);
    HOLDS(errors > 0 && nth > 5);
}

/* The same for messages, which the other process sends as long as it is asked to: on either side. */
static void fail_messages(CUdeviceptr to, int sender)
{
    uint64_t nth = 1;
    for (int left = 0; !left; nth++) {
        struct order o = {.which = nth % KEYS, .nth = sender ? nth : 0};
        ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, (void *)to, SIZE, 7, ALL, &plain);
        if (!sender) cudasim_fail("*!", nth, 999);
        give(&o, sizeof o);
        ucs_status_t s = settled(r);
        left = cudasim_heal() != 0;
        int senders;
        take_either(fd, &senders, sizeof senders, 1);
        if (sender) left = senders;
        errors += s != UCS_OK;
        if (left && s != UCS_OK) DIE("nothing fails, but: %s", name(s));
        if (s == UCS_OK) {
            CU(cuMemcpyDtoH_v2(host, to, SIZE));
            if (!same(host, SIZE, o.which)) DIE("call %lu fails: wrong bytes", (unsigned long)nth);
        }
    }
    give(&(struct order){.which = -1}, sizeof(struct order));
    printf("%lu calls failed, %d messages ended with an error\n", (unsigned long)nth - 2, errors);
    HOLDS(nth > 3);
}

/* How many calls a read takes, questions whether it is done not counted, and a key. */
static void count(CUdeviceptr to)
{
    ucp_rkey_h key = unpacked(0);
    read_all(to, key, 0, 0);
    uint64_t made = calls();
    for (int i = 0; i < 50; i++) MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, offers[0].at, key, &plain)));
    printf("calls per read: %.1f\n", (calls() - made) / 50.0);
    made = calls();
    for (int i = 0; i < 50; i++) ucp_rkey_destroy(unpacked(0));
    printf("calls per unused key: %.1f\n", (calls() - made) / 50.0);
    ucp_rkey_destroy(key);
    made = calls();
    for (int i = 0; i < 50; i++) {
        key = unpacked(0);
        MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, offers[0].at, key, &plain)));
        ucp_rkey_destroy(key);
    }
    printf("calls per used key: %.1f\n", (calls() - made) / 50.0);
}

/* All keys used and alive, where only some of what they lead to may stay open: EXPECT_OPEN. */
static void limits(CUdeviceptr to)
{
    ucp_rkey_h keys[KEYS];
    int most = atoi(getenv("EXPECT_OPEN"));
    for (int i = 0; i < KEYS; i++) {
        keys[i] = unpacked(i);
        read_all(to, keys[i], i, i);
        is_open(i < most ? i + 1 : most);
    }
    /* Those that were given up are opened again, and others given up. */
    for (int i = 0; i < KEYS; i++) read_all(to, keys[i], i, i);
    is_open(most);
    for (int i = 0; i < KEYS; i++) ucp_rkey_destroy(keys[i]);
    is_open(0);
}

static ucp_rkey_h left;

static void reader(const char *part)
{
    CUdeviceptr to;
    CU(cuMemAlloc_v2(&to, SIZE));
    meet();
    for (int i = 0; i < KEYS; i++) offers[i] = take_offer();
    if (!strcmp(part, "never")) never(to);
    else if (!strcmp(part, "two")) two(to);
    else if (!strcmp(part, "in_flight")) in_flight(to);
    else if (!strcmp(part, "pointers")) pointers(to);
    else if (!strcmp(part, "put")) put(to);
    else if (!strcmp(part, "count")) count(to);
    else if (!strcmp(part, "limits")) limits(to);
    else if (!strcmp(part, "fail_each")) fail_each(to);
    else if (!strcmp(part, "fail_receiving")) fail_messages(to, 0);
    else if (!strcmp(part, "fail_sending")) fail_messages(to, 1);
    else if (!strcmp(part, "threads")) many_threads();
    else if (!strcmp(part, "again")) again(to);
    else if (!strcmp(part, "alive")) {
        left = unpacked(0);
        read_all(to, left, 0, 0);
        is_open(1);
    } else if (!strcmp(part, "killed")) {
        ucp_rkey_h key = unpacked(0), unused = unpacked(1);
        read_all(to, key, 0, 0);
        kill(getppid(), SIGKILL);
        ucp_rkey_destroy(key);
        ucp_rkey_destroy(unused);
        is_open(0);
        printf("end\n");
        _exit(0);
    } else DIE("no such part");
    meet();
    meet();
    CU(cuMemFree_v2(to));
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    if (argc > 2) seconds = atoi(argv[2]);
    if (argc > 3) kind = argv[3];
    split();
    use_device(0);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    if (!strcmp(argv[1], "threads")) threads = UCS_THREAD_MODE_MULTI;
    open_side(&A);
    connect_both();
    warm_up();
    if (child) owner(argv[1]);
    else reader(argv[1]);
    close_both();
    /* What was mapped goes with the endpoint, though its key is alive. */
    if (left) is_open(0);
    if (left) ucp_rkey_destroy(left);
    ucp_cleanup(A.ctx);
    if (!child) is_open(0);
    end_both();
    if (is_late(argv[1])) {
        before += SIZE; /* the reader's own, which went with it */
        say_free(before);
    }
    return finish();
}
