/* Small, empty, and much divided: what lies at the edge of each protocol. Messages of 0, 1 and 8 bytes by
 * every operation, meant to be run with UCX_RNDV_THRESH = 0, 1 and inf; empty IOV entries first, in the
 * middle, last, and alone; thousands of entries, of a byte each, and the same bytes again and again; NULL.
 *
 *   edges OPERATION     tag, am, stream, put or get
 *
 * Between two workers and on a loopback endpoint. */
#include "am.h"
#include "rma.h"

enum { ID = 5, LONG = 4000, FAT = 700, ROOM = LONG * FAT };

/* How n bytes are said to the API. */
enum way { WHOLE, EMPTY_FIRST, EMPTY_MIDDLE, EMPTY_LAST, EMPTY_EVERYWHERE, BY_BYTES, FLAT, OF_GENERIC, WAYS };
static const char *const ways[] = {"one entry", "empty first", "empty in the middle", "empty last", "empty everywhere", "a byte each", "contig", "generic"};

static struct buffer *said(enum way w, unsigned char *p, size_t n)
{
    if (w == FLAT || w == OF_GENERIC) {
        struct buffer *b = view(w == FLAT ? CONTIG : GENERIC, p, n);
        if (w == FLAT && n == 0) b->ptr = NULL;
        return b;
    }
    struct buffer *b = calloc(1, sizeof *b);
    size_t half = n / 2, k = 0;
    ucp_dt_iov_t *v = b->iov = calloc(2 * n + 8, sizeof *v); /* empty entries are {NULL, 0} */
    switch (w) {
    case WHOLE: v[k++] = (ucp_dt_iov_t){n ? p : NULL, n}; break;
    case EMPTY_FIRST:
        k = 2;
        v[k++] = (ucp_dt_iov_t){n ? p : NULL, n};
        break;
    case EMPTY_MIDDLE:
        v[k++] = (ucp_dt_iov_t){p, half};
        k += 2;
        v[k++] = (ucp_dt_iov_t){p + half, n - half};
        break;
    case EMPTY_LAST:
        v[k] = (ucp_dt_iov_t){n ? p : NULL, n};
        k += 3;
        break;
    case EMPTY_EVERYWHERE:
        k = 1;
        for (size_t i = 0; i < n; i++, k += 2) v[k] = (ucp_dt_iov_t){p + i, 1};
        break;
    default:
        for (size_t i = 0; i < n; i++) v[k++] = (ucp_dt_iov_t){p + i, 1};
    }
    b->ptr = n || k ? v : NULL;
    b->count = k;
    b->dt = ucp_dt_make_iov();
    return b;
}

/* `entries` entries of `each` bytes. */
static struct buffer *divided(unsigned char *p, size_t entries, size_t each, int same_again)
{
    struct buffer *b = calloc(1, sizeof *b);
    b->ptr = b->iov = calloc(entries, sizeof *b->iov);
    b->count = entries;
    b->dt = ucp_dt_make_iov();
    for (size_t i = 0; i < entries; i++) b->iov[i] = (ucp_dt_iov_t){p + (same_again ? 0 : i * each), each};
    return b;
}

/* ---- operations: each moves n bytes from a view here to one there -------------------------------------- */

static ucp_request_param_t typed(const struct buffer *b)
{
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = b->dt};
}

static ucs_status_t both(ucs_status_ptr_t s, ucs_status_ptr_t r)
{
    ucs_status_t of_send = finished(s), of_receive = finished(r);
    return of_send != UCS_OK ? of_send : of_receive;
}

static ucs_status_t by_tag(struct buffer *from, struct buffer *to, size_t n, int how)
{
    ucp_tag_recv_info_t info = {0};
    ucs_status_ptr_t r, s;
    if (how & 1) {
        r = recv_view(B.w, to, 8, ALL, &info);
        s = send_view(A.ep, from, 8, how & 2);
    } else {
        s = send_view(A.ep, from, 8, how & 2);
        let_it_arrive();
        r = recv_view(B.w, to, 8, ALL, &info);
    }
    if (UCS_PTR_IS_PTR(r)) UNTIL(ucp_tag_recv_request_test(r, &info) != UCS_INPROGRESS);
    HOLDS(info.length == n);
    return both(s, r);
}

static struct buffer *am_to;
static ucs_status_ptr_t am_receive;
static void *am_kept;
static int am_calls, am_inside;
static size_t am_len, am_header;

static ucs_status_ptr_t take_am(void *data)
{
    ucp_request_param_t p = typed(am_to);
    return ucp_am_recv_data_nbx(B.w, data, am_to->ptr, am_to->count, &p);
}

static ucs_status_t on_am(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    HOLDS(header_len == am_header && same(header, header_len, 99));
    am_calls++;
    am_len = len;
    if (am_inside) am_receive = take_am(data);
    else am_kept = data;
    return UCS_INPROGRESS;
}

static ucs_status_t by_am(struct buffer *from, struct buffer *to, size_t n, int how)
{
    static unsigned char header[8];
    static const uint32_t flags[] = {0, UCP_AM_SEND_FLAG_EAGER, UCP_AM_SEND_FLAG_RNDV, 0};
    fill(header, 8, 99);
    am_calls = 0;
    am_inside = how & 1;
    am_header = how < 4 ? 0 : how < 8 ? 1 : 8;
    am_to = to;
    ucp_request_param_t p = typed(from);
    p.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = flags[how / 2 % 4];
    ucs_status_ptr_t s = ucp_am_send_nbx(A.ep, ID, am_header ? header : NULL, am_header, from->ptr, from->count, &p);
    if (UCS_PTR_IS_ERR(s)) return UCS_PTR_STATUS(s);
    UNTIL(am_calls);
    HOLDS(am_calls == 1 && am_len == n);
    if (!am_inside) {
        let_it_arrive();
        am_receive = take_am(am_kept);
    }
    return both(s, am_receive);
}

/* Nothing sent is nothing received: then only a byte behind it. */
static ucs_status_t by_stream(struct buffer *from, struct buffer *to, size_t n, int how)
{
    ucp_request_param_t p = typed(from), q = typed(to);
    q.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    q.flags = UCP_STREAM_RECV_FLAG_WAITALL;
    size_t got = 0;
    ucs_status_ptr_t r = NULL, s;
    if (n && how & 1) r = ucp_stream_recv_nbx(B.ep, to->ptr, to->count, &got, &q);
    s = ucp_stream_send_nbx(A.ep, from->ptr, from->count, &p);
    if (!(how & 1)) {
        let_it_arrive();
        if (n) r = ucp_stream_recv_nbx(B.ep, to->ptr, to->count, &got, &q);
    }
    ucs_status_t status = both(s, r);
    char behind = 'b', c = 0;
    ucp_request_param_t one = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_STREAM_RECV_FLAG_WAITALL};
    s = ucp_stream_send_nbx(A.ep, &behind, 1, &plain);
    HOLDS(both(s, ucp_stream_recv_nbx(B.ep, &c, 1, &got, &one)) == UCS_OK && c == 'b');
    return status;
}

static struct region far;
static ucp_rkey_h far_key;

static ucs_status_t by_put(struct buffer *from, unsigned char *to, size_t n, int how)
{
    ucp_request_param_t p = typed(from);
    ucs_status_t s = finished(ucp_put_nbx(A.ep, from->ptr, from->count, (uint64_t)far.at, far_key, &p));
    if (s == UCS_OK) s = flushed(A.ep);
    memcpy(to, far.at, n);
    HOLDS(untouched((unsigned char *)far.at + n, 16, 0x5a));
    return s;
}

static ucs_status_t by_get(const unsigned char *from, struct buffer *to, size_t n, int how)
{
    ucp_request_param_t p = typed(to);
    memcpy(far.at, from, n);
    return finished(ucp_get_nbx(A.ep, to->ptr, to->count, (uint64_t)far.at, far_key, &p));
}

/* ---- what is moved ----------------------------------------------------------------------------------- */

static enum op { TAG, AM, STREAM, PUT, GET, OPS } op;
static const char *const ops[] = {"tag", "am", "stream", "put", "get"};
static const int hows[] = {4, 12, 2, 1, 1};
static unsigned char out[ROOM + 64], in[ROOM + 64];

static ucs_status_t move(struct buffer *from, struct buffer *to, size_t n, int how)
{
    memset(in, 0xee, n + 64);
    if (op == PUT || op == GET) memset(far.at, 0x5a, n + 64);
    switch (op) {
    case TAG: return by_tag(from, to, n, how);
    case AM: return by_am(from, to, n, how);
    case STREAM: return by_stream(from, to, n, how);
    case PUT: return by_put(from, in, n, how);
    default: return by_get(out, to, n, how);
    }
}

static void small(void)
{
    static const size_t sizes[] = {0, 1, 8};
    for (int ws = 0; ws < WAYS; ws++) {
        int right = 0, tried = 0;
        starts = finishes = bad_calls = 0;
        for (int wr = 0; wr < WAYS; wr++)
            for (int z = 0; z < 3; z++)
                for (int how = 0; how < hows[op]; how++, tried++) {
                    size_t n = sizes[z];
                    if (op == GET && ws != FLAT) break;
                    if (op == PUT && wr != FLAT) break;
                    fill(out, n, tried);
                    struct buffer *from = said(ws, out, n), *to = said(wr, in, n);
                    ucs_status_t s = move(from, to, n, how);
                    if (s == UCS_OK && same(in, n, tried) && untouched(in + n, 64, 0xee)) right++;
                    else printf("  WRONG: %zu bytes, %s to %s, how %d: %s\n", n, ways[ws], ways[wr], how, name(s));
                    drop(from);
                    drop(to);
                }
        let_it_arrive();
        printf("from %s: %d of %d right, starts and finishes %s, bad calls %d\n", ways[ws], right, tried, starts == finishes ? "equal" : "DIFFER", bad_calls);
    }
}

static void large(size_t entries, size_t each)
{
    size_t n = entries * each;
    for (int what = 0; what < 4; what++)
        for (int how = 0; how < hows[op]; how++) {
            static const char *const whats[] = {"sent", "received", "both", "the same again and again"};
            int again = what == 3;
            if (op == PUT && (what == 1 || what == 2)) continue;
            if (op == GET && what != 1) continue;
            fill(out, n, how);
            struct buffer *from = what == 1 ? view(CONTIG, out, n) : divided(out, entries, each, again);
            struct buffer *to = what == 0 || again ? view(CONTIG, in, n) : divided(in, entries, each, 0);
            ucs_status_t s = move(from, to, n, how);
            int right = untouched(in + n, 64, 0xee);
            if (again) for (size_t i = 0; i < entries; i++) right &= !memcmp(in + i * each, out, each);
            else right &= same(in, n, how);
            if (s != UCS_OK || !right || how == 0)
                printf("%zu entries of %zu bytes, %s, how %d: %s, data %s\n", entries, each, whats[what], how, name(s), s == UCS_OK && right ? "right" : "WRONG");
            drop(from);
            drop(to);
        }
}

int main(int argc, char **argv)
{
    for (op = 0; op < OPS && (argc < 2 || strcmp(argv[1], ops[op])); op++) {}
    HOLDS(op < OPS);
    features = op == TAG ? UCP_FEATURE_TAG : op == AM ? UCP_FEATURE_AM : op == STREAM ? UCP_FEATURE_STREAM : UCP_FEATURE_RMA;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        if (op == AM) MUST(set_with(B.w, ID, on_am, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
        if (op == PUT || op == GET) {
            far = map_region(&B, USER, ROOM + 64);
            far_key = key_of(A.ep, far.packed);
        }
        small();
        large(LONG, 1);
        large(LONG, 7);
        large(3000, FAT);
        if (far_key) {
            ucp_rkey_destroy(far_key);
            far_key = NULL;
            unmap_region(&B, &far);
        }
        pair_close();
    }
    return finish();
}
