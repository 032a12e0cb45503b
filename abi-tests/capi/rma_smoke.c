/* Put, get and atomic operations in every form: bytes and values are checked, statuses printed. */
#include "capi.h"
#include <pthread.h>

#define SPAN (3 << 20)

static ucp_mem_h mem;
static unsigned char *there; /* B's memory */
static unsigned char *own;
static ucp_rkey_h key;
static size_t end_of_it;
static unsigned char local[SPAN], back[SPAN];

static void offer(int allocate)
{
    ucp_mem_map_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    p.length = SPAN;
    if (allocate) {
        p.field_mask |= UCP_MEM_MAP_PARAM_FIELD_FLAGS;
        p.flags = UCP_MEM_MAP_ALLOCATE;
    } else {
        HOLDS(!posix_memalign((void **)&own, 4096, SPAN));
        p.field_mask |= UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
        p.address = own;
    }
    MUST(ucp_mem_map(B.ctx, &p, &mem));
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH};
    MUST(ucp_mem_query(mem, &a));
    there = a.address;
    end_of_it = a.length; /* allocations may be longer than was asked for */
    memset(there, 0, SPAN);
    void *packed;
    size_t n;
    MUST(ucp_rkey_pack(B.ctx, mem, &packed, &n));
    MUST(ucp_ep_rkey_unpack(A.ep, packed, &key));
    ucp_rkey_buffer_release(packed);
}

static void withdraw(void)
{
    ucp_rkey_destroy(key);
    MUST(ucp_mem_unmap(B.ctx, mem));
    free(own);
    own = NULL;
}

static uint64_t at(size_t i) { return (uintptr_t)there + i; }
static ucs_status_t flush(void) { return finished(ucp_ep_flush_nbx(A.ep, &plain)); }
static int called;
static void counted(void *r, ucs_status_t s) { (void)r; (void)s; called++; }
static void counted_nbx(void *r, ucs_status_t s, void *user) { (void)r; (void)s; (*(int *)user)++; }

static void sizes(void)
{
    static const size_t all[] = {1, 4, 7, 8, 100, 4096, 8191, 65536, 1 << 20, 2500001};
    for (int i = 0; i < 10; i++) {
        size_t n = all[i], o = i % 8;
        fill(local, n, i);
        HOLDS(finished(ucp_put_nbx(A.ep, local, n, at(o), key, &plain)) == UCS_OK);
        HOLDS(flush() == UCS_OK && same(there + o, n, i));
        memset(back, 0, n);
        HOLDS(finished(ucp_get_nbx(A.ep, back, n, at(o), key, &plain)) == UCS_OK && same(back, n, i));
        fill(local, n, i + 50);
        HOLDS(finished(ucp_put_nb(A.ep, local, n, at(o), key, counted)) == UCS_OK);
        HOLDS(finished(ucp_worker_flush_nbx(A.w, &plain)) == UCS_OK && same(there + o, n, i + 50));
        HOLDS(finished(ucp_get_nb(A.ep, back, n, at(o), key, counted)) == UCS_OK && same(back, n, i + 50));
        fill(local, n, i + 90);
        ucs_status_t s = ucp_put_nbi(A.ep, local, n, at(o), key);
        HOLDS((s == UCS_OK || s == UCS_INPROGRESS) && flush() == UCS_OK && same(there + o, n, i + 90));
        s = ucp_get_nbi(A.ep, back, n, at(o), key);
        HOLDS((s == UCS_OK || s == UCS_INPROGRESS) && flush() == UCS_OK && same(back, n, i + 90));
    }
    printf("put and get of all sizes in three forms\n");
}

static void options(void)
{
    int user = 0;
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    p.cb.send = counted_nbx;
    p.user_data = &user;
    fill(local, 4096, 9);
    ucs_status_ptr_t r = ucp_put_nbx(A.ep, local, 4096, at(0), key, &p);
    HOLDS(UCS_PTR_IS_PTR(r) && finished(r) == UCS_OK && user == 1);
    HOLDS(flush() == UCS_OK);
    r = ucp_get_nbx(A.ep, back, 4096, at(0), key, &p);
    HOLDS(UCS_PTR_IS_PTR(r) && finished(r) == UCS_OK && user == 2 && same(back, 4096, 9));
    printf("a request and a callback when they are asked for\n");

    printf("nothing to put: %s, to get: %s\n", name(UCS_PTR_STATUS(ucp_put_nbx(A.ep, local, 0, at(0), key, &plain))),
           name(UCS_PTR_STATUS(ucp_get_nbx(A.ep, back, 0, at(0), key, &plain))));
}

static const char *const ops[] = {"add", "swap", "cswap", "and", "or", "xor"};

static uint64_t expected(int op, uint64_t old, uint64_t v, uint64_t swap)
{
    switch (op) {
    case UCP_ATOMIC_OP_ADD: return old + v;
    case UCP_ATOMIC_OP_SWAP: return v;
    case UCP_ATOMIC_OP_CSWAP: return old == v ? swap : old;
    case UCP_ATOMIC_OP_AND: return old & v;
    case UCP_ATOMIC_OP_OR: return old | v;
    default: return old ^ v;
    }
}

static uint64_t look(size_t n)
{
    uint64_t v = 0;
    memcpy(&v, there + 64, n);
    return v;
}

static void atomics(size_t n)
{
    static const uint64_t start = 0xf0f0a5a51234abcdull, operands[] = {0x0ff0123456789abcull, 0xf0f0a5a51234abcdull};
    for (int op = 0; op < UCP_ATOMIC_OP_LAST; op++)
        for (int i = 0; i < 2; i++)
            for (int fetch = 0; fetch < 2; fetch++) {
                if (!fetch && (op == UCP_ATOMIC_OP_SWAP || op == UCP_ATOMIC_OP_CSWAP)) continue;
                uint64_t v = operands[i], result = 0x7777777766666666ull, swap = result;
                memcpy(there + 64, &start, 8);
                ucp_request_param_t p;
                memset(&p, 0, sizeof p);
                p.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | (fetch ? UCP_OP_ATTR_FIELD_REPLY_BUFFER : 0);
                p.datatype = ucp_dt_make_contig(n);
                p.reply_buffer = &result;
                ucs_status_t s = finished(ucp_atomic_op_nbx(A.ep, op, &v, 1, at(64), key, &p));
                if (s != UCS_OK) DIE("%s gave %s", ops[op], name(s));
                HOLDS(flush() == UCS_OK);
                uint64_t mask = n == 8 ? ~0ull : 0xffffffffull;
                uint64_t want = expected(op, start & mask, v & mask, swap & mask) & mask;
                if (look(n) != want) DIE("%s left %llx, not %llx", ops[op], (long long)look(n), (long long)want);
                if (fetch && (result & mask) != (start & mask)) DIE("%s returned %llx", ops[op], (long long)result);
                if (n == 4 && (memcmp(there + 68, (char *)&start + 4, 4) || (result ^ swap) >> 32))
                    DIE("%s touched what lies behind", ops[op]);
            }
    uint64_t result = 5;
    memset(there + 64, 0, 8);
    for (int i = 0; i < 100; i++) HOLDS(ucp_atomic_post(A.ep, UCP_ATOMIC_POST_OP_ADD, 3, n, at(64), key) == UCS_OK);
    HOLDS(flush() == UCS_OK && look(n) == 300);
    HOLDS(finished(ucp_atomic_fetch_nb(A.ep, UCP_ATOMIC_FETCH_OP_FADD, 1, &result, n, at(64), key, counted)) == UCS_OK);
    HOLDS(look(n) == 301);
    printf("atomic operations on %d bytes\n", (int)n);
}

static void refused(const char *what, ucs_status_ptr_t r, ucs_status_t want)
{
    ucs_status_t s = finished(r);
    if (s != want) DIE("%s: %s", what, name(s));
}

static void refusals(void)
{
    uint64_t v = 1, r = 2;
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    memset(there, 0, 128);
    refused("a put from nowhere", ucp_put_nbx(A.ep, NULL, 8, at(0), key, &plain), UCS_ERR_INVALID_PARAM);
    refused("a get to nowhere", ucp_get_nbx(A.ep, NULL, 8, at(0), key, &plain), UCS_ERR_INVALID_PARAM);
    refused("a put without a key", ucp_put_nbx(A.ep, &v, 8, at(0), NULL, &plain), UCS_ERR_INVALID_PARAM);
    refused("a get without a key", ucp_get_nbx(A.ep, &v, 8, at(0), NULL, &plain), UCS_ERR_INVALID_PARAM);
    refused("a put without an endpoint", ucp_put_nbx(NULL, &v, 8, at(0), key, &plain), UCS_ERR_INVALID_PARAM);
    refused("a put behind the end", ucp_put_nbx(A.ep, &v, 8, at(end_of_it - 7), key, &plain), UCS_ERR_INVALID_ADDR);
    refused("a get before the start", ucp_get_nbx(A.ep, &v, 8, at(-1), key, &plain), UCS_ERR_INVALID_ADDR);
    refused("no datatype", ucp_atomic_op_nbx(A.ep, 0, &v, 1, at(64), key, &p), UCS_ERR_INVALID_PARAM);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    p.reply_buffer = &r;
    p.datatype = ucp_dt_make_contig(2);
    refused("2 bytes", ucp_atomic_op_nbx(A.ep, 0, &v, 1, at(64), key, &p), UCS_ERR_INVALID_PARAM);
    p.datatype = ucp_dt_make_contig(8);
    refused("two elements", ucp_atomic_op_nbx(A.ep, 0, &v, 2, at(64), key, &p), UCS_ERR_INVALID_PARAM);
    refused("no operand", ucp_atomic_op_nbx(A.ep, 0, NULL, 1, at(64), key, &p), UCS_ERR_INVALID_PARAM);
    refused("unaligned", ucp_atomic_op_nbx(A.ep, 0, &v, 1, at(68), key, &p), UCS_ERR_INVALID_PARAM);
    refused("no operation", ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_LAST, &v, 1, at(64), key, &p), UCS_ERR_INVALID_PARAM);
    refused("an atomic operation behind the end", ucp_atomic_op_nbx(A.ep, 0, &v, 1, at(end_of_it), key, &p), UCS_ERR_INVALID_ADDR);
    HOLDS(flush() == UCS_OK && untouched(there, 128, 0) && r == 2);
    printf("refusals\n");
}

/* Puts and atomic operations across fences: the last one wins. Genuine UCX waits inside of a fence
 * for the target, which another thread progresses. */
static void fences(void)
{
    static uint64_t v[100];
    for (int i = 0; i < 100; i++) {
        v[i] = 1000 * i;
        (void)ucp_put_nbi(A.ep, &v[i], 8, at(64), key);
        MUST(ucp_worker_fence(A.w));
        MUST(ucp_atomic_post(A.ep, UCP_ATOMIC_POST_OP_ADD, 7, 8, at(64), key));
        MUST(ucp_worker_fence(A.w));
    }
    MUST(ucp_worker_flush(A.w));
    if (look(8) != 99007) DIE("fences left %llu", (unsigned long long)look(8));
    printf("fences keep the order\n");
}

static volatile int serving;
static void *serve(void *arg)
{
    (void)arg;
    while (serving) ucp_worker_progress(B.w);
    return NULL;
}

static void blocking(void)
{
    pthread_t t;
    serving = 1;
    if (A.w != B.w) HOLDS(!pthread_create(&t, NULL, serve, NULL));
    for (size_t n = 1; n <= 1 << 20; n <<= 5) {
        fill(local, n, 77);
        MUST(ucp_put(A.ep, local, n, at(0), key));
        MUST(ucp_ep_flush(A.ep));
        HOLDS(same(there, n, 77));
        memset(back, 0, n);
        MUST(ucp_get(A.ep, back, n, at(0), key));
        HOLDS(same(back, n, 77));
    }
    memset(there + 64, 0, 8);
    uint32_t r4;
    uint64_t r8;
    MUST(ucp_atomic_add32(A.ep, 5, at(64), key));
    MUST(ucp_worker_flush(A.w));
    MUST(ucp_atomic_fadd32(A.ep, 6, at(64), key, &r4));
    HOLDS(r4 == 5 && look(4) == 11);
    MUST(ucp_atomic_swap32(A.ep, 20, at(64), key, &r4));
    HOLDS(r4 == 11 && look(4) == 20);
    MUST(ucp_atomic_cswap32(A.ep, 20, 30, at(64), key, &r4));
    HOLDS(r4 == 20 && look(4) == 30);
    MUST(ucp_atomic_add64(A.ep, 1ull << 40, at(64), key));
    MUST(ucp_worker_flush(A.w));
    MUST(ucp_atomic_fadd64(A.ep, 6, at(64), key, &r8));
    HOLDS(r8 == (1ull << 40) + 30 && look(8) == r8 + 6);
    MUST(ucp_atomic_swap64(A.ep, 20, at(64), key, &r8));
    HOLDS(r8 == (1ull << 40) + 36 && look(8) == 20);
    MUST(ucp_atomic_cswap64(A.ep, 21, 30, at(64), key, &r8));
    HOLDS(r8 == 20 && look(8) == 20);
    fences();
    serving = 0;
    if (A.w != B.w) pthread_join(t, NULL);
    printf("blocking forms\n");
}

/* usage: rma_smoke [bad]: also what must be refused, of which genuine UCX checks nothing */
int main(int argc, char **argv)
{
    int bad = argc > 1 && !strcmp(argv[1], "bad");
    features |= UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64;
    for (int loop = 0; loop < 2; loop++)
        for (int allocate = 0; allocate < 2; allocate++) {
            printf("--- %s, %s memory\n", loop ? "loopback" : "two workers", allocate ? "allocated" : "the user's");
            pair_open(loop);
            offer(allocate);
            sizes();
            options();
            atomics(4);
            atomics(8);
            if (bad) refusals();
            blocking();
            still_works();
            withdraw();
            pair_close();
        }
    return finish();
}
