/* Tagged messages of many sizes: nb, nbr and nbx, plain and synchronous, expected and unexpected,
 * between two workers and on a loopback endpoint. usage: tag_basic [largest size] */
#include "capi.h"

static const size_t sizes[] = {0, 1, 7, 8, 9, 100, 1000, 4096, 5000, 8191, 8192, 8193, 20000, 65536, 100001, 262144, 1u << 20, 3145729, 8u << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };
enum form { NB, NBR, NBX, SYNC_NB, SYNC_NBX, FORMS };
static const char *const forms[] = {"nb", "nbr", "nbx", "sync_nb", "sync_nbx"};

static int sent, received;
static ucs_status_t send_status, recv_status;
static ucp_tag_recv_info_t seen;

static void on_sent(void *r, ucs_status_t s) { sent++; send_status = s; }
static void on_sent_x(void *r, ucs_status_t s, void *d) { sent += d == &sent; send_status = s; }
static void on_recv(void *r, ucs_status_t s, ucp_tag_recv_info_t *i) { received++; recv_status = s; seen = *i; }
static void on_recv_x(void *r, ucs_status_t s, const ucp_tag_recv_info_t *i, void *d) { received += d == &received; recv_status = s; seen = *i; }

static char *space(size_t *need)
{
    ucp_context_attr_t a;
    memset(&a, 0, sizeof a);
    a.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE;
    MUST(ucp_context_query(A.ctx, &a));
    *need = a.request_size;
    char *p;
    HOLDS(posix_memalign((void **)&p, 64, a.request_size + 256) == 0);
    memset(p, 0x3c, a.request_size + 256);
    return p;
}

struct op {
    ucs_status_ptr_t r;
    char *mem, *area; /* of nbr: what was allocated, and the pointer handed over */
    int done_at_once;
};

static struct op post_recv(enum form f, void *buf, size_t n, ucp_tag_t tag)
{
    struct op o = {0};
    received = 0;
    if (f == NB || f == SYNC_NB) {
        o.r = ucp_tag_recv_nb(B.w, buf, n, ucp_dt_make_contig(1), tag, ALL, on_recv);
        HOLDS(UCS_PTR_IS_PTR(o.r)); /* this form always gives a request */
    } else if (f == NBR) {
        size_t need;
        o.mem = space(&need);
        o.area = o.mem + ((need + 63) & ~(size_t)63);
        ucs_status_t s = ucp_tag_recv_nbr(B.w, buf, n, ucp_dt_make_contig(1), tag, ALL, o.area);
        if (s < 0) DIE("recv_nbr gave %s", name(s));
    } else {
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_RECV_INFO};
        ucp_tag_recv_info_t info = {0};
        p.cb.recv = on_recv_x;
        p.user_data = &received;
        p.recv_info.tag_info = &info;
        o.r = ucp_tag_recv_nbx(B.w, buf, n, tag, ALL, &p);
        if (o.r == NULL) {
            HOLDS(received == 0); /* at once: no callback, and the info is there */
            received = 1;
            recv_status = UCS_OK;
            seen = info;
        } else if (UCS_PTR_IS_ERR(o.r)) {
            DIE("recv_nbx gave %s", name(UCS_PTR_STATUS(o.r)));
        }
    }
    return o;
}

static void wait_recv(enum form f, struct op *o)
{
    if (f == NBR) {
        UNTIL(ucp_request_check_status(o->area) != UCS_INPROGRESS);
        recv_status = ucp_tag_recv_request_test(o->area, &seen);
        free(o->mem);
        return;
    }
    UNTIL(received);
    HOLDS(received == 1);
    if (o->r) {
        ucp_tag_recv_info_t again;
        HOLDS(ucp_tag_recv_request_test(o->r, &again) == recv_status);
        if (recv_status == UCS_OK) HOLDS(again.length == seen.length && again.sender_tag == seen.sender_tag);
        ucp_request_free(o->r);
    }
}

static struct op post_send(enum form f, const void *buf, size_t n, ucp_tag_t tag)
{
    struct op o = {0};
    sent = 0;
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA};
    p.cb.send = on_sent_x;
    p.user_data = &sent;
    switch (f) {
    case NB: o.r = ucp_tag_send_nb(A.ep, buf, n, ucp_dt_make_contig(1), tag, on_sent); break;
    case SYNC_NB: o.r = ucp_tag_send_sync_nb(A.ep, buf, n, ucp_dt_make_contig(1), tag, on_sent); break;
    case NBX: o.r = ucp_tag_send_nbx(A.ep, buf, n, tag, &p); break;
    case SYNC_NBX: o.r = ucp_tag_send_sync_nbx(A.ep, buf, n, tag, &p); break;
    default: {
        size_t need;
        o.mem = space(&need);
        o.area = o.mem + ((need + 63) & ~(size_t)63);
        ucs_status_t s = ucp_tag_send_nbr(A.ep, buf, n, ucp_dt_make_contig(1), tag, o.area);
        if (s < 0) DIE("send_nbr gave %s", name(s));
        o.done_at_once = s == UCS_OK;
        return o;
    }
    }
    if (UCS_PTR_IS_ERR(o.r)) DIE("send gave %s", name(UCS_PTR_STATUS(o.r)));
    o.done_at_once = o.r == NULL;
    return o;
}

static void wait_send(enum form f, struct op *o)
{
    send_status = o->done_at_once ? UCS_OK : send_status;
    if (f == NBR) {
        if (!o->done_at_once) {
            UNTIL(ucp_request_check_status(o->area) != UCS_INPROGRESS);
            send_status = ucp_request_check_status(o->area);
        }
        free(o->mem);
        return;
    }
    if (!o->done_at_once) {
        UNTIL(sent);
        HOLDS(sent == 1);
        ucp_request_free(o->r);
    } else {
        HOLDS(sent == 0); /* done at once: no callback */
    }
}

static void exchange(enum form f, int expected, size_t max)
{
    unsigned char *out = malloc(max + 64), *in = malloc(max + 64);
    int n_ok = 0;
    for (int k = 0; k < SIZES && sizes[k] <= max; k++) {
        size_t n = sizes[k];
        ucp_tag_t tag = 0xabcd000000000000ull + f * 1000 + k;
        struct op r, s;
        fill(out, n, k);
        memset(in, 0xee, n + 64);
        if (expected) {
            r = post_recv(f, in, n + 64, tag);
            s = post_send(f, out, n, tag);
        } else {
            s = post_send(f, out, n, tag);
            let_it_arrive();
            if (f == SYNC_NB || f == SYNC_NBX) HOLDS(!s.done_at_once && !sent); /* nobody received yet */
            r = post_recv(f, in, n + 64, tag);
        }
        wait_recv(f, &r);
        wait_send(f, &s);
        if (recv_status != UCS_OK || send_status != UCS_OK)
            DIE("%zu bytes: send %s, receive %s", n, name(send_status), name(recv_status));
        if (seen.length != n || seen.sender_tag != tag) DIE("%zu bytes: length %zu, tag %lx", n, seen.length, (long)seen.sender_tag);
        if (!same(in, n, k) || !untouched(in + n, 64, 0xee)) DIE("%zu bytes: wrong data", n);
        n_ok++;
    }
    printf("%s %s: %d sizes\n", forms[f], expected ? "expected" : "unexpected", n_ok);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : 8u << 20;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        for (int f = 0; f < FORMS; f++)
            for (int expected = 0; expected < 2; expected++) exchange(f, expected, max);
        pair_close();
    }
    return finish();
}
