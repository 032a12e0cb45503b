/* Put and get in each form, of many sizes, from and to each kind of memory, between two workers and on a
 * loopback endpoint. usage: rma sizes | typed | order [largest size] */
#include "rma.h"

static const size_t sizes[] = {0, 1, 7, 8, 9, 100, 1000, 4096, 8191, 8193, 20000, 65536, 262144, 1u << 20, 3145729, 8u << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };
enum form { BLOCKING, NBI, NB, NBX, NBX_REQUEST, FORMS };
static const char *const forms[] = {"blocking", "nbi", "nb", "nbx", "nbx, never at once"};
static size_t max;
static int called;

static void on_done(void *r, ucs_status_t s)
{
    HOLDS(s == UCS_OK);
    called++;
}
static void on_done_x(void *r, ucs_status_t s, void *user)
{
    HOLDS(s == UCS_OK && user == &called);
    called++;
}

/* One operation, complete here when it returns; `flush` when its form says nothing about that. */
static void op(enum form f, int get, void *mine, size_t count, ucp_datatype_t dt, uint64_t remote, ucp_rkey_h k)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE, .datatype = dt};
    p.cb.send = on_done_x;
    p.user_data = &called;
    if (f == NBX_REQUEST) p.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    called = 0;
    ucs_status_ptr_t r = NULL;
    ucs_status_t s = UCS_OK;
    switch (f) {
    case BLOCKING: s = get ? ucp_get(A.ep, mine, count, remote, k) : ucp_put(A.ep, mine, count, remote, k); break;
    case NBI: s = get ? ucp_get_nbi(A.ep, mine, count, remote, k) : ucp_put_nbi(A.ep, mine, count, remote, k); break;
    case NB: r = get ? ucp_get_nb(A.ep, mine, count, remote, k, on_done) : ucp_put_nb(A.ep, mine, count, remote, k, on_done); break;
    default: r = get ? ucp_get_nbx(A.ep, mine, count, remote, k, &p) : ucp_put_nbx(A.ep, mine, count, remote, k, &p);
    }
    if (s < 0) DIE("%s %s gave %s", forms[f], get ? "get" : "put", name(s));
    if (UCS_PTR_IS_ERR(r)) DIE("%s %s gave %s", forms[f], get ? "get" : "put", name(UCS_PTR_STATUS(r)));
    if (f == NBX_REQUEST && count) HOLDS(r); /* of nothing, genuine UCX gives none */
    if (r) {
        UNTIL(called);
        HOLDS(called == 1 && ucp_request_check_status(r) == UCS_OK);
        ucp_request_free(r);
    } else {
        HOLDS(!called);
    }
}

/* A blocking call progresses its own worker only; the target's may have to be progressed. */
static int only_local(void) { return A.w != B.w; }

static void all_sizes(struct region *to, ucp_rkey_h k, enum form f)
{
    char *mine = malloc(max + 128);
    int n_ok = 0;
    for (int i = 0; i < SIZES && sizes[i] <= max; i++) {
        for (int odd = 0; odd < 2; odd++) {
            size_t n = sizes[i], at = odd ? 13 : 64;
            memset(to->at, 0x5a, n + 128);
            fill(mine, n, i);
            op(f, 0, mine, n, ucp_dt_make_contig(1), (uint64_t)(to->at + at), k);
            HOLDS(flushed(A.ep) == UCS_OK);
            if (!same(to->at + at, n, i) || !untouched(to->at, at, 0x5a) || !untouched(to->at + at + n, 128 - at, 0x5a)) DIE("put of %zu bytes: wrong data", n);
            memset(mine, 0xee, n + 128);
            op(f, 1, mine + 32, n, ucp_dt_make_contig(1), (uint64_t)(to->at + at), k);
            if (f == NBI) HOLDS(flushed(A.ep) == UCS_OK);
            if (!same(mine + 32, n, i) || !untouched(mine, 32, 0xee) || !untouched(mine + 32 + n, 96, 0xee)) DIE("get of %zu bytes: wrong data", n);
            n_ok++;
        }
    }
    printf("%s: %d puts and gets\n", forms[f], n_ok);
    free(mine);
}

/* Vectors or generic datatypes on this side. */
static void typed(struct region *to, ucp_rkey_h k, enum kind kind)
{
    char *mine = malloc(max + 128);
    int n_ok = 0;
    for (int i = 0; i < SIZES && sizes[i] <= max; i++) {
        size_t n = sizes[i];
        fill(mine, n, i);
        memset(to->at, 0x5a, n + 128);
        struct buffer *b = view(kind, mine, n);
        op(NBX, 0, b->ptr, b->count, b->dt, (uint64_t)to->at, k);
        HOLDS(flushed(A.ep) == UCS_OK);
        if (!same(to->at, n, i) || !untouched(to->at + n, 64, 0x5a)) DIE("put of %s of %zu bytes: wrong data", kinds[kind], n);
        memset(mine, 0xee, n + 64);
        op(NBX, 1, b->ptr, b->count, b->dt, (uint64_t)to->at, k);
        if (!same(mine, n, i) || !untouched(mine + n, 64, 0xee)) DIE("get of %s of %zu bytes: wrong data", kinds[kind], n);
        drop(b);
        n_ok++;
    }
    printf("%s: %d puts and gets\n", kinds[kind], n_ok);
    HOLDS(starts == finishes && !bad_calls);
    free(mine);
}

/* Many at once, in order of posting after a fence; the worker's flush ends all. */
static void many(struct region *to, ucp_rkey_h k)
{
    enum { N = 2000 };
    static long from[N], back[N];
    memset(to->at, 0, N * 8);
    for (int i = 0; i < N; i++) {
        from[i] = i * 3 + 1;
        ucs_status_t s = ucp_put_nbi(A.ep, &from[i], 8, (uint64_t)(to->at + 8 * i), k);
        HOLDS(s == UCS_OK || s == UCS_INPROGRESS);
    }
    MUST(ucp_worker_fence(A.w));
    for (int i = 0; i < N; i++) {
        ucs_status_t s = ucp_get_nbi(A.ep, &back[i], 8, (uint64_t)(to->at + 8 * i), k);
        HOLDS(s == UCS_OK || s == UCS_INPROGRESS);
    }
    HOLDS(finished(ucp_worker_flush_nbx(A.w, &plain)) == UCS_OK);
    int right = 1;
    for (int i = 0; i < N; i++) right &= back[i] == from[i] && ((long *)to->at)[i] == from[i];
    printf("%d puts, a fence, %d gets, one flush: %s\n", N, N, right ? "right" : "WRONG");
    /* The last of two puts to one place stands, with a fence between. */
    int last = 0;
    for (int i = 0; i < 200; i++) {
        long a = i, b = -i;
        ucp_put_nbi(A.ep, &a, 8, (uint64_t)to->at, k);
        MUST(ucp_worker_fence(A.w));
        ucp_put_nbi(A.ep, &b, 8, (uint64_t)to->at, k);
        HOLDS(flushed(A.ep) == UCS_OK);
        last += *(long *)to->at == -i;
    }
    printf("put, fence, put: the last stands in %d of 200%s\n", last, last == 200 ? "" : ", WRONG");
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "sizes";
    max = argc > 2 ? strtoul(argv[2], NULL, 0) : 8u << 20;
    features = UCP_FEATURE_RMA;
    for (int loop = 0; loop < 2; loop++) {
        for (int how = 0; how < SOURCES; how++) {
            pair_open(loop);
            struct region r = map_region(&B, how, max + 256);
            ucp_rkey_h k = key_of(A.ep, r.packed);
            printf("%s, memory %s\n", loop ? "loopback" : "two workers", sources[how]);
            for (int f = 0; f < FORMS && !strcmp(part, "sizes"); f++) {
                if (f == BLOCKING && only_local()) continue; /* nobody would progress the target */
                all_sizes(&r, k, f);
            }
            for (int kind = IOV; kind < KINDS && !strcmp(part, "typed"); kind++) typed(&r, k, kind);
            if (!strcmp(part, "order")) many(&r, k);
            ucp_rkey_destroy(k);
            unmap_region(&B, &r);
            pair_close();
        }
    }
    return finish();
}
