/* Active message handlers and callbacks that call back into the library: replies, sends, receives, other
 * handlers, closing, from inside. */
#include "am.h"

enum { PING = 1, PONG = 2, ONE = 3, TWO = 4, LEAVE = 5, DATA = 6 };
static const size_t sizes[] = {0, 8, 3000, 20000, 300000};

static int pings, pongs, rounds, freed, got_bytes;
static size_t n;
static uint32_t flags;
static unsigned char out[1 << 20];

static void on_sent(void *r, ucs_status_t s, void *user)
{
    if (s != UCS_OK) DIE("send ended with %s", name(s));
    freed++;
    ucp_request_free(r);
}

static void send_from_here(ucp_ep_h ep, unsigned id, const void *header, size_t header_len)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK, .flags = flags | UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_COPY_HEADER};
    p.cb.send = on_sent;
    ucs_status_ptr_t r = ucp_am_send_nbx(ep, id, header, header_len, out, n, &p);
    if (UCS_PTR_IS_ERR(r)) DIE("send gave %s", name(UCS_PTR_STATUS(r)));
    if (!r) freed++;
}

static void dropped(void *r, ucs_status_t s, size_t len, void *in)
{
    HOLDS(s == UCS_OK && len == n && same(in, n, 9));
    got_bytes++;
    free(in);
    if (r) ucp_request_free(r);
}

/* Receives the data, if there are any to receive. */
static ucs_status_t take(ucp_worker_h w, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    HOLDS(len == n);
    if (!(p->recv_attr & AM_RNDV)) {
        HOLDS(same(data, len, 9));
        got_bytes++;
        return UCS_OK;
    }
    void *in = malloc(len + 1);
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .user_data = in};
    q.cb.recv_am = dropped;
    ucs_status_ptr_t r = ucp_am_recv_data_nbx(w, data, in, len, &q);
    HOLDS(!UCS_PTR_IS_ERR(r));
    if (!r) dropped(NULL, UCS_OK, len, in);
    return UCS_INPROGRESS;
}

/* Each is answered from inside, by the endpoint that came with it. */
static ucs_status_t on_ping(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    HOLDS(header_len == 4 && *(int *)header == pings && (p->recv_attr & AM_REPLY) && p->reply_ep);
    pings++;
    ucs_status_t s = take(B.w, data, len, p);
    send_from_here(p->reply_ep, PONG, header, header_len);
    return s;
}
static ucs_status_t on_pong(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    HOLDS(header_len == 4 && *(int *)header == pongs && (p->recv_attr & AM_REPLY) && p->reply_ep);
    pongs++;
    ucs_status_t s = take(A.w, data, len, p);
    if (pongs < rounds) send_from_here(p->reply_ep, PING, &pongs, sizeof pongs);
    return s;
}

static void ping_pong(uint32_t f)
{
    fill(out, sizeof out, 9);
    flags = f;
    set(B.w, PING, on_ping, NULL);
    set(A.w, PONG, on_pong, NULL);
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        n = sizes[k];
        pings = pongs = freed = got_bytes = 0;
        rounds = n > 10000 ? 50 : 500;
        int zero = 0;
        send_from_here(A.ep, PING, &zero, sizeof zero);
        UNTIL(pongs == rounds && freed == 2 * rounds && got_bytes == 2 * rounds);
        printf("%d round trips of %zu bytes from inside handlers, %s\n", rounds, n, f & UCP_AM_SEND_FLAG_RNDV ? "rendezvous" : f ? "eager" : "no flag");
    }
}

/* A handler replaces itself, then removes itself. */
static int ones, twos;
static ucs_status_t two(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    twos++;
    set(B.w, ONE, NULL, NULL);
    return UCS_OK;
}
static ucs_status_t one(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    ones++;
    set(B.w, ONE, two, NULL);
    set(B.w, 40000, two, NULL); /* the table grows */
    return UCS_OK;
}
static void replaced(void)
{
    set(B.w, ONE, one, NULL);
    for (int i = 0; i < 4; i++) MUST(finished(am_send(A.ep, ONE, NULL, 0, "x", 1, 0)));
    let_it_arrive();
    printf("a handler that replaces itself: %d call, the next %d call, then dropped\n", ones, twos);
}

/* A callback sends the next message; a tagged receive is posted and a probe made from a handler. */
static int links, tagged;
static long value;
static void next_link(void *r, ucs_status_t s, void *user)
{
    HOLDS(s == UCS_OK);
    ucp_request_free(r);
    if (++links < 200) {
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
        p.cb.send = next_link;
        HOLDS(UCS_PTR_IS_PTR(ucp_am_send_nbx(A.ep, DATA, &links, sizeof links, out, links * 100, &p)));
    }
}
static void on_tagged(void *r, ucs_status_t s, const ucp_tag_recv_info_t *info, void *user)
{
    HOLDS(s == UCS_OK && value == 77);
    tagged++;
    ucp_request_free(r);
}
static int datas;
static ucs_status_t on_data(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (datas++ == 0) {
        ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK};
        q.cb.recv = on_tagged;
        ucp_tag_recv_info_t info;
        HOLDS(ucp_tag_probe_nb(B.w, 4711, ALL, 0, &info) == NULL);
        ucs_status_ptr_t canceled = ucp_tag_recv_nbx(B.w, &value, sizeof value, 4712, ALL, &plain);
        HOLDS(UCS_PTR_IS_PTR(canceled));
        ucp_request_cancel(B.w, canceled);
        HOLDS(ucp_request_check_status(canceled) == UCS_ERR_CANCELED);
        ucp_request_free(canceled);
        HOLDS(UCS_PTR_IS_PTR(ucp_tag_recv_nbx(B.w, &value, sizeof value, 4711, ALL, &q)));
    }
    return UCS_OK;
}
static void chain(void)
{
    links = datas = tagged = 0;
    set(B.w, DATA, on_data, NULL);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    p.cb.send = next_link;
    ucs_status_ptr_t r = ucp_am_send_nbx(A.ep, DATA, &links, sizeof links, out, 8, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    UNTIL(links == 200 && datas == 200);
    long v = 77;
    MUST(finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 4711, &plain)));
    UNTIL(tagged);
    printf("a chain of %d sends from callbacks, a tagged receive posted by a handler\n", links);
}

/* Closing the endpoint to the sender from inside the handler, with messages under way. */
static ucs_status_ptr_t closing;
static int leaves, late;
static ucs_status_t on_leave(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (leaves++ == 0) {
        for (int i = 0; i < 10; i++) {
            ucs_status_ptr_t r = am_send(B.ep, LEAVE, NULL, 0, out, 3000, UCP_AM_SEND_FLAG_EAGER);
            HOLDS(!UCS_PTR_IS_ERR(r));
            if (r) ucp_request_free(r);
        }
        closing = ucp_ep_close_nbx(B.ep, &plain);
        HOLDS(!UCS_PTR_IS_ERR(closing));
    }
    return UCS_OK;
}
static ucs_status_t on_late(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    late++;
    return UCS_OK;
}
static void leaving(void)
{
    set(A.w, LEAVE, on_late, NULL);
    set(B.w, LEAVE, on_leave, NULL);
    for (int i = 0; i < 20; i++) MUST(finished(am_send(A.ep, LEAVE, "h", 1, out, 100, 0)));
    UNTIL(leaves == 20);
    ucs_status_t s = finished(closing);
    B.ep = NULL;
    UNTIL(late == 10);
    printf("closed from inside: %s, 20 messages came in, 10 went out before\n", name(s));
}

int main(void)
{
    features = UCP_FEATURE_AM | UCP_FEATURE_TAG;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        ones = twos = 0;
        pair_open(loop);
        ping_pong(0);
        ping_pong(UCP_AM_SEND_FLAG_EAGER);
        ping_pong(UCP_AM_SEND_FLAG_RNDV);
        replaced();
        chain();
        if (!loop) leaving();
        pair_close();
    }
    return finish();
}
