/* Active messages of many sizes, headers, datatypes on either side and flags, between two workers and
 * on a loopback endpoint. usage: am_basic [largest size] */
#include "am.h"

static const size_t sizes[] = {0, 1, 7, 8, 9, 100, 1000, 4096, 5000, 8191, 8192, 8193, 20000, 65536, 100001, 262144, 1u << 20, 3145729};
enum { SIZES = sizeof sizes / sizeof *sizes, ID = 7 };
static const struct {
    const char *name;
    uint32_t flags;
} ways[] = {
    {"no flag", 0},
    {"EAGER", UCP_AM_SEND_FLAG_EAGER},
    {"RNDV", UCP_AM_SEND_FLAG_RNDV},
    {"REPLY", UCP_AM_SEND_FLAG_REPLY},
    {"EAGER and REPLY", UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY},
    {"RNDV and REPLY", UCP_AM_SEND_FLAG_RNDV | UCP_AM_SEND_FLAG_REPLY},
    {"COPY_HEADER", UCP_AM_SEND_FLAG_COPY_HEADER},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* What the handler shall expect, and what it has seen. */
static struct {
    unsigned seed;
    size_t header, len;
    uint32_t flags;
    enum kind into;
    unsigned char *in;
} want;
static int calls, received;
static struct buffer *target; /* stays until the message is there */
static ucs_status_t recv_status;
static ucp_ep_h reply;

static void on_data(void *r, ucs_status_t s, size_t n, void *user)
{
    HOLDS(user == &received && n == want.len);
    received++;
    recv_status = s;
    if (r) ucp_request_free(r);
}

static ucs_status_t handler(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    calls++;
    HOLDS(arg == &calls);
    HOLDS(header_len == want.header && (!header_len || same(header, header_len, want.seed + 1)));
    HOLDS(len == want.len);
    int rndv = !!(p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV), desc = !!(p->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA);
    HOLDS(!(rndv && desc));
    if (want.flags & UCP_AM_SEND_FLAG_EAGER) HOLDS(!rndv);
    if ((want.flags & UCP_AM_SEND_FLAG_RNDV) && len) HOLDS(rndv);
    int has = !!(p->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP);
    HOLDS(has == !!(want.flags & UCP_AM_SEND_FLAG_REPLY));
    if (has) reply = p->reply_ep;
    if (!rndv && !desc) {
        HOLDS(same(data, len, want.seed));
        memcpy(want.in, data, len);
        received++;
        recv_status = UCS_OK;
        return UCS_OK;
    }
    if (!rndv) HOLDS(same(data, len, want.seed));
    struct buffer *b = target = view(want.into, want.in, len);
    size_t got = 12345;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_RECV_INFO,
                             .datatype = b->dt};
    q.cb.recv_am = on_data;
    q.user_data = &received;
    q.recv_info.length = &got;
    ucs_status_ptr_t r = ucp_am_recv_data_nbx(B.w, data, b->ptr, b->count, &q);
    if (UCS_PTR_IS_ERR(r)) DIE("recv_data gave %s", name(UCS_PTR_STATUS(r)));
    if (r == NULL) {
        HOLDS(got == len);
        received++;
        recv_status = UCS_OK;
    }
    return UCS_INPROGRESS;
}

static int sent;
static void on_sent(void *r, ucs_status_t s, void *user)
{
    HOLDS(s == UCS_OK && user == &sent);
    sent++;
}

static void message(size_t n, size_t header, enum kind from, enum kind into, uint32_t flags, unsigned seed)
{
    unsigned char *out = malloc(n + 1), *head = malloc(header + 1);
    want.in = malloc(n + 64);
    fill(out, n, seed);
    fill(head, header, seed + 1);
    memset(want.in, 0xee, n + 64);
    want.seed = seed;
    want.header = header;
    want.len = n;
    want.flags = flags;
    want.into = into;
    calls = received = sent = 0;
    target = NULL;
    struct buffer *b = view(from, out, n);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                             .datatype = b->dt,
                             .flags = flags};
    p.cb.send = on_sent;
    p.user_data = &sent;
    ucs_status_ptr_t r = ucp_am_send_nbx(A.ep, ID, header ? head : NULL, header, b->ptr, b->count, &p);
    if (flags & UCP_AM_SEND_FLAG_COPY_HEADER) memset(head, 0xdd, header);
    if (UCS_PTR_IS_ERR(r)) DIE("send of %zu bytes gave %s", n, name(UCS_PTR_STATUS(r)));
    UNTIL(received && (!r || sent));
    if (!r) HOLDS(!sent);
    if (r) ucp_request_free(r);
    HOLDS(calls == 1 && received == 1);
    if (recv_status != UCS_OK) DIE("%zu bytes: received with %s", n, name(recv_status));
    if (!same(want.in, n, seed) || !untouched(want.in + n, 64, 0xee)) DIE("%zu bytes: wrong data", n);
    drop(b);
    if (target) drop(target);
    free(out);
    free(head);
    free(want.in);
}

int main(int argc, char **argv)
{
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : 8u << 20;
    features = UCP_FEATURE_AM;
    for (int loop = 0; loop < 2; loop++) {
        pair_open(loop);
        set(B.w, ID, handler, &calls);
        ucp_worker_attr_t a = {.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER};
        MUST(ucp_worker_query(A.w, &a));
        printf("%s: longest header %s\n", loop ? "loopback" : "two workers", a.max_am_header >= 64 ? "at least 64" : "SHORT");
        size_t headers[] = {0, 1, 8, 40, a.max_am_header};
        for (int way = 0; way < WAYS; way++) {
            int n = 0;
            for (int k = 0; k < SIZES && sizes[k] <= max; k++)
                for (unsigned h = 0; h < sizeof headers / sizeof *headers; h++, n++)
                    message(sizes[k], headers[h], CONTIG, CONTIG, ways[way].flags, n);
            printf("%s: %d messages\n", ways[way].name, n);
        }
        for (int from = 0; from < KINDS; from++)
            for (int into = 0; into < KINDS; into++) {
                int n = 0;
                starts = finishes = bad_calls = 0;
                for (int way = 0; way < WAYS; way++)
                    for (int k = 0; k < SIZES && sizes[k] <= max; k += 2, n++)
                        message(sizes[k], n % 3 * 10, from, into, ways[way].flags, n);
                UNTIL(starts == finishes);
                printf("%s to %s: %d messages, bad calls %d\n", kinds[from], kinds[into], n, bad_calls);
            }
        if (!loop) HOLDS(reply != A.ep);
        pair_close();
    }
    return finish();
}
