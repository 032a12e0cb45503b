/* What threads do to one worker of mode multi at the same time, beside sending and receiving (threads.c): a
 * listener whose clients come while others send, with requests that are accepted inside the handler, by another
 * thread, or rejected; handlers of active messages that change while messages come; threads that sleep in the worker
 * while others send on it, wake it by ucp_worker_signal, and ask it this and that; memory that is mapped, written to
 * by its key and unmapped; requests that are posted, cancelled and freed in turn; streams; endpoints with error handling that are closed with sends in flight, by force or
 * not. All is counted and checked. usage: together [N [sm]]    rounds of each thread (200); sm: no listener */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

static int rounds = 200;
static atomic_int ended, stop, wrong;

#define CHECK(cond) do { if (!(cond)) { if (!wrong++) printf("WRONG %s:%d: %s\n", __FILE__, __LINE__, #cond); } } while (0)

static ucs_status_t done_on(ucp_worker_h w, ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    double end = now() + 60;
    ucs_status_t s;
    while ((s = ucp_request_check_status(r)) == UCS_INPROGRESS) {
        progress();
        if (w) ucp_worker_progress(w);
        if (now() > end) DIE("nothing happens any more");
    }
    ucp_request_free(r);
    return s;
}

static ucs_status_t done(ucs_status_ptr_t r) { return done_on(NULL, r); }

/* ---- handlers that change ------------------------------------------------------------------------------------- */

static atomic_long handled, handled_sum;
static char first_arg, second_arg;

static ucs_status_t handle(int right, const void *header, size_t header_len)
{
    long i = -1;
    CHECK(right && header_len == sizeof i);
    if (header_len == sizeof i) memcpy(&i, header, sizeof i);
    handled_sum += i;
    handled++;
    return UCS_OK;
}

static ucs_status_t first(void *arg, const void *header, size_t n, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    return handle(arg == &first_arg, header, n);
}

static ucs_status_t second(void *arg, const void *header, size_t n, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    return handle(arg == &second_arg, header, n);
}

static void set_handler(int which)
{
    ucp_am_handler_param_t p = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                .id = 6, .cb = which ? second : first, .arg = which ? &second_arg : &first_arg};
    MUST(ucp_worker_set_am_recv_handler(B.w, &p));
}

static void *am_setter(void *arg)
{
    for (int i = 0; !stop; i++) {
        set_handler(i % 2);
        if (i % 8 == 0) usleep(50);
    }
    return NULL;
}

static void *am_sender(void *arg)
{
    static const char data[3000];
    for (long i = 0; i < rounds; i++) CHECK(done(ucp_am_send_nbx(A.ep, 6, &i, sizeof i, data, i % 3 * 1000, &plain)) == UCS_OK);
    ended++;
    return NULL;
}

/* ---- sleep ---------------------------------------------------------------------------------------------------- */

static atomic_long slept;

/* Sleeps whenever there is nothing to do; signals wake it, since nothing else need come. */
static void *sleeper(void *arg)
{
    while (!stop) {
        while (ucp_worker_progress(B.w)) {}
        MUST(ucp_worker_wait(B.w));
        slept++;
    }
    return NULL;
}

/* The same by the descriptor, which is another thread's as well. */
static void *poller(void *arg)
{
    int fd;
    MUST(ucp_worker_get_efd(B.w, &fd));
    while (!stop) {
        while (ucp_worker_progress(B.w)) {}
        ucs_status_t s = ucp_worker_arm(B.w);
        if (s == UCS_ERR_BUSY) continue;
        MUST(s);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, 20); /* another thread may have taken what came */
    }
    return NULL;
}

static void *signaller(void *arg)
{
    while (!stop) {
        MUST(ucp_worker_signal(B.w));
        usleep(300);
    }
    return NULL;
}

/* Sends by the worker that others sleep in: they must not hold its lock. */
static void *back(void *arg)
{
    for (long i = 0; i < rounds; i++) {
        long in = -1;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &in, sizeof in, 1ull << 40 | i, ALL, &plain);
        ucs_status_ptr_t s = ucp_tag_send_nbx(B.ep, &i, sizeof i, 1ull << 40 | i, &plain);
        CHECK(done(s) == UCS_OK && done(r) == UCS_OK && in == i);
    }
    ended++;
    return NULL;
}

/* ---- questions ------------------------------------------------------------------------------------------------ */

static void *asker(void *arg)
{
    FILE *nowhere = fopen("/dev/null", "w");
    HOLDS(nowhere);
    for (int i = 0; i < rounds; i++) {
        ucp_worker_attr_t wa = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE | UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER};
        CHECK(ucp_worker_query(B.w, &wa) == UCS_OK && wa.thread_mode == UCS_THREAD_MODE_MULTI);
        ucp_context_attr_t ca = {.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE | UCP_ATTR_FIELD_THREAD_MODE};
        CHECK(ucp_context_query(B.ctx, &ca) == UCS_OK && ca.request_size > 0);
        ucp_address_t *addr;
        size_t len;
        CHECK(ucp_worker_get_address(B.w, &addr, &len) == UCS_OK && len > 0);
        ucp_worker_release_address(B.w, addr);
        ucp_tag_recv_info_t info;
        CHECK(!ucp_tag_probe_nb(B.w, 1ull << 61, ALL, 0, &info));
        if (i % 16 == 0) {
            ucp_ep_print_info(A.ep, nowhere);
            ucp_worker_print_info(B.w, nowhere);
            ucp_context_print_info(B.ctx, nowhere);
        }
        progress();
    }
    fclose(nowhere);
    ended++;
    return NULL;
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static void *mapper(void *arg)
{
    long id = (long)arg;
    enum { SIZE = 20000 };
    unsigned char *src = malloc(SIZE), *dst = malloc(SIZE);
    for (int i = 0; i < rounds / 4; i++) {
        ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
                                  .length = SIZE, .address = i % 2 ? dst : NULL, .flags = i % 2 ? 0 : UCP_MEM_MAP_ALLOCATE};
        ucp_mem_h memh;
        MUST(ucp_mem_map(B.ctx, &p, &memh));
        ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
        MUST(ucp_mem_query(memh, &a));
        void *key;
        size_t len;
        MUST(ucp_rkey_pack(B.ctx, memh, &key, &len));
        ucp_rkey_h rkey;
        MUST(ucp_ep_rkey_unpack(A.ep, key, &rkey));
        ucp_rkey_buffer_release(key);
        size_t n = i % 3 ? 64 : SIZE;
        fill(src, n, id * 7 + i);
        CHECK(done(ucp_put_nbx(A.ep, src, n, (uint64_t)a.address, rkey, &plain)) == UCS_OK);
        CHECK(done(ucp_ep_flush_nbx(A.ep, &plain)) == UCS_OK);
        CHECK(same(a.address, n, id * 7 + i));
        ucp_rkey_destroy(rkey);
        MUST(ucp_mem_unmap(B.ctx, memh));
    }
    free(src);
    free(dst);
    ended++;
    return NULL;
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static void new_request(void *request) { *(atomic_int *)request = 0; }

/* Posts, cancels and frees, as fast as it can be done: no request is given to two at once. */
static void *hammer(void *arg)
{
    char byte;
    for (int i = 0; i < 100 * rounds; i++) {
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, &byte, 1, 1ull << 59 | (long)arg, ALL, &plain);
        HOLDS(UCS_PTR_IS_PTR(r));
        CHECK(atomic_exchange((atomic_int *)r, 1) == 0);
        ucp_request_cancel(B.w, r);
        CHECK(ucp_request_check_status(r) == UCS_ERR_CANCELED);
        CHECK(atomic_exchange((atomic_int *)r, 0) == 1);
        ucp_request_free(r);
    }
    ended++;
    return NULL;
}

/* ---- streams -------------------------------------------------------------------------------------------------- */

static void *stream_sender(void *arg)
{
    for (long i = 0; i < rounds; i++) CHECK(done(ucp_stream_send_nbx(A.ep, &i, sizeof i, &plain)) == UCS_OK);
    ended++;
    return NULL;
}

static void *stream_receiver(void *arg)
{
    ucp_request_param_t all = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_STREAM_RECV_FLAG_WAITALL};
    for (long i = 0; i < rounds; i++) {
        long in = -1;
        size_t got;
        CHECK(done(ucp_stream_recv_nbx(B.ep, &in, sizeof in, &got, &all)) == UCS_OK && in == i);
    }
    ended++;
    return NULL;
}

/* ---- endpoints that are closed with sends in flight ----------------------------------------------------------- */

static atomic_long sends_begun, sends_ended;

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    sends_ended++;
    ucp_request_free(request);
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { (void)arg; }

static void *closer(void *arg)
{
    long id = (long)arg;
    unsigned char *buf = malloc(100000);
    fill(buf, 100000, 5);
    for (int i = 0; i < rounds / 10; i++) {
        ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                             .address = B.addr, .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler.cb = on_error};
        ucp_ep_h ep;
        MUST(ucp_ep_create(A.w, &p, &ep));
        int force = i % 2, n = force ? 6 : 1;
        ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.send = on_sent};
        static char sink[100000];
        ucs_status_ptr_t r = NULL;
        ucp_tag_t tag = 1ull << 50 | id << 32 | i;
        if (!force) r = ucp_tag_recv_nbx(B.w, sink, sizeof sink, tag, ALL, &plain);
        for (int k = 0; k < n; k++) {
            /* Of those that are cut off nobody asks for the rest. */
            ucs_status_ptr_t s = ucp_tag_send_nbx(ep, buf, k % 2 ? 100 : 100000, tag, &param);
            if (UCS_PTR_IS_PTR(s)) sends_begun++;
            else CHECK(!UCS_PTR_IS_ERR(s));
        }
        if (!force) CHECK(done(r) == UCS_OK);
        ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0};
        CHECK(done(ucp_ep_close_nbx(ep, &how)) == UCS_OK);
    }
    free(buf);
    ended++;
    return NULL;
}

/* ---- a listener ----------------------------------------------------------------------------------------------- */

static struct sockaddr_in listens_at;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
enum { MOST = 4096 };
static ucp_conn_request_h queue[MOST];
static ucp_ep_h server_eps[MOST];
static int n_queue, n_eps, n_requests;
static atomic_int clients_done, rejections, hellos;

static void accept_it(ucp_conn_request_h request)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .conn_request = request, .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler.cb = on_error};
    ucp_ep_h ep;
    MUST(ucp_ep_create(B.w, &p, &ep));
    pthread_mutex_lock(&queue_lock);
    HOLDS(n_eps < MOST);
    server_eps[n_eps++] = ep;
    pthread_mutex_unlock(&queue_lock);
}

/* Inside the worker's progress, in whichever thread that is. */
static void on_request(ucp_conn_request_h request, void *arg)
{
    pthread_mutex_lock(&queue_lock);
    int inside = n_requests++ % 2;
    if (!inside) {
        HOLDS(n_queue < MOST);
        queue[n_queue++] = request;
    }
    pthread_mutex_unlock(&queue_lock);
    if (inside) accept_it(request);
}

static ucp_listener_h listener;

static void *acceptor(void *arg)
{
    for (int i = 0; !stop; i++) {
        pthread_mutex_lock(&queue_lock);
        ucp_conn_request_h request = n_queue ? queue[--n_queue] : NULL;
        pthread_mutex_unlock(&queue_lock);
        if (!request) usleep(200);
        else if (i % 8 == 7) MUST(ucp_listener_reject(listener, request));
        else accept_it(request);
    }
    return NULL;
}

struct client { int failed; ucs_status_t why; };

static void on_client_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct client *c = arg;
    c->failed++;
    c->why = status;
}

/* A worker of its own, one connection after another; each says hello until it is answered or rejected. */
static void *client(void *arg)
{
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_context_h ctx;
    ucp_worker_h w;
    ucp_worker_params_t wp = {0};
    MUST(ucp_init(&p, NULL, &ctx));
    MUST(ucp_worker_create(ctx, &wp, &w));
    for (int i = 0; i < rounds / 10; i++) {
        struct client c = {0};
        ucp_ep_params_t ep_p = {.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                                .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER, .sockaddr = {(struct sockaddr *)&listens_at, sizeof listens_at},
                                .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_client_error, &c}};
        ucp_ep_h ep;
        MUST(ucp_ep_create(w, &ep_p, &ep));
        long hello = 1;
        ucs_status_t s = done_on(w, ucp_tag_send_sync_nbx(ep, &hello, sizeof hello, 1ull << 52, &plain));
        double end = now() + 60;
        while (s != UCS_OK && !c.failed && now() < end) ucp_worker_progress(w);
        if (s == UCS_OK) hellos++;
        else {
            CHECK(c.failed == 1 && c.why == UCS_ERR_REJECTED);
            rejections++;
        }
        ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = s == UCS_OK ? 0 : UCP_EP_CLOSE_FLAG_FORCE};
        (void)done_on(w, ucp_ep_close_nbx(ep, &how));
    }
    ucp_worker_destroy(w);
    ucp_cleanup(ctx);
    clients_done++;
    ended++;
    return NULL;
}

enum { CLIENTS = 3 };

/* Answers each hello by receiving it. */
static void *welcomer(void *arg)
{
    atomic_long got = 0;
    for (;;) {
        long in = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, &in, sizeof in, 1ull << 52, ALL, &plain);
        if (!r) {
            CHECK(in == 1);
            got++;
            continue;
        }
        HOLDS(UCS_PTR_IS_PTR(r));
        while (ucp_request_check_status(r) == UCS_INPROGRESS && clients_done < CLIENTS) progress();
        if (ucp_request_check_status(r) == UCS_INPROGRESS) ucp_request_cancel(B.w, r);
        ucs_status_t s = done(r);
        if (s == UCS_ERR_CANCELED) break;
        CHECK(s == UCS_OK && in == 1);
        got++;
    }
    CHECK(got == hellos);
    ended++;
    return NULL;
}

static void listen_on(ucp_worker_h w)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&any, sizeof any}, .conn_handler.cb = on_request};
    MUST(ucp_listener_create(w, &p, &listener));
    ucp_listener_attr_t a = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(listener, &a));
    memcpy(&listens_at, &a.sockaddr, sizeof listens_at);
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

struct role { void *(*run)(void *); long arg; int ends; };

int main(int argc, char **argv)
{
    if (argc > 1) rounds = atoi(argv[1]);
    int listening = argc < 3;
    static const struct role roles[] = {
        {am_setter, 0, 0}, {am_sender, 0, 1}, {am_sender, 0, 1}, {sleeper, 0, 0}, {poller, 0, 0}, {signaller, 0, 0}, {back, 0, 1},
        {asker, 0, 1}, {mapper, 1, 1}, {mapper, 2, 1}, {stream_sender, 0, 1}, {stream_receiver, 0, 1}, {closer, 1, 1}, {closer, 2, 1},
        {hammer, 1, 1}, {hammer, 2, 1},
        {acceptor, 0, 0}, {welcomer, 0, 1}, {client, 0, 1}, {client, 1, 1}, {client, 2, 1}};
    enum { ALL_ROLES = sizeof roles / sizeof roles[0], WITHOUT_LISTENER = ALL_ROLES - 2 - CLIENTS };
    int n = listening ? ALL_ROLES : WITHOUT_LISTENER, to_end = 0;
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_STREAM | UCP_FEATURE_WAKEUP;
    threads = UCS_THREAD_MODE_MULTI;
    extra_params.field_mask = UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_REQUEST_INIT;
    extra_params.request_size = sizeof(atomic_int);
    extra_params.request_init = new_request;
    pair_open(0);
    set_handler(0);
    still_works();
    if (listening) listen_on(B.w);
    pthread_t t[ALL_ROLES];
    for (int i = 0; i < n; i++) {
        to_end += roles[i].ends;
        HOLDS(pthread_create(&t[i], NULL, roles[i].run, (void *)roles[i].arg) == 0);
    }
    double end = now() + 120;
    while (ended < to_end || handled < 2 * rounds || sends_ended < sends_begun) {
        progress();
        usleep(100);
        if (now() > end) DIE("%d of %d threads have ended, %ld of %d messages, %ld of %ld sends", ended, to_end, handled, 2 * rounds, sends_ended, sends_begun);
    }
    stop = 1;
    for (int i = 0; i < n; i++) {
        ucp_worker_signal(B.w);
        while (pthread_tryjoin_np(t[i], NULL)) {
            ucp_worker_signal(B.w);
            usleep(100);
            if (now() > end) DIE("thread %d does not end", i);
        }
    }
    CHECK(handled == 2 * rounds && handled_sum == (long)rounds * (rounds - 1) && sends_ended == sends_begun && slept > 0);
    if (listening) {
        CHECK(hellos + rejections == CLIENTS * (rounds / 10) && n_eps == hellos);
        ucp_listener_destroy(listener);
        for (int i = 0; i < n_eps; i++) {
            ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
            (void)done(ucp_ep_close_nbx(server_eps[i], &how));
        }
    }
    still_works();
    printf("messages, sends, streams, keys, connections: wrong %d\n", wrong);
    pair_close();
    return finish();
}
