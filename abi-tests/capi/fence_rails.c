/* Two processes on two hosts with two links, one of which may be slow: puts that both links share, a fence, and what
 * tells the other side that they are there: a put or an atomic operation on another word. Nobody may see that word
 * before the bytes. Nothing is waited for in between.
 *
 *   fence_rails lead|follow DIR MODE [nofence]     MODE: number of the error handling mode
 *
 * With `nofence` the follower counts how often the word is there first; that tells what the fence is good for. Prints
 * counts, then "end". */
#define _GNU_SOURCE
#include "two_hosts.h"

enum { ROUNDS = 24, BYTES = 640 << 10, WORDS = BYTES / 8, WINDOW = ROUNDS * (BYTES + 8) };

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { if (!leaving) DIE("endpoint error: %s", name(s)); }
static uint64_t word(int round, int i) { return (round + 1) * 0x9e3779b97f4a7c15ull + i; }

static void lead(int fence)
{
    uint64_t va;
    void *packed;
    ucp_rkey_h rkey = take_window(&va, &packed);
    static uint64_t bytes[ROUNDS][WORDS], flags[ROUNDS], one = 1;
    ucs_status_ptr_t reqs[ROUNDS];
    ucp_request_param_t none = {0}, add = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) bytes[round][i] = word(round, i);
        uint64_t flag_at = va + (uint64_t)ROUNDS * BYTES + 8 * round;
        reqs[round] = ucp_put_nbx(ep, bytes[round], BYTES, va + (uint64_t)round * BYTES, rkey, &none);
        if (UCS_PTR_IS_ERR(reqs[round])) DIE("a put gave %s", name(UCS_PTR_STATUS(reqs[round])));
        if (fence) MUST(ucp_worker_fence(A.w));
        flags[round] = 1;
        ucs_status_ptr_t r = round % 2 ? ucp_put_nbx(ep, &flags[round], 8, flag_at, rkey, &none)
                                       : ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &one, 1, flag_at, rkey, &add);
        if (UCS_PTR_IS_ERR(r)) DIE("the word's gave %s", name(UCS_PTR_STATUS(r)));
        if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
        /* In pairs: the first of the next may still be on its way when this one's fence comes. */
        if (round % 2) MUST(settled(reqs[round]));
        if (round % 2) MUST(settled(reqs[round - 1]));
    }
    MUST(settled(ucp_worker_flush_nbx(A.w, &none)));
    ucp_rkey_destroy(rkey);
}

static void follow(int fence)
{
    char *window = aligned_alloc(4096, (WINDOW + 4095) & ~4095);
    memset(window, 0, WINDOW);
    give_window(window, WINDOW);
    volatile uint64_t *flags = (uint64_t *)(window + (size_t)ROUNDS * BYTES);
    int seen = 0, early = 0, done[ROUNDS] = {0};
    for (double end = now() + 60; seen < ROUNDS;) {
        ucp_worker_progress(A.w);
        for (int round = 0; round < ROUNDS; round++) {
            if (done[round] || !flags[round]) continue;
            if (flags[round] != 1) DIE("word %d is %lu", round, flags[round]);
            const uint64_t *bytes = (uint64_t *)(window + (size_t)round * BYTES);
            int wrong = 0;
            for (int i = 0; i < WORDS; i++) wrong += bytes[i] != word(round, i);
            if (wrong && fence) DIE("word %d is there, and %d of %d before it are not", round, wrong, WORDS);
            early += wrong != 0;
            done[round] = 1;
            seen++;
        }
        if (now() > end) DIE("%d of %d have come", seen, ROUNDS);
    }
    printf("%d words seen, %d too early\n", seen, early);
}

int main(int argc, char **argv)
{
    HOLDS(argc >= 4);
    int leads = !strcmp(argv[1], "lead"), fence = argc < 5;
    dir = argv[2];
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    const ucp_address_t *theirs = find_each_other(leads);
    open_ep(theirs, atoi(argv[3]), on_error);
    leads ? lead(fence) : follow(fence);
    return part();
}
