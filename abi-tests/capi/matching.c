/* Which message meets which receive: masks, order, probe and matched receive, cancel. */
#include "capi.h"

static int calls;
static ucs_status_t call_status;
static void on_recv(void *r, ucs_status_t s, const ucp_tag_recv_info_t *i, void *d) { calls++; call_status = s; }
static void on_recv_nb(void *r, ucs_status_t s, ucp_tag_recv_info_t *i) { calls++; call_status = s; }

/* What messages are sent from: large ones are read long after they are posted. */
static void *lent[1000];
static int n_lent;

static void give_back(void)
{
    while (n_lent) free(lent[--n_lent]);
}

static void put_in(ucp_tag_t tag, size_t n, unsigned seed)
{
    unsigned char *buf = malloc(n + 1);
    fill(buf, n, seed);
    ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, buf, n, tag, &plain);
    if (UCS_PTR_IS_ERR(r)) DIE("send gave %s", name(UCS_PTR_STATUS(r)));
    if (UCS_PTR_IS_PTR(r)) {
        ucp_request_free(r);
        HOLDS(n_lent < 1000);
        lent[n_lent++] = buf;
    } else {
        free(buf);
    }
}

struct got { size_t n; ucp_tag_t tag; int seed; };

static struct got take(ucp_tag_t tag, ucp_tag_t mask)
{
    static unsigned char in[2 << 20];
    ucp_tag_recv_info_t info = {0};
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_RECV_INFO};
    p.recv_info.tag_info = &info;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, sizeof in, tag, mask, &p);
    if (UCS_PTR_IS_PTR(r)) UNTIL(ucp_tag_recv_request_test(r, &info) != UCS_INPROGRESS);
    ucs_status_t s = finished(r);
    if (s != UCS_OK) DIE("receive gave %s", name(s));
    struct got g = {info.length, info.sender_tag, -1};
    for (int seed = 0; seed < 64 && g.seed < 0; seed++)
        if (same(in, info.length, seed)) g.seed = seed;
    return g;
}

static void masks(void)
{
    static const ucp_tag_t sent[] = {0x10, 0x11, 0x20, 0x21, 0x8000000000000010ull, 0, ALL};
    static const struct { ucp_tag_t tag, mask; } asked[] = {{0x21, ALL}, {0x01, 0x01}, {0x20, 0xf0}, {0x8000000000000000ull, 0x8000000000000000ull}, {0, 0}, {0, ALL}, {5, 0}};
    for (int z = 0; z < 3; z++) {
        size_t n = z == 0 ? 33 : z == 1 ? 30000 : 1 << 20;
        for (int i = 0; i < 7; i++) put_in(sent[i], n, i + 1);
        let_it_arrive();
        printf("%zu bytes, unexpected:", n);
        for (int i = 0; i < 7; i++) {
            struct got g = take(asked[i].tag, asked[i].mask);
            printf(" %lx=%d", (unsigned long)g.tag, g.seed);
            HOLDS(g.n == n);
        }
        printf("\n");
    }
}

/* Receives posted in this order; messages find the first that fits. */
static void posted(void)
{
    enum { N = 8 };
    static const struct { ucp_tag_t tag, mask; } asked[N] = {{1, ALL}, {0, 0}, {1, ALL}, {2, 0x2}, {0, 0}, {3, 3}, {2, ALL}, {0, 0}};
    static const ucp_tag_t sent[N] = {2, 1, 1, 3, 7, 0xb, 2, 9};
    for (int z = 0; z < 3; z++) {
        size_t n = z == 0 ? 8 : z == 1 ? 30000 : 1 << 20;
        unsigned char *in[N];
        ucs_status_ptr_t r[N];
        int where[N];
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
        for (int i = 0; i < N; i++) {
            in[i] = malloc(n);
            r[i] = ucp_tag_recv_nbx(B.w, in[i], n, asked[i].tag, asked[i].mask, &p);
            HOLDS(UCS_PTR_IS_PTR(r[i]));
        }
        for (int i = 0; i < N; i++) put_in(sent[i], n, i + 1);
        printf("%zu bytes, expected:", n);
        for (int i = 0; i < N; i++) {
            ucp_tag_recv_info_t info = {0};
            UNTIL(ucp_tag_recv_request_test(r[i], &info) != UCS_INPROGRESS);
            where[i] = -1;
            for (int seed = 1; seed <= N; seed++)
                if (same(in[i], n, seed)) where[i] = seed;
            printf(" %lx=%d", (unsigned long)info.sender_tag, where[i]);
            HOLDS(finished(r[i]) == UCS_OK);
            free(in[i]);
        }
        printf("\n");
    }
}

static void order(void)
{
    /* One tag, sizes that take different protocols: the order of sending holds. */
    static const size_t n[] = {8, 1 << 20, 0, 50000, 100, 600000, 9000, 1, 300000, 8200, 64, 1 << 19};
    enum { N = sizeof n / sizeof *n };
    for (int wild = 0; wild < 2; wild++) {
        for (int i = 0; i < N; i++) put_in(42, n[i], i);
        let_it_arrive();
        printf("order, mask %s:", wild ? "0" : "all");
        for (int i = 0; i < N; i++) {
            struct got g = take(42, wild ? 0 : ALL);
            printf(" %zu%s", g.n, g.n < 8 || g.seed == i ? "" : "!");
        }
        printf("\n");
    }
}

static void probes(void)
{
    static unsigned char in[2 << 20];
    ucp_tag_recv_info_t info;
    HOLDS(!ucp_tag_probe_nb(B.w, 0, 0, 0, &info));
    for (int z = 0; z < 4; z++) {
        size_t n = z == 0 ? 0 : z == 1 ? 16 : z == 2 ? 40000 : 1 << 20;
        ucp_tag_message_h m, m2;
        for (int i = 0; i < 3; i++) put_in(100 + i, n, 10 + i);
        UNTIL((m = ucp_tag_probe_nb(B.w, 102, ALL, 0, &info)) != NULL); /* stays */
        printf("probe %zu bytes: length %zu tag %lu,", n, info.length, (unsigned long)info.sender_tag);
        m = ucp_tag_probe_nb(B.w, 101, ALL, 1, &info);
        HOLDS(m && info.length == n);
        printf(" second by its tag again: %s,", ucp_tag_probe_nb(B.w, 101, ALL, 1, &info) ? "FOUND" : "gone");
        m2 = ucp_tag_probe_nb(B.w, 0, 0, 1, &info);
        HOLDS(m2);
        printf(" first of any: %lu,", (unsigned long)info.sender_tag);
        calls = 0;
        ucs_status_ptr_t r = ucp_tag_msg_recv_nb(B.w, in, n, ucp_dt_make_contig(1), m, on_recv_nb);
        HOLDS(UCS_PTR_IS_PTR(r));
        UNTIL(calls);
        printf(" nb %s %s,", name(call_status), same(in, n, 11) ? "right" : "WRONG");
        ucp_request_free(r);
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_RECV_INFO};
        p.recv_info.tag_info = &info;
        memset(&info, 0, sizeof info);
        r = ucp_tag_msg_recv_nbx(B.w, in, sizeof in, m2, &p);
        if (UCS_PTR_IS_PTR(r)) UNTIL(ucp_tag_recv_request_test(r, &info) != UCS_INPROGRESS);
        printf(" nbx %s length %zu,", name(finished(r)), info.length);
        printf(" rest %lu\n", (unsigned long)take(0, 0).tag);
    }
    /* A matched receive that is too short. */
    for (int z = 0; z < 3; z++) {
        size_t n = z == 0 ? 16 : z == 1 ? 40000 : 1 << 20;
        ucp_tag_message_h m;
        put_in(5, n, 1);
        UNTIL((m = ucp_tag_probe_nb(B.w, 5, ALL, 1, &info)) != NULL);
        memset(in, 0xee, n);
        printf("matched receive of %zu into %zu: ", n, n / 2);
        printf("%s", name(finished(ucp_tag_msg_recv_nbx(B.w, in, n / 2, m, &plain))));
        printf(" %s\n", untouched(in + n / 2, n - n / 2, 0xee) ? "clean" : "OVERRUN");
        still_works();
    }
    HOLDS(!ucp_tag_probe_nb(B.w, 0, 0, 0, &info));
}

static void cancels(void)
{
    static char in[64], in2[64];
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK};
    p.cb.recv = on_recv;
    for (int wild = 0; wild < 2; wild++) {
        calls = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, sizeof in, 9, wild ? 0 : ALL, &p);
        HOLDS(UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS);
        ucp_request_cancel(B.w, r);
        UNTIL(calls);
        printf("cancelled: callback %d times with %s, request %s\n", calls, name(call_status), name(ucp_request_check_status(r)));
        ucp_request_cancel(B.w, r); /* again: nothing happens */
        HOLDS(calls == 1);
        ucp_request_free(r);
    }
    /* The first of three is taken back: the others match in order. */
    ucs_status_ptr_t r[3];
    char a[3] = {0};
    for (int i = 0; i < 3; i++) r[i] = ucp_tag_recv_nbx(B.w, &a[i], 1, 9, ALL, &plain);
    ucp_request_cancel(B.w, r[0]);
    put_in(9, 1, 21);
    put_in(9, 1, 22);
    ucs_status_t s[3];
    for (int i = 0; i < 3; i++) s[i] = finished(r[i]);
    printf("first of three cancelled: %s %s %s, data %s\n", name(s[0]), name(s[1]), name(s[2]),
           a[0] == 0 && same(&a[1], 1, 21) && same(&a[2], 1, 22) ? "right" : "WRONG");
    /* One that is complete stays as it is. */
    calls = 0;
    p.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    ucs_status_ptr_t c = ucp_tag_recv_nbx(B.w, in2, sizeof in2, 9, ALL, &p);
    put_in(9, 10, 23);
    UNTIL(calls);
    ucp_request_cancel(B.w, c);
    printf("cancelled after completion: %s, %d callback\n", name(ucp_request_check_status(c)), calls);
    ucp_request_free(c);
    still_works();
}

/* Many posted and many unexpected of distinct tags, taken in reverse. */
static void deep(void)
{
    enum { N = 20000 };
    static int in[N];
    static ucs_status_ptr_t r[N];
    for (int i = 0; i < N; i++) r[i] = ucp_tag_recv_nbx(B.w, &in[i], sizeof in[i], i, ALL, &plain);
    for (int i = N - 1; i >= 0; i--) HOLDS(finished(ucp_tag_send_nbx(A.ep, &i, sizeof i, i, &plain)) == UCS_OK);
    for (int i = 0; i < N; i++) HOLDS(finished(r[i]) == UCS_OK && in[i] == i);
    for (int i = 0; i < N; i++) HOLDS(finished(ucp_tag_send_nbx(A.ep, &i, sizeof i, i, &plain)) == UCS_OK);
    let_it_arrive();
    for (int i = N - 1; i >= 0; i--) {
        in[i] = -1;
        HOLDS(finished(ucp_tag_recv_nbx(B.w, &in[i], sizeof in[i], i, ALL, &plain)) == UCS_OK && in[i] == i);
    }
    printf("deep queues in reverse\n");
}

int main(void)
{
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        masks();
        posted();
        order();
        probes();
        cancels();
        deep();
        pair_close();
        give_back();
    }
    return finish();
}
