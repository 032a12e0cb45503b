/* Atomic operations in each form, of 32 and 64 bits, with and without fetch, mixed by two endpoints. */
#include "rma.h"

static const struct {
    const char *name;
    ucp_atomic_op_t op;
    ucp_atomic_post_op_t post;
    ucp_atomic_fetch_op_t fetch;
} ops[] = {
    {"add", UCP_ATOMIC_OP_ADD, UCP_ATOMIC_POST_OP_ADD, UCP_ATOMIC_FETCH_OP_FADD},
    {"and", UCP_ATOMIC_OP_AND, UCP_ATOMIC_POST_OP_AND, UCP_ATOMIC_FETCH_OP_FAND},
    {"or", UCP_ATOMIC_OP_OR, UCP_ATOMIC_POST_OP_OR, UCP_ATOMIC_FETCH_OP_FOR},
    {"xor", UCP_ATOMIC_OP_XOR, UCP_ATOMIC_POST_OP_XOR, UCP_ATOMIC_FETCH_OP_FXOR},
    {"swap", UCP_ATOMIC_OP_SWAP, UCP_ATOMIC_POST_OP_LAST, UCP_ATOMIC_FETCH_OP_SWAP},
    {"cswap", UCP_ATOMIC_OP_CSWAP, UCP_ATOMIC_POST_OP_LAST, UCP_ATOMIC_FETCH_OP_CSWAP},
};
enum { OPS = sizeof ops / sizeof *ops };

static uint64_t apply(int i, uint64_t was, uint64_t v, uint64_t swap)
{
    switch (ops[i].op) {
    case UCP_ATOMIC_OP_ADD: return was + v;
    case UCP_ATOMIC_OP_AND: return was & v;
    case UCP_ATOMIC_OP_OR: return was | v;
    case UCP_ATOMIC_OP_XOR: return was ^ v;
    case UCP_ATOMIC_OP_SWAP: return v;
    default: return was == v ? swap : was;
    }
}

static int called;
static void on_done(void *r, ucs_status_t s, void *user)
{
    HOLDS(s == UCS_OK && user == &called);
    called++;
}
static void on_old(void *r, ucs_status_t s)
{
    HOLDS(s == UCS_OK);
    called++;
}

static void wait_for(ucs_status_ptr_t r)
{
    if (UCS_PTR_IS_ERR(r)) DIE("gave %s", name(UCS_PTR_STATUS(r)));
    if (!r) return;
    UNTIL(called);
    HOLDS(ucp_request_check_status(r) == UCS_OK);
    ucp_request_free(r);
}

static uint64_t cut(uint64_t v, size_t size) { return size == 4 ? (uint32_t)v : v; }

static void each(struct region *to, ucp_rkey_h k, size_t size)
{
    char *place = to->at + 64;
    int posts = 0, fetches = 0, old_posts = 0, old_fetches = 0;
    for (int i = 0; i < OPS; i++)
        for (int round = 0; round < 40; round++) {
            uint64_t was = cut(0x1122334455667788ull * (round + 1), size), v = cut(0x0f0f123487654321ull + round, size), swap = cut(~was, size);
            if (ops[i].op == UCP_ATOMIC_OP_CSWAP && round % 2) v = was; /* this one succeeds */
            uint64_t then = cut(apply(i, was, v, swap), size), reply, now;
            ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                     .datatype = ucp_dt_make_contig(size),
                                     .user_data = &called};
            p.cb.send = on_done;
            for (int form = 0; form < 4; form++) {
                /* post, fetch; old post, old fetch */
                int fetch = form & 1, old = form & 2;
                if (!fetch && (ops[i].op == UCP_ATOMIC_OP_SWAP || ops[i].op == UCP_ATOMIC_OP_CSWAP)) continue;
                memset(place - 8, 0x77, 24);
                memcpy(place, &was, size);
                called = 0;
                reply = ops[i].op == UCP_ATOMIC_OP_CSWAP ? swap : 0x3333333333333333ull; /* the reply buffer holds the new value */
                if (!old) {
                    if (fetch) {
                        p.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
                        p.reply_buffer = &reply;
                    } else {
                        p.op_attr_mask &= ~UCP_OP_ATTR_FIELD_REPLY_BUFFER;
                    }
                    wait_for(ucp_atomic_op_nbx(A.ep, ops[i].op, &v, 1, (uint64_t)place, k, &p));
                    fetch ? fetches++ : posts++;
                } else if (fetch) {
                    wait_for(ucp_atomic_fetch_nb(A.ep, ops[i].fetch, v, &reply, size, (uint64_t)place, k, on_old));
                    old_fetches++;
                } else {
                    ucs_status_t s = ucp_atomic_post(A.ep, ops[i].post, v, size, (uint64_t)place, k);
                    if (s < 0) DIE("post gave %s", name(s));
                    old_posts++;
                }
                HOLDS(flushed(A.ep) == UCS_OK);
                now = 0;
                memcpy(&now, place, size);
                if (now != then) DIE("%s of %zu bytes, form %d: %lx became %lx instead of %lx", ops[i].name, size, form, (long)was, (long)now, (long)then);
                if (fetch && cut(reply, size) != was) DIE("%s of %zu bytes, form %d: fetched %lx instead of %lx", ops[i].name, size, form, (long)reply, (long)was);
                HOLDS(untouched(place - 8, 8, 0x77) && untouched(place + size, 16 - size, 0x77));
            }
        }
    printf("%zu bits: %d posts, %d fetches, by the older calls %d and %d\n", size * 8, posts, fetches, old_posts, old_fetches);
}

static void blocking(struct region *to, ucp_rkey_h k)
{
    uint32_t *p4 = (uint32_t *)to->at, r4;
    uint64_t *p8 = (uint64_t *)(to->at + 8), r8, at4 = (uint64_t)p4, at8 = (uint64_t)p8;
    *p4 = 5;
    *p8 = 50;
    MUST(ucp_atomic_add32(A.ep, 3, at4, k));
    MUST(ucp_atomic_add64(A.ep, 30, at8, k));
    MUST(ucp_atomic_fadd32(A.ep, 2, at4, k, &r4));
    MUST(ucp_atomic_fadd64(A.ep, 20, at8, k, &r8));
    printf("blocking add, fadd: %u %lu, ", r4, (long)r8);
    MUST(ucp_atomic_swap32(A.ep, 77, at4, k, &r4));
    MUST(ucp_atomic_swap64(A.ep, 770, at8, k, &r8));
    printf("swap: %u %lu, ", r4, (long)r8);
    MUST(ucp_atomic_cswap32(A.ep, 77, 1, at4, k, &r4));
    MUST(ucp_atomic_cswap64(A.ep, 771, 2, at8, k, &r8));
    printf("cswap: %u %lu, ", r4, (long)r8);
    printf("left: %u %lu\n", *p4, (long)*p8);
}

/* Counted exactly, with many in flight. */
static void counted(struct region *to, ucp_rkey_h k, size_t size)
{
    enum { N = 3000 };
    static uint64_t one = 1, replies[N];
    ucs_status_ptr_t rs[N];
    uint64_t now = 0;
    memset(to->at, 0, 8);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(size)};
    for (int i = 0; i < N; i++) {
        if (i % 3 == 0) {
            p.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
            p.reply_buffer = &replies[i];
        } else {
            p.op_attr_mask &= ~UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        }
        rs[i] = ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, (uint64_t)to->at, k, &p);
        HOLDS(!UCS_PTR_IS_ERR(rs[i]));
    }
    for (int i = 0; i < N; i++) HOLDS(finished(rs[i]) == UCS_OK);
    HOLDS(flushed(A.ep) == UCS_OK);
    memcpy(&now, to->at, size);
    int ordered = 1;
    for (int i = 3; i < N; i += 3) ordered &= cut(replies[i], size) > cut(replies[i - 3], size);
    printf("%d adds of %zu bits: %lu, replies %s\n", N, size * 8, (long)now, ordered ? "grow" : "DON'T GROW");
}

int main(void)
{
    features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64;
    for (int loop = 0; loop < 2; loop++)
        for (int how = 0; how < SOURCES; how++) {
            pair_open(loop);
            struct region r = map_region(&B, how, 4096);
            ucp_rkey_h k = key_of(A.ep, r.packed);
            printf("%s, memory %s\n", loop ? "loopback" : "two workers", sources[how]);
            each(&r, k, 4);
            each(&r, k, 8);
            if (loop) blocking(&r, k);
            counted(&r, k, 4);
            counted(&r, k, 8);
            ucp_rkey_destroy(k);
            unmap_region(&B, &r);
            pair_close();
        }
    return finish();
}
