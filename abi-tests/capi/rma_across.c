/* Several processes: three origins put, get and add at a target that only looks at its memory, sometimes
 * without ever calling progress; every count exact, everything visible after a flush.
 * usage: rma_across */
#include "rma.h"
#include "pair.h"
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ORIGINS = 3, ADDS = 1000, BLOCK = 300000 };

/* The target progresses while it reads, if it may. */
static int may_progress;

struct note {
    uint64_t at, key_len, addr_len;
};

static void origin(int fd, int number)
{
    struct note n;
    open_side(&A);
    give_to(fd, &A.len, sizeof A.len);
    give_to(fd, A.addr, A.len);
    take_either(fd, &n, sizeof n, may_progress);
    void *addr = malloc(n.addr_len), *key = malloc(n.key_len);
    take_either(fd, addr, n.addr_len, may_progress);
    take_either(fd, key, n.key_len, may_progress);
    connect_to(&A, addr);
    ucp_rkey_h k = key_of(A.ep, key);
    uint64_t one = 1, big = 1ull << 32, before = 0;
    char go;
    take_either(fd, &go, 1, may_progress);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
    for (int i = 0; i < ADDS; i++) {
        uint64_t reply = 0;
        p.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | (i % 4 ? 0 : UCP_OP_ATTR_FIELD_REPLY_BUFFER);
        p.reply_buffer = &reply;
        ucs_status_ptr_t r = ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, i % 2 ? &one : &big, 1, n.at, k, &p);
        HOLDS(settled(r) == UCS_OK);
        if (i % 4 == 0) {
            HOLDS(i == 0 || reply > before);
            before = reply;
        }
        /* A counter by compare-and-swap, until it has grown. */
        if (i % 50 == 0) {
            uint64_t seen = 0, want;
            do {
                want = seen;
                reply = want + 1;
                p.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
                HOLDS(settled(ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_CSWAP, &want, 1, n.at + 8, k, &p)) == UCS_OK);
                seen = reply;
            } while (seen != want);
        }
    }
    char *block = malloc(BLOCK);
    fill(block, BLOCK, number);
    uint64_t mine = n.at + 4096 + (uint64_t)number * BLOCK;
    for (int i = 0; i < 10; i++) {
        ucs_status_ptr_t r = ucp_put_nbx(A.ep, block, BLOCK, mine, k, &plain);
        HOLDS(!UCS_PTR_IS_ERR(r));
        if (r) ucp_request_free(r);
    }
    HOLDS(settled(ucp_ep_flush_nbx(A.ep, &plain)) == UCS_OK);
    give_to(fd, "d", 1); /* what was put is there */
    take_either(fd, &go, 1, may_progress);
    memset(block, 0, BLOCK);
    uint64_t neighbour = n.at + 4096 + (uint64_t)((number + 1) % ORIGINS) * BLOCK;
    HOLDS(settled(ucp_get_nbx(A.ep, block, BLOCK, neighbour, k, &plain)) == UCS_OK);
    HOLDS(same(block, BLOCK, (number + 1) % ORIGINS));
    ucp_rkey_destroy(k);
    give_to(fd, "e", 1);
    take_either(fd, &go, 1, may_progress); /* the target progresses from here on */
    close_side(&A);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    free(block);
    free(addr);
    free(key);
    give_to(fd, "f", 1);
    _exit(0);
}

static void round_with(enum source how, int progress_too)
{
    int fds[ORIGINS][2];
    pid_t pids[ORIGINS];
    fflush(NULL);
    for (int i = 0; i < ORIGINS; i++) {
        HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]) == 0);
        if ((pids[i] = fork()) == 0) origin(fds[i][1], i);
    }
    open_side(&A);
    struct region r = map_region(&A, how, 4096 + ORIGINS * BLOCK);
    memset(r.at, 0, 4096 + ORIGINS * BLOCK);
    may_progress = progress_too;
    struct note n = {(uint64_t)r.at, r.packed_len, A.len};
    ucp_ep_h eps[ORIGINS];
    for (int i = 0; i < ORIGINS; i++) {
        size_t len;
        take_either(fds[i][0], &len, sizeof len, may_progress);
        void *addr = malloc(len);
        take_either(fds[i][0], addr, len, may_progress);
        connect_to(&A, addr);
        eps[i] = A.ep;
        free(addr);
        give_to(fds[i][0], &n, sizeof n);
        give_to(fds[i][0], A.addr, A.len);
        give_to(fds[i][0], r.packed, r.packed_len);
    }
    A.ep = NULL;
    for (int i = 0; i < ORIGINS; i++) give_to(fds[i][0], "g", 1);
    char c;
    int blocks = 0;
    for (int i = 0; i < ORIGINS; i++) {
        take_either(fds[i][0], &c, 1, may_progress);
        blocks += same(r.at + 4096 + (size_t)i * BLOCK, BLOCK, i);
    }
    uint64_t sum = *(uint64_t *)r.at, swaps = *(uint64_t *)(r.at + 8);
    printf("memory %s, the target %s: adds %s, compare-and-swaps %lu, blocks %d\n", sources[how], progress_too ? "progresses" : "never progresses",
           sum == (uint64_t)ORIGINS * (ADDS / 2) * ((1ull << 32) + 1) ? "counted exactly" : "MISCOUNTED", (long)swaps, blocks);
    for (int i = 0; i < ORIGINS; i++) give_to(fds[i][0], "h", 1);
    for (int i = 0; i < ORIGINS; i++) take_either(fds[i][0], &c, 1, may_progress);
    may_progress = 1;
    for (int i = 0; i < ORIGINS; i++) give_to(fds[i][0], "i", 1);
    for (int i = 0; i < ORIGINS; i++) take_either(fds[i][0], &c, 1, may_progress);
    for (int i = 0; i < ORIGINS; i++) {
        int st;
        HOLDS(waitpid(pids[i], &st, 0) == pids[i] && st == 0);
        finished(ucp_ep_close_nbx(eps[i], &plain)); /* the peer has gone already */
        close(fds[i][0]);
        close(fds[i][1]);
    }
    unmap_region(&A, &r);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    memset(&A, 0, sizeof A);
}

int main(void)
{
    features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64;
    int direct = strstr(getenv("UCX_TLS") ? getenv("UCX_TLS") : "", "sm") != NULL;
    round_with(USER, 1);
    round_with(ALLOCATED, 1);
    /* Shared memory that we allocated is written directly. */
    if (direct) round_with(ALLOCATED, 0);
    return finish();
}
