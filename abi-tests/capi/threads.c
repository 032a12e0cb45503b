/* Threads: many on one worker of mode multi, sending, receiving, cancelling, probing, with active
 * messages, one-sided operations, flushes, endpoints that come and go, and threads that only
 * progress; a worker of mode serialized under the user's own lock; workers and contexts of several
 * threads side by side, made and destroyed at the same time. Every message is counted and checked.
 * usage: threads [N [warm]]     messages of each thread (2000); warm: UCX has been used before the first
 * thread starts, for ThreadSanitizer, which does not see what the standard library does once */
#include "capi.h"
#include <pthread.h>
#include <stdatomic.h>

static int per_thread = 2000;
static atomic_int finished_threads, stop, wrong;
static pthread_mutex_t user_lock = PTHREAD_MUTEX_INITIALIZER;
static int serialized; /* the user's lock is held around each call */

static void lock(void) { if (serialized) pthread_mutex_lock(&user_lock); }
static void unlock(void) { if (serialized) pthread_mutex_unlock(&user_lock); }

/* Completes a request by progress of both workers, which other threads progress as well. */
static ucs_status_t done(ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    double end = now() + 60;
    ucs_status_t s;
    for (;;) {
        lock();
        s = ucp_request_check_status(r);
        if (s == UCS_INPROGRESS) progress();
        else ucp_request_free(r);
        unlock();
        if (s != UCS_INPROGRESS) return s;
        if (now() > end) DIE("nothing happens any more");
    }
}

#define LOCKED(type, call)  \
    ({                      \
        lock();             \
        type r_ = (call);   \
        unlock();           \
        r_;                 \
    })

static size_t size_of(int i) { return i % 50 == 9 ? 150000 : i % 10 == 3 ? 12000 : i % 4 == 1 ? 700 : 8; }

#define CHECK(cond) do { if (!(cond)) { if (!wrong++) printf("WRONG %s:%d: %s\n", __FILE__, __LINE__, #cond); } } while (0)

static void *sender(void *arg)
{
    long id = (long)arg;
    unsigned char *buf = malloc(150000);
    for (int i = 0; i < per_thread; i++) {
        size_t n = size_of(i);
        fill(buf, n, id * 31 + i);
        ucs_status_ptr_t r = LOCKED(ucs_status_ptr_t, ucp_tag_send_nbx(A.ep, buf, n, id << 32 | i, &plain));
        CHECK(done(r) == UCS_OK);
    }
    free(buf);
    finished_threads++;
    return NULL;
}

static void *receiver(void *arg)
{
    long id = (long)arg;
    unsigned char *buf = malloc(150000);
    for (int i = 0; i < per_thread; i++) {
        size_t n = size_of(i);
        memset(buf, 0, n);
        ucs_status_ptr_t r = LOCKED(ucs_status_ptr_t, ucp_tag_recv_nbx(B.w, buf, n, id << 32 | i, ALL, &plain));
        CHECK(done(r) == UCS_OK && same(buf, n, id * 31 + i));
    }
    free(buf);
    finished_threads++;
    return NULL;
}

/* Receives of tags that never come, cancelled at once or later. */
static void *canceller(void *arg)
{
    char byte;
    for (int i = 0; i < per_thread; i++) {
        ucs_status_ptr_t r = LOCKED(ucs_status_ptr_t, ucp_tag_recv_nbx(B.w, &byte, 1, 1ull << 60 | i, ALL, &plain));
        CHECK(UCS_PTR_IS_PTR(r));
        if (i % 3) {
            lock();
            progress();
            unlock();
        }
        lock();
        ucp_request_cancel(B.w, r);
        ucp_tag_recv_info_t info;
        CHECK(!ucp_tag_probe_nb(B.w, 1ull << 61, ALL, 1, &info));
        unlock();
        CHECK(done(r) == UCS_ERR_CANCELED);
    }
    finished_threads++;
    return NULL;
}

static atomic_long am_count, am_sum;
static ucs_status_t on_am(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    long i;
    CHECK(header_len == sizeof i);
    memcpy(&i, header, sizeof i);
    am_sum += i;
    am_count++;
    if (p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) return UCS_OK; /* not wanted */
    CHECK(same(data, len, i));
    return UCS_OK;
}

static void *am_sender(void *arg)
{
    unsigned char *buf = malloc(150000);
    for (long i = 0; i < per_thread; i++) {
        size_t n = size_of(i);
        fill(buf, n, i);
        ucs_status_ptr_t r = LOCKED(ucs_status_ptr_t, ucp_am_send_nbx(A.ep, 5, &i, sizeof i, buf, n, &plain));
        CHECK(done(r) == UCS_OK);
    }
    free(buf);
    finished_threads++;
    return NULL;
}

static _Alignas(64) uint64_t shared_word[8];
static ucp_rkey_h rkey;

static void *adder(void *arg)
{
    uint64_t one = 1, was;
    for (int i = 0; i < per_thread; i++) {
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
        if (i % 2) {
            p.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
            p.reply_buffer = &was;
        }
        ucs_status_ptr_t r = LOCKED(ucs_status_ptr_t, ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, (uint64_t)&shared_word[0], rkey, &p));
        CHECK(done(r) == UCS_OK);
        if (i % 64 == 0) {
            r = LOCKED(ucs_status_ptr_t, ucp_worker_flush_nbx(A.w, &plain));
            CHECK(done(r) == UCS_OK);
        }
        if (i % 64 == 1) CHECK(LOCKED(ucs_status_t, ucp_worker_fence(A.w)) == UCS_OK);
    }
    CHECK(done(LOCKED(ucs_status_ptr_t, ucp_ep_flush_nbx(A.ep, &plain))) == UCS_OK);
    finished_threads++;
    return NULL;
}

/* Endpoints that come, say something, and go. */
static void *connector(void *arg)
{
    long id = (long)arg;
    for (int i = 0; i < per_thread / 20; i++) {
        ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = B.addr};
        ucp_ep_h ep;
        long out = id + i, in = 0;
        CHECK(LOCKED(ucs_status_t, ucp_ep_create(A.w, &p, &ep)) == UCS_OK);
        ucs_status_ptr_t r = LOCKED(ucs_status_ptr_t, ucp_tag_recv_nbx(B.w, &in, sizeof in, 1ull << 62 | id << 32 | i, ALL, &plain));
        ucs_status_ptr_t s = LOCKED(ucs_status_ptr_t, ucp_tag_send_nbx(ep, &out, sizeof out, 1ull << 62 | id << 32 | i, &plain));
        CHECK(done(s) == UCS_OK && done(r) == UCS_OK && in == out);
        CHECK(done(LOCKED(ucs_status_ptr_t, ucp_ep_close_nbx(ep, &plain))) == UCS_OK);
    }
    finished_threads++;
    return NULL;
}

static void *progresser(void *arg)
{
    while (!stop) {
        lock();
        progress();
        unlock();
    }
    return NULL;
}

static void shared_worker(int loop, ucs_thread_mode_t mode)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    threads = mode;
    serialized = mode == UCS_THREAD_MODE_SERIALIZED;
    pair_open(loop);
    ucp_am_handler_param_t hp = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = 5, .cb = on_am};
    MUST(ucp_worker_set_am_recv_handler(B.w, &hp));
    ucp_mem_map_params_t mp = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = shared_word, .length = sizeof shared_word};
    ucp_mem_h memh;
    void *key;
    size_t len;
    MUST(ucp_mem_map(B.ctx, &mp, &memh));
    MUST(ucp_rkey_pack(B.ctx, memh, &key, &len));
    MUST(ucp_ep_rkey_unpack(A.ep, key, &rkey));
    shared_word[0] = 0;
    am_count = am_sum = 0;
    finished_threads = stop = 0;
    still_works();
    void *(*const roles[])(void *) = {sender, sender, sender, receiver, receiver, receiver, canceller, am_sender, am_sender, adder, adder, connector, progresser};
    const long ids[] = {1, 2, 3, 1, 2, 3, 0, 0, 0, 0, 0, 7, 0};
    enum { T = sizeof ids / sizeof ids[0] };
    pthread_t t[T];
    for (int i = 0; i < T; i++) HOLDS(pthread_create(&t[i], NULL, roles[i], (void *)ids[i]) == 0);
    double end = now() + 120;
    while (finished_threads < T - 1) {
        usleep(1000);
        if (now() > end) DIE("%d of %d threads have finished", finished_threads, T - 1);
    }
    stop = 1;
    for (int i = 0; i < T; i++) pthread_join(t[i], NULL);
    UNTIL(am_count == 2 * per_thread);
    printf("%s%s: active messages %s, atomic additions %s, wrong %d\n", serialized ? "serialized" : "multi", loop ? ", one worker" : "",
           am_sum == (long)per_thread * (per_thread - 1) ? "all" : "MISCOUNTED", shared_word[0] == 2ull * per_thread ? "all" : "MISCOUNTED", wrong);
    ucp_rkey_destroy(rkey);
    ucp_rkey_buffer_release(key);
    MUST(ucp_mem_unmap(B.ctx, memh));
    pair_close();
    serialized = 0;
}

/* ---- a context and a worker for each thread ------------------------------------------------------------------- */

enum { RING = 6 };
static ucp_worker_h ring_w[RING];
static ucp_address_t *ring_addr[RING];
static pthread_barrier_t barrier;
static ucp_context_h common; /* or each its own */

static void *in_ring(void *arg)
{
    long me = (long)arg;
    ucp_context_h c = common;
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t wp = {0};
    for (int round = 0; round < 3; round++) {
        if (!common) MUST(ucp_init(&p, NULL, &c));
        MUST(ucp_worker_create(c, &wp, &ring_w[me]));
        size_t len;
        MUST(ucp_worker_get_address(ring_w[me], &ring_addr[me], &len));
        pthread_barrier_wait(&barrier);
        ucp_ep_params_t ep_p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = ring_addr[(me + 1) % RING]};
        ucp_ep_h ep;
        MUST(ucp_ep_create(ring_w[me], &ep_p, &ep));
        static _Thread_local unsigned char out[30000], in[30000];
        for (int i = 0; i < per_thread / 10; i++) {
            size_t n = i % 20 == 0 ? sizeof out : i % 4 ? 8 : 2000;
            fill(out, n, me + i);
            ucs_status_ptr_t r[2] = {ucp_tag_recv_nbx(ring_w[me], in, n, i, ALL, &plain), ucp_tag_send_nbx(ep, out, n, i, &plain)};
            double end = now() + 60;
            for (int k = 0; k < 2; k++) {
                if (!UCS_PTR_IS_PTR(r[k])) {
                    CHECK(UCS_PTR_STATUS(r[k]) == UCS_OK);
                    continue;
                }
                while (ucp_request_check_status(r[k]) == UCS_INPROGRESS && now() < end) ucp_worker_progress(ring_w[me]);
                CHECK(ucp_request_check_status(r[k]) == UCS_OK);
                ucp_request_free(r[k]);
            }
            CHECK(same(in, n, (me + RING - 1) % RING + i));
        }
        ucs_status_ptr_t c_r = ucp_ep_close_nbx(ep, &plain);
        double end = now() + 60;
        while (UCS_PTR_IS_PTR(c_r) && ucp_request_check_status(c_r) == UCS_INPROGRESS && now() < end) ucp_worker_progress(ring_w[me]);
        if (UCS_PTR_IS_PTR(c_r)) ucp_request_free(c_r);
        atomic_fetch_add(&finished_threads, 1);
        while (finished_threads < RING * (round + 1) && now() < end) ucp_worker_progress(ring_w[me]);
        pthread_barrier_wait(&barrier);
        ucp_worker_release_address(ring_w[me], ring_addr[me]);
        ucp_worker_destroy(ring_w[me]);
        if (!common) ucp_cleanup(c);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void own_workers(int one_context)
{
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED, .features = UCP_FEATURE_TAG, .mt_workers_shared = 1};
    if (one_context) MUST(ucp_init(&p, NULL, &common));
    pthread_t t[RING];
    finished_threads = 0;
    HOLDS(pthread_barrier_init(&barrier, NULL, RING) == 0);
    for (long i = 0; i < RING; i++) HOLDS(pthread_create(&t[i], NULL, in_ring, (void *)i) == 0);
    for (int i = 0; i < RING; i++) pthread_join(t[i], NULL);
    if (one_context) ucp_cleanup(common), common = NULL;
    printf("a worker for each thread, %s: wrong %d\n", one_context ? "of one context" : "and a context", wrong);
}

/* ---- starting and ending at the same time ------------------------------------------------------------------------ */

static void *starts(void *arg)
{
    for (int i = 0; i < 10; i++) {
        ucp_config_t *config;
        MUST(ucp_config_read(NULL, NULL, &config));
        ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP};
        ucp_context_h c;
        MUST(ucp_init(&p, config, &c));
        ucp_config_release(config);
        ucp_worker_params_t wp = {0};
        ucp_worker_h w;
        MUST(ucp_worker_create(c, &wp, &w));
        ucp_address_t *addr;
        size_t len;
        MUST(ucp_worker_get_address(w, &addr, &len));
        ucp_ep_params_t ep_p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = addr};
        ucp_ep_h ep;
        MUST(ucp_ep_create(w, &ep_p, &ep));
        long out = i, in = -1;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(w, &in, sizeof in, 1, ALL, &plain), s = ucp_tag_send_nbx(ep, &out, sizeof out, 1, &plain);
        double end = now() + 60;
        while (in != out && now() < end) ucp_worker_progress(w);
        CHECK(in == out);
        if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
        if (UCS_PTR_IS_PTR(s)) ucp_request_free(s);
        ucp_worker_release_address(w, addr);
        ucp_worker_destroy(w);
        ucp_cleanup(c);
    }
    return NULL;
}

static void at_once(void)
{
    enum { T = 12 };
    pthread_t t[T];
    for (int i = 0; i < T; i++) HOLDS(pthread_create(&t[i], NULL, starts, NULL) == 0);
    for (int i = 0; i < T; i++) pthread_join(t[i], NULL);
    printf("%d threads start and end UCX at once: wrong %d\n", T, wrong);
}

int main(int argc, char **argv)
{
    if (argc > 1) per_thread = atoi(argv[1]);
    if (argc > 2) starts(NULL);
    at_once();
    shared_worker(0, UCS_THREAD_MODE_MULTI);
    shared_worker(1, UCS_THREAD_MODE_MULTI);
    shared_worker(0, UCS_THREAD_MODE_SERIALIZED);
    own_workers(0);
    own_workers(1);
    return finish();
}
