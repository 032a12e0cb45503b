/* Closing by force with much in flight, at random moments, by either side; with requests of the
 * user's own; from inside the error handler. Every request completes exactly once, on both sides, and
 * no buffer is written after its completion.
 * usage: closing ROUNDS SIZE */
#include "capi.h"

enum { N = 100 };

static size_t SIZE;

static int failed_a, failed_b;
static void on_error_a(void *arg, ucp_ep_h ep, ucs_status_t s) { failed_a++; }
static void on_error_b(void *arg, ucp_ep_h ep, ucs_status_t s) { failed_b++; }

static const ucp_request_param_t by_force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};

static void connect_watched(struct side *s, const ucp_address_t *addr, ucp_err_handler_cb_t cb)
{
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = cb;
    connect_to(s, addr);
}

struct op {
    unsigned char *buf;
    ucs_status_ptr_t r;
    int called, reused;
    ucs_status_t with;
    char *own; /* the user's request */
};
static struct op sent[N], received[N];

static int garbled;
static void ended(struct op *op, ucs_status_t s, int got)
{
    /* What counts as received is what was sent, whatever the sender did with its buffer later. */
    if (got && s == UCS_OK) garbled += !untouched(op->buf, SIZE, op - received);
    op->called++;
    op->with = s;
    /* The buffer is ours again: nobody may write to it, nor rely on it. */
    memset(op->buf, 0x5a, SIZE);
    op->reused = 1;
}
static void on_sent(void *r, ucs_status_t s, void *arg) { ended(arg, s, 0); }
static void on_received(void *r, ucs_status_t s, const ucp_tag_recv_info_t *info, void *arg) { ended(arg, s, 1); }

static size_t request_size;

static void post(struct op *op, int recv, size_t n, int i, int own)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL, .user_data = op};
    memset(op->buf, i, SIZE);
    op->called = op->reused = 0;
    if (own) {
        p.op_attr_mask |= UCP_OP_ATTR_FIELD_REQUEST;
        p.request = op->own + request_size;
    }
    if (recv) {
        p.cb.recv = on_received;
        op->r = ucp_tag_recv_nbx(B.w, op->buf, n, i, ALL, &p);
    } else {
        p.cb.send = on_sent;
        op->r = ucp_tag_send_nbx(A.ep, op->buf, n, i, &p);
    }
    if (!UCS_PTR_IS_PTR(op->r)) DIE("%s %d gave %s", recv ? "receive" : "send", i, name(UCS_PTR_STATUS(op->r)));
}

static int count(const struct op *op, int what)
{
    int n = 0;
    for (int i = 0; i < N; i++) n += what == 0 ? op[i].called : op[i].called != 1;
    return n;
}

/* Rounds of N messages of one size, closed by one side after a random amount of progress. */
static int wrong_status, never, twice, written, alone;

static int all_ended(double seconds)
{
    double end = now() + seconds;
    while ((count(sent, 1) || count(received, 1)) && now() < end) progress();
    return !count(sent, 1) && !count(received, 1);
}

static void cancel_unmatched(void)
{
    for (int i = 0; i < N; i++)
        if (!received[i].called) ucp_request_cancel(B.w, received[i].r);
}

static void round_of(size_t n, int by_receiver, int own, unsigned *seed)
{
    connect_watched(&A, B.addr, on_error_a);
    connect_watched(&B, A.addr, on_error_b);
    still_works();
    struct side t = A;
    A = B, B = t;
    still_works();
    t = A;
    A = B, B = t;
    int unexpected = rand_r(seed) % 3 == 0;
    for (int i = 0; i < N && !unexpected; i++) post(&received[i], 1, n, i, own);
    for (int i = 0; i < N; i++) {
        post(&sent[i], 0, n, i, own);
        if (rand_r(seed) % 8 == 0) progress();
    }
    for (int k = rand_r(seed) % 40; k > 0; k--) progress();
    for (int i = 0; i < N && unexpected; i++) post(&received[i], 1, n, i, own);
    for (int k = rand_r(seed) % 40; k > 0; k--)
        if (rand_r(seed) % 2) ucp_worker_progress(A.w);
        else ucp_worker_progress(B.w);
    struct side *first = by_receiver ? &B : &A;
    ucs_status_t s = finished(ucp_ep_close_nbx(first->ep, &by_force));
    if (s != UCS_OK) wrong_status++;
    first->ep = NULL;
    /* The side that closed has nothing in flight on the endpoint any more; the other one learns of it,
     * or closes by force too. Receives that nothing has matched are cancelled. */
    for (int i = 0; i < 50; i++) progress();
    struct side *second = by_receiver ? &A : &B;
    if (alone) {
        let_it_arrive();
        cancel_unmatched();
        all_ended(3);
    }
    s = finished(ucp_ep_close_nbx(second->ep, &by_force));
    if (s != UCS_OK) wrong_status++;
    second->ep = NULL;
    let_it_arrive();
    cancel_unmatched();
    all_ended(10);
    for (int i = 0; i < N; i++) {
        struct op *both[] = {&sent[i], &received[i]};
        for (int k = 0; k < 2; k++) {
            never += both[k]->called == 0;
            twice += both[k]->called > 1;
        }
    }
    for (int i = 0; i < 100; i++) progress();
    for (int i = 0; i < N; i++) {
        written += received[i].called && !untouched(received[i].buf, SIZE, 0x5a);
        if (!own) ucp_request_free(sent[i].r), ucp_request_free(received[i].r);
    }
    /* What the sender had announced may still be unexpected at the receiver. */
    for (;;) {
        ucp_tag_recv_info_t info;
        ucp_tag_message_h m = ucp_tag_probe_nb(B.w, 0, 0, 1, &info);
        if (!m) break;
        char sink;
        finished(ucp_tag_msg_recv_nbx(B.w, &sink, 1, m, &plain));
    }
}

static void rounds(int by_receiver, int own, int times)
{
    unsigned seed = 2 * by_receiver + own;
    double begun = now();
    wrong_status = never = twice = written = garbled = 0;
    for (int i = 0; i < times; i++) round_of(SIZE, by_receiver, own, &seed);
    printf("closed by the %s%s, %s: closes %s, completed never %d, twice %d, written later %d%s\n", by_receiver ? "receiver" : "sender",
           alone ? " alone" : ", then the other", own ? "requests of the user" : "requests of UCX", wrong_status ? "WRONG" : "OK", never, twice, written,
           never + twice + written ? ": WRONG" : "");
    fprintf(stderr, "%.2f s, garbled %d\n", now() - begun, garbled);
}

/* A side that has closed its endpoint in order still receives what was sent to it. */
static void late_receives(void)
{
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    connect_to(&A, B.addr);
    connect_to(&B, A.addr);
    still_works();
    memset(sent[0].buf, 1, SIZE);
    ucs_status_ptr_t s[2] = {ucp_tag_send_nbx(A.ep, sent[0].buf, SIZE, 1, &plain), ucp_tag_send_sync_nbx(A.ep, sent[0].buf, 100, 2, &plain)};
    let_it_arrive();
    HOLDS(finished(ucp_ep_close_nbx(B.ep, &plain)) == UCS_OK);
    let_it_arrive();
    ucs_status_t r[4];
    r[0] = finished(ucp_tag_recv_nbx(B.w, received[0].buf, SIZE, 1, ALL, &plain));
    r[1] = finished(ucp_tag_recv_nbx(B.w, received[1].buf, SIZE, 2, ALL, &plain));
    r[2] = finished(s[0]);
    r[3] = finished(s[1]);
    printf("received after closing: %s %s, sent %s %s, %s\n", name(r[0]), name(r[1]), name(r[2]), name(r[3]), untouched(received[0].buf, SIZE, 1) ? "right" : "WRONG");
    HOLDS(finished(ucp_ep_close_nbx(A.ep, &plain)) == UCS_OK);
    A.ep = B.ep = NULL;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 10;
    SIZE = argc > 2 ? atol(argv[2]) : 200000;
    open_side(&A);
    open_side(&B);
    ucp_context_attr_t ca = {.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE};
    MUST(ucp_context_query(A.ctx, &ca));
    request_size = ca.request_size;
    for (int i = 0; i < N; i++) {
        sent[i].buf = malloc(SIZE), received[i].buf = malloc(SIZE);
        sent[i].own = malloc(request_size + 64), received[i].own = malloc(request_size + 64);
    }
    late_receives();
    for (alone = 0; alone < 2; alone++)
        for (int by_receiver = 0; by_receiver < 2; by_receiver++)
            for (int own = 0; own < 2; own++) rounds(by_receiver, own, times);
    connect_to(&A, B.addr);
    still_works();
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    printf("the workers still work\n");
    HOLDS(finished(ucp_ep_close_nbx(A.ep, &by_force)) == UCS_OK);
    for (int i = 0; i < 2; i++) {
        struct side *s = i ? &A : &B;
        ucp_worker_release_address(s->w, s->addr);
        ucp_worker_destroy(s->w);
        ucp_cleanup(s->ctx);
    }
    return finish();
}
