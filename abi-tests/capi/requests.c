/* Requests: the user's area in them, callbacks that re-enter, flags of an operation, tests and
 * queries, release while in flight. */
#include "capi.h"

struct area { unsigned magic; int uses; long more[5]; };
static int inits, cleanups;
static void on_init(void *r) { ((struct area *)r)->magic = 0xfeedu; ((struct area *)r)->uses = 0; inits++; }
static void on_cleanup(void *r) { cleanups += ((struct area *)r)->magic == 0xfeedu; }

static int calls;
static ucs_status_t last;
static void *last_data, *last_request;
static void on_send(void *r, ucs_status_t s, void *d) { calls++; last = s; last_data = d; last_request = r; }
static void on_recv(void *r, ucs_status_t s, const ucp_tag_recv_info_t *i, void *d) { calls++; last = s; last_data = d; last_request = r; }
static void on_recv_nb(void *r, ucs_status_t s, ucp_tag_recv_info_t *i) { calls++; last = s; last_request = r; }

static unsigned char big_out[3 << 20], big_in[3 << 20];

static void user_area(void)
{
    char in = 0;
    int marked = 0, kept = 0, aligned = 0;
    for (int i = 0; i < 200; i++) {
        calls = 0;
        struct area *r = ucp_tag_recv_nb(B.w, &in, 1, ucp_dt_make_contig(1), 1, ALL, on_recv_nb);
        HOLDS(UCS_PTR_IS_PTR(r));
        marked += r->magic == 0xfeedu;
        aligned += (uintptr_t)r % sizeof(void *) == 0;
        r->uses++;
        memset(r->more, 0x11, sizeof r->more);
        HOLDS(finished(ucp_tag_send_nbx(A.ep, &in, 1, 1, &plain)) == UCS_OK);
        UNTIL(calls);
        HOLDS(last_request == (void *)r);
        kept += r->more[4] == 0x1111111111111111 && r->magic == 0xfeedu;
        i % 2 ? ucp_request_free(r) : ucp_request_release(r);
    }
    printf("user area: marked by init %d, kept %d, aligned %d; few objects for many requests: %s\n", marked, kept, aligned, inits < 5000 ? "yes" : "NO");
}

static void own_memory(void)
{
    ucp_context_attr_t a;
    memset(&a, 0, sizeof a);
    a.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE;
    MUST(ucp_context_query(A.ctx, &a));
    char *m[2];
    for (int i = 0; i < 2; i++) {
        HOLDS(posix_memalign((void **)&m[i], 64, a.request_size + 128) == 0);
        memset(m[i], 0x77, a.request_size + 128);
    }
    size_t up = (a.request_size + 63) & ~(size_t)63;
    for (int z = 0; z < 3; z++) {
        size_t n = z == 0 ? 8 : z == 1 ? 50000 : sizeof big_out;
        for (int expected = 0; expected < 2; expected++) {
            fill(big_out, n, z);
            memset(big_in, 0, n);
            ucp_request_param_t s = {.op_attr_mask = UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA}, r = s;
            s.request = m[0] + up;
            s.cb.send = on_send;
            s.user_data = &s;
            r.request = m[1] + up;
            r.cb.recv = on_recv;
            r.user_data = &r;
            calls = 0;
            ucs_status_ptr_t ps, pr;
            if (expected) pr = ucp_tag_recv_nbx(B.w, big_in, n, 4, ALL, &r);
            ps = ucp_tag_send_nbx(A.ep, big_out, n, 4, &s);
            if (!expected) {
                let_it_arrive();
                pr = ucp_tag_recv_nbx(B.w, big_in, n, 4, ALL, &r);
            }
            HOLDS(ps == NULL || ps == s.request);
            HOLDS(pr == NULL || pr == r.request);
            UNTIL(calls == (ps != NULL) + (pr != NULL));
            if (ps) HOLDS(ucp_request_check_status(ps) == UCS_OK);
            if (pr) HOLDS(ucp_request_check_status(pr) == UCS_OK);
            /* Past the pointer only the user's own area may be touched. */
            printf("own memory, %zu bytes, %s: data %s, untouched behind: %s\n", n, expected ? "expected" : "unexpected", same(big_in, n, z) ? "right" : "WRONG",
                   untouched(m[0] + up + sizeof(struct area), 64 - sizeof(struct area) % 64, 0x77) ? "yes" : "NO");
        }
    }
    free(m[0]);
    free(m[1]);
}

static void flags(void)
{
    char c = 7, in = 0;
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FIELD_USER_DATA}, q;
    p.user_data = &c;
    p.cb.send = on_send;
    calls = 0;
    ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, &c, 1, 2, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    UNTIL(ucp_request_check_status(r) != UCS_INPROGRESS);
    printf("NO_IMM_CMPL send: request, callback %d, user data %s\n", calls, last_data == &c ? "right" : "WRONG");
    ucp_request_free(r);
    let_it_arrive();
    p.cb.recv = on_recv;
    calls = 0;
    r = ucp_tag_recv_nbx(B.w, &in, 1, 2, ALL, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    UNTIL(ucp_request_check_status(r) != UCS_INPROGRESS);
    printf("NO_IMM_CMPL receive: request, callback %d, data %s\n", calls, in == 7 ? "right" : "WRONG");
    ucp_request_free(r);

    /* Connected by now: a short one can finish at once, a large one cannot. */
    q = plain;
    q.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    r = ucp_tag_send_nbx(A.ep, &c, 1, 2, &q);
    /* Whether it can is the library's business, but it must be one of both, and keep to it. */
    ucs_status_t at_once = UCS_PTR_STATUS(r);
    HOLDS(!UCS_PTR_IS_PTR(r) && (at_once == UCS_OK || at_once == UCS_ERR_NO_RESOURCE));
    let_it_arrive();
    in = 0;
    r = ucp_tag_recv_nbx(B.w, &in, 1, 2, ALL, &q);
    printf("FORCE_IMM_CMPL short send and receive: %s\n", !UCS_PTR_IS_PTR(r) && UCS_PTR_STATUS(r) == at_once && in == (at_once == UCS_OK ? 7 : 0) ? "agree" : "DIFFER");
    r = ucp_tag_recv_nbx(B.w, &in, 1, 2, ALL, &q);
    printf("FORCE_IMM_CMPL receive of nothing: %s\n", UCS_PTR_IS_PTR(r) ? "A REQUEST" : name(UCS_PTR_STATUS(r)));

    for (int k = 0; k < 2; k++) {
        static const uint32_t flag[2] = {UCP_OP_ATTR_FLAG_FAST_CMPL, UCP_OP_ATTR_FLAG_MULTI_SEND};
        for (size_t n = 1; n <= sizeof big_out; n *= 1000) {
            q.op_attr_mask = flag[k];
            fill(big_out, n, 3);
            memset(big_in, 0, n);
            ucs_status_ptr_t rr = ucp_tag_recv_nbx(B.w, big_in, n, 2, ALL, &plain);
            ucs_status_t s = finished(ucp_tag_send_nbx(A.ep, big_out, n, 2, &q)), t = finished(rr);
            printf("%s %zu bytes: send %s, receive %s, data %s\n", k ? "MULTI_SEND" : "FAST_CMPL", n, name(s), name(t), same(big_in, n, 3) ? "right" : "WRONG");
        }
    }
    still_works();
}

static void tests_and_queries(void)
{
    char in[100], text[128];
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, sizeof in, 6, ALL, &plain);
    ucp_request_attr_t a;
    memset(&a, 0, sizeof a);
    memset(text, 'x', sizeof text);
    a.field_mask = UCP_REQUEST_ATTR_FIELD_STATUS | UCP_REQUEST_ATTR_FIELD_MEM_TYPE | UCP_REQUEST_ATTR_FIELD_INFO_STRING | UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE;
    a.debug_string = text;
    a.debug_string_size = sizeof text;
    printf("query in flight: %s", name(ucp_request_query(r, &a)));
    printf(", status %s, memory type %d, text %s\n", name(a.status), a.mem_type, memchr(text, 0, sizeof text) && text[0] ? "given" : "NONE");
    memset(text, 'x', sizeof text);
    a.debug_string_size = 4;
    ucp_request_query(r, &a);
    printf("text of 4 bytes: %s\n", memchr(text, 0, 4) && text[4] == 'x' ? "within" : "OVERRUN");
    ucp_tag_recv_info_t info = {0};
    printf("test in flight: %s %s\n", name(ucp_tag_recv_request_test(r, &info)), name(ucp_request_test(r, &info)));
    HOLDS(!ucp_request_is_completed(r));
    HOLDS(finished(ucp_tag_send_nbx(A.ep, "hello", 5, 6, &plain)) == UCS_OK);
    UNTIL(ucp_request_is_completed(r));
    printf("test of complete: %s", name(ucp_tag_recv_request_test(r, &info)));
    printf(" length %zu tag %lu\n", info.length, (unsigned long)info.sender_tag);
    a.field_mask = UCP_REQUEST_ATTR_FIELD_STATUS;
    printf("query of complete: %s", name(ucp_request_query(r, &a)));
    printf(", status %s\n", name(a.status));
    ucp_request_free(r);
}

/* Requests that UCX gives in advance, for the calls that take one. Genuine UCX 1.22.0 gives none. */
static void given(void)
{
    char in[100] = "";
    void *r = ucp_request_alloc(B.w), *s = ucp_request_alloc(A.w);
    if (r) {
        HOLDS(s && r != s);
        ucp_tag_recv_info_t info = {0};
        HOLDS(ucp_tag_recv_nbr(B.w, in, sizeof in, ucp_dt_make_contig(1), 8, ALL, r) >= 0);
        HOLDS(ucp_tag_recv_request_test(r, &info) == UCS_INPROGRESS);
        ucs_status_t st = ucp_tag_send_nbr(A.ep, "hello", 5, ucp_dt_make_contig(1), 8, s);
        HOLDS(st == UCS_OK || st == UCS_INPROGRESS);
        if (st == UCS_INPROGRESS) UNTIL(ucp_request_check_status(s) != UCS_INPROGRESS);
        UNTIL(ucp_request_check_status(r) != UCS_INPROGRESS);
        HOLDS(ucp_tag_recv_request_test(r, &info) == UCS_OK && info.length == 5 && info.sender_tag == 8);
        HOLDS(!memcmp(in, "hello", 5));
        ucp_request_free(r);
        ucp_request_free(s);
    }
    printf("requests given in advance: none, or they serve\n");
}

/* A callback that sends the next message, receives one, and lets its own request go. */
static int hops;
static char hop_in[2][40000], hop_out[40000];
static void hop(void *r, ucs_status_t s, const ucp_tag_recv_info_t *i, void *d)
{
    int side = d != NULL;
    HOLDS(s == UCS_OK && i->length == sizeof hop_out);
    HOLDS(ucp_worker_progress(B.w) == 0); /* no progress within progress */
    ucp_request_free(r);
    if (++hops >= 50) return;
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    p.cb.recv = hop;
    p.user_data = side ? NULL : (void *)1;
    HOLDS(UCS_PTR_IS_PTR(ucp_tag_recv_nbx(B.w, hop_in[!side], sizeof hop_in[0], 90, ALL, &p)));
    ucs_status_ptr_t q = ucp_tag_send_nbx(A.ep, hop_out, sizeof hop_out, 90, &plain);
    HOLDS(!UCS_PTR_IS_ERR(q));
    if (UCS_PTR_IS_PTR(q)) ucp_request_free(q);
}

static void reentry(void)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    p.cb.recv = hop;
    p.user_data = NULL;
    hops = 0;
    HOLDS(UCS_PTR_IS_PTR(ucp_tag_recv_nbx(B.w, hop_in[0], sizeof hop_in[0], 90, ALL, &p)));
    ucs_status_ptr_t q = ucp_tag_send_nbx(A.ep, hop_out, sizeof hop_out, 90, &plain);
    UNTIL(hops >= 50);
    HOLDS(finished(q) == UCS_OK);
    let_it_arrive();
    printf("callbacks that post and free: %d\n", hops);
}

/* Freed while in flight: the operation still runs. free disables the callback, release does not. */
static void let_go(void)
{
    for (int how = 0; how < 2; how++) {
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA};
        p.cb.recv = on_recv;
        p.user_data = NULL;
        char in = 0, out = 5;
        calls = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, &in, 1, 3, ALL, &p);
        how ? ucp_request_release(r) : ucp_request_free(r);
        HOLDS(finished(ucp_tag_send_nbx(A.ep, &out, 1, 3, &plain)) == UCS_OK);
        let_it_arrive();
        printf("%s in flight: data %s, callback %d\n", how ? "release" : "free", in == 5 ? "right" : "WRONG", calls);
    }
}

int main(void)
{
    extra_params.field_mask = UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_REQUEST_INIT | UCP_PARAM_FIELD_REQUEST_CLEANUP;
    extra_params.request_size = sizeof(struct area);
    extra_params.request_init = on_init;
    extra_params.request_cleanup = on_cleanup;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        user_area();
        own_memory();
        flags();
        tests_and_queries();
        given();
        if (!loop) reentry();
        let_go();
        pair_close();
        printf("after cleanup every init has its cleanup: %s\n", inits == cleanups ? "yes" : "NO");
    }
    return finish();
}
