/* Every kind of buffer to every kind, expected and unexpected, over sizes of each protocol; many IOV
 * entries; contiguous elements larger than a byte; zero bytes everywhere. */
#include "datatypes.h"

static const size_t sizes[] = {0, 1, 8, 100, 3000, 8200, 40000, 600000, 3u << 20};

static void all_kinds(int loop)
{
    for (int ks = 0; ks < KINDS; ks++)
        for (int kr = 0; kr < KINDS; kr++) {
            int n_ok = 0;
            starts = finishes = bad_calls = 0;
            for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
                for (int how = 0; how < 4; how++) {
                    size_t n = sizes[z], room = n + (how & 2 ? 100 : 0);
                    unsigned char *out = malloc(n + 1), *in = malloc(room + 1);
                    struct buffer *s = view(ks, out, n), *r = view(kr, in, room);
                    ucp_tag_recv_info_t info = {0}, at_end = {0};
                    ucs_status_ptr_t rs, rr;
                    fill(out, n, z);
                    memset(in, 0xee, room + 1);
                    if (how & 1) {
                        rr = recv_view(B.w, r, 77 + z, ALL, &info);
                        rs = send_view(A.ep, s, 77 + z, how & 2);
                    } else {
                        rs = send_view(A.ep, s, 77 + z, how & 2);
                        let_it_arrive();
                        rr = recv_view(B.w, r, 77 + z, ALL, &info);
                    }
                    if (UCS_PTR_IS_PTR(rr)) {
                        UNTIL(ucp_tag_recv_request_test(rr, &at_end) != UCS_INPROGRESS);
                    } else {
                        at_end = info;
                    }
                    ucs_status_t sr = finished(rr), ss = finished(rs);
                    if (sr != UCS_OK || ss != UCS_OK) DIE("%s to %s, %zu bytes: send %s, receive %s", kinds[ks], kinds[kr], n, name(ss), name(sr));
                    if (at_end.length != n || at_end.sender_tag != 77 + z) DIE("%s to %s: %zu bytes, length says %zu", kinds[ks], kinds[kr], n, at_end.length);
                    if (!same(in, n, z) || !untouched(in + n, room + 1 - n, 0xee)) DIE("%s to %s, %zu bytes: wrong data", kinds[ks], kinds[kr], n);
                    n_ok++;
                    drop(s);
                    drop(r);
                    free(out);
                    free(in);
                }
            let_it_arrive();
            printf("%s %s to %s: %d ok, starts and finishes %s, bad calls %d\n", loop ? "loopback" : "two workers", kinds[ks], kinds[kr], n_ok,
                   starts == finishes ? "equal" : "DIFFER", bad_calls);
        }
}

/* Thousands of entries of a byte, some of them the same byte again. */
static void long_iov(size_t entries, size_t each)
{
    size_t n = entries * each;
    unsigned char *out = malloc(n), *in = malloc(n);
    ucp_dt_iov_t *iov = calloc(entries, sizeof *iov);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_iov()};
    fill(out, n, 4);
    for (int sender = 0; sender < 2; sender++) {
        for (size_t i = 0; i < entries; i++) {
            iov[i].buffer = (sender ? out : in) + i * each;
            iov[i].length = each;
        }
        memset(in, 0, n);
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, sender ? (void *)in : iov, sender ? n : entries, 3, ALL, sender ? &plain : &p);
        ucs_status_t ss = finished(ucp_tag_send_nbx(A.ep, sender ? (void *)iov : out, sender ? entries : n, 3, sender ? &p : &plain));
        ucs_status_t sr = finished(r);
        printf("%zu entries of %zu bytes, %s: send %s, receive %s, data %s\n", entries, each, sender ? "sent" : "received", name(ss), name(sr),
               same(in, n, 4) ? "right" : "WRONG");
    }
    for (size_t i = 0; i < entries; i++) iov[i].buffer = out; /* the same bytes again and again */
    memset(in, 0, n);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, n, 3, ALL, &plain);
    ucs_status_t ss = finished(ucp_tag_send_nbx(A.ep, iov, entries, 3, &p)), sr = finished(r);
    int right = 1;
    for (size_t i = 0; i < entries; i++) right &= !memcmp(in + i * each, out, each);
    printf("%zu times the same %zu bytes: send %s, receive %s, data %s\n", entries, each, name(ss), name(sr), right ? "right" : "WRONG");
    free(out);
    free(in);
    free(iov);
}

static void elements(void)
{
    long out[500], in[500];
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(sizeof(long))};
    for (int i = 0; i < 500; i++) out[i] = i * 77777;
    for (int n = 0; n <= 500; n += 125) {
        memset(in, 0, sizeof in);
        ucp_tag_recv_info_t info = {0};
        ucp_request_param_t q = p;
        q.op_attr_mask |= UCP_OP_ATTR_FIELD_RECV_INFO;
        q.recv_info.tag_info = &info;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, 500, 1, ALL, &q);
        ucs_status_t ss = finished(ucp_tag_send_nbx(A.ep, out, n, 1, &p));
        if (UCS_PTR_IS_PTR(r)) UNTIL(ucp_tag_recv_request_test(r, &info) != UCS_INPROGRESS);
        ucs_status_t sr = finished(r);
        printf("%d elements of 8 bytes: send %s, receive %s, length %zu, data %s\n", n, name(ss), name(sr), info.length, memcmp(in, out, n * 8) ? "WRONG" : "right");
    }
}

/* Nothing, in every way to say it: NULL, count 0, elements of size 0, IOV of {NULL, 0} or of no entry. */
static void nothing(void)
{
    static char byte;
    ucp_dt_iov_t empty[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}}, mixed[3] = {{NULL, 0}, {&byte, 1}, {NULL, 0}};
    struct { const char *what; void *buf; size_t count; ucp_datatype_t dt; } ways[] = {
        {"NULL", NULL, 0, ucp_dt_make_contig(1)},
        {"count 0", &byte, 0, ucp_dt_make_contig(8)},
        {"elements of size 0", &byte, 5, ucp_dt_make_contig(0)},
        {"IOV of {NULL, 0}", empty, 3, ucp_dt_make_iov()},
        {"IOV of one {NULL, 0}", empty, 1, ucp_dt_make_iov()},
        {"IOV of no entry", empty, 0, ucp_dt_make_iov()},
    };
    enum { WAYS = sizeof ways / sizeof *ways };
    for (int s = 0; s < WAYS; s++)
        for (int r = 0; r < WAYS; r++)
            for (int sync = 0; sync < 2; sync++)
                for (int expected = 0; expected < 2; expected++) {
                    ucp_request_param_t ps = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ways[s].dt}, pr = ps;
                    ucs_status_ptr_t rr = NULL, rs;
                    pr.datatype = ways[r].dt;
                    if (expected) rr = ucp_tag_recv_nbx(B.w, ways[r].buf, ways[r].count, 2, ALL, &pr);
                    rs = sync ? ucp_tag_send_sync_nbx(A.ep, ways[s].buf, ways[s].count, 2, &ps) : ucp_tag_send_nbx(A.ep, ways[s].buf, ways[s].count, 2, &ps);
                    if (!expected) {
                        let_it_arrive();
                        rr = ucp_tag_recv_nbx(B.w, ways[r].buf, ways[r].count, 2, ALL, &pr);
                    }
                    ucs_status_t ss = finished(rs), sr = finished(rr);
                    if (ss != UCS_OK || sr != UCS_OK) printf("%s to %s, sync %d: send %s, receive %s\n", ways[s].what, ways[r].what, sync, name(ss), name(sr));
                }
    printf("%d ways to send nothing, to as many to receive it\n", WAYS);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_iov()};
    char in = 0;
    byte = 9;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, &in, 1, 2, ALL, &plain);
    ucs_status_t ss = finished(ucp_tag_send_nbx(A.ep, mixed, 3, 2, &p)), sr = finished(r);
    printf("one byte between two empty entries: send %s, receive %s, data %s\n", name(ss), name(sr), in == 9 ? "right" : "WRONG");
}

int main(void)
{
    for (int loop = 0; loop < 2; loop++) {
        pair_open(loop);
        all_kinds(loop);
        long_iov(3000, 1);
        long_iov(2000, 700);
        elements();
        nothing();
        still_works();
        pair_close();
    }
    ucp_dt_destroy(generic_type());
    return finish();
}
