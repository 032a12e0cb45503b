/* Large messages by whatever scheme UCX_RNDV_SCHEME names: tagged and active ones, from the user's
 * memory and from memory that UCX allocated, in one piece and in several, early and late receives,
 * several at a time; and one-sided operations beside them. */
#include "am.h"
#include "rma.h"

static const size_t sizes[] = {0, 1, 4096, 65537, 524288, 524289, 1500000};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 1500000, MANY = 6 };

static struct region from[2]; /* the user's own memory, and allocated */
static char *to[MANY];

/* A vector of one of two: for the message that is sent, and the one that is received. */
static ucp_dt_iov_t *pieces(int which, char *p, size_t n, size_t *count)
{
    static ucp_dt_iov_t both[2][16];
    ucp_dt_iov_t *v = both[which];
    size_t step = n / 7 + 1;
    *count = 0;
    for (size_t at = 0; at < n; at += step)
        v[(*count)++] = (ucp_dt_iov_t){p + at, n - at < step ? n - at : step};
    return v;
}

static ucs_status_ptr_t tag_send(char *p, size_t n, int iov, ucp_tag_t tag)
{
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(1)};
    if (!iov) return ucp_tag_send_nbx(A.ep, p, n, tag, &q);
    size_t count;
    ucp_dt_iov_t *v = pieces(0, p, n, &count);
    q.datatype = ucp_dt_make_iov();
    return ucp_tag_send_nbx(A.ep, v, count, tag, &q);
}

static ucs_status_ptr_t tag_recv(char *p, size_t n, int iov, ucp_tag_t tag)
{
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(1)};
    if (!iov) return ucp_tag_recv_nbx(B.w, p, n, tag, ALL, &q);
    size_t count;
    ucp_dt_iov_t *v = pieces(1, p, n, &count);
    q.datatype = ucp_dt_make_iov();
    return ucp_tag_recv_nbx(B.w, v, count, tag, ALL, &q);
}

static void tagged(void)
{
    for (int source = 0; source < 2; source++)
        for (int s = 0; s < SIZES; s++)
            for (int form = 0; form < 8; form++) {
                size_t n = sizes[s];
                int late = form & 1, send_iov = form >> 1 & 1, recv_iov = form >> 2 & 1;
                fill(from[source].at, n, form);
                memset(to[0], 0x77, MOST);
                ucs_status_ptr_t in = NULL, out;
                if (!late) in = tag_recv(to[0], n, recv_iov, 9);
                out = tag_send(from[source].at, n, send_iov, 9);
                if (late) let_it_arrive();
                if (late) in = tag_recv(to[0], n, recv_iov, 9);
                ucs_status_t got = finished(in), sent = finished(out);
                if (got != UCS_OK || sent != UCS_OK || !same(to[0], n, form) || !untouched(to[0] + n, MOST - n, 0x77))
                    DIE("%zu bytes, form %d, source %d: %s, %s", n, form, source, name(got), name(sent));
            }
    printf("tagged messages of %d lengths arrive\n", SIZES);
}

static void many(void)
{
    ucs_status_ptr_t in[MANY], out[MANY];
    for (int round = 0; round < 5; round++) {
        fill(from[0].at, MOST, round);
        for (int i = 0; i < MANY; i++) in[i] = tag_recv(to[i], MOST, i == 2, 100 + i);
        for (int i = 0; i < MANY; i++) out[i] = tag_send(from[0].at, MOST - i * 1000, 0, 100 + i);
        for (int i = 0; i < MANY; i++) {
            ucs_status_t got = finished(in[i]), sent = finished(out[i]);
            if (got != UCS_OK || sent != UCS_OK || !same(to[i], MOST - i * 1000, round))
                DIE("message %d of round %d: %s, %s", i, round, name(got), name(sent));
        }
    }
    printf("%d at a time arrive\n", MANY);
}

static void truncated(void)
{
    ucs_status_ptr_t in = tag_recv(to[0], 100, 0, 5), out = tag_send(from[0].at, 900000, 0, 5);
    ucs_status_t got = finished(in), sent = finished(out);
    printf("a receive that is too short: %s, the send %s\n", name(got), name(sent));
    still_works();
}

static int ended, refused;
static size_t told;

static void on_data(void *request, ucs_status_t status, size_t length, void *arg)
{
    ended++;
    if (status != UCS_OK) DIE("receiving gave %s", name(status));
    ucp_request_free(request);
}

static ucs_status_t handler(void *arg, const void *header, size_t header_len, void *data, size_t n, const ucp_am_recv_param_t *p)
{
    told = n;
    if (header_len != 3 || memcmp(header, "abc", 3)) DIE("the header");
    if (!(p->recv_attr & AM_RNDV)) {
        if (n) memcpy(to[1], data, n);
        ended++;
        return UCS_OK;
    }
    if (refused) {
        ended++;
        return UCS_OK; /* not wanted */
    }
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.recv_am = on_data};
    ucs_status_ptr_t r = ucp_am_recv_data_nbx(B.w, data, to[1], n, &q);
    if (UCS_PTR_IS_ERR(r)) DIE("recv_data gave %s", name(UCS_PTR_STATUS(r)));
    if (r == NULL) ended++;
    return UCS_INPROGRESS;
}

static void active(void)
{
    set(B.w, 3, handler, NULL);
    for (refused = 0; refused < 2; refused++)
        for (int source = 0; source < 2; source++)
            for (int s = 0; s < SIZES; s++) {
                size_t n = sizes[s];
                fill(from[source].at, n, s);
                ended = 0;
                ucs_status_ptr_t out = am_send(A.ep, 3, "abc", 3, from[source].at, n, n ? UCP_AM_SEND_FLAG_RNDV : 0);
                UNTIL(ended);
                ucs_status_t sent = finished(out);
                if (sent != UCS_OK || told != n || (!refused && !same(to[1], n, s)))
                    DIE("active message of %zu bytes: %s, %zu", n, name(sent), told);
            }
    printf("active messages arrive, or are refused\n");
}

static void one_sided(void)
{
    struct region r = map_region(&B, ALLOCATED, MOST);
    ucp_rkey_h key = key_of(A.ep, r.packed);
    fill(from[0].at, MOST, 77);
    ucs_status_t put = finished(ucp_put_nbx(A.ep, from[0].at, MOST, (uintptr_t)r.at, key, &plain));
    ucs_status_t flush = finished(ucp_ep_flush_nbx(A.ep, &plain));
    int there = same(r.at, MOST, 77);
    memset(from[0].at, 0, MOST);
    ucs_status_t get = finished(ucp_get_nbx(A.ep, from[0].at, MOST, (uintptr_t)r.at, key, &plain));
    printf("put %s, flush %s, %s; get %s, %s\n", name(put), name(flush), there ? "there" : "MISSING", name(get),
           same(from[0].at, MOST, 77) ? "the same" : "DIFFERENT");
    ucp_rkey_destroy(key);
    unmap_region(&B, &r);
}

int main(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
    pair_open(0);
    from[0] = map_region(&A, USER, MOST);
    from[1] = map_region(&A, ALLOCATED, MOST);
    for (int i = 0; i < MANY; i++) to[i] = malloc(MOST);
    tagged();
    many();
    truncated();
    active();
    one_sided();
    unmap_region(&A, &from[0]);
    unmap_region(&A, &from[1]);
    pair_close();
    return finish();
}
