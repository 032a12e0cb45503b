/* What a flush promises about plain memory of another process (malloc, registered): after it the target sees
 * the data, also when it never calls progress, where bytes are written directly (shared memory); where
 * messages carry them, the target's progress suffices. A fence keeps an earlier put before a later one.
 * usage: rma_visible */
#include "rma.h"
#include "pair.h"
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { MAX = 4 << 20 };
/* All long enough to be written by one process into another. */
static const size_t lengths[] = {200000, 262144, 1000003, MAX};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

struct note {
    uint64_t at, key_len, addr_len;
};

static void origin(int fd, int fences)
{
    struct note n;
    open_side(&A);
    take_either(fd, &n, sizeof n, 0);
    void *addr = malloc(n.addr_len), *key = malloc(n.key_len);
    take_either(fd, addr, n.addr_len, 0);
    take_either(fd, key, n.key_len, 0);
    connect_to(&A, addr);
    ucp_rkey_h k = key_of(A.ep, key);
    char *old = malloc(MAX), *mine = malloc(MAX), c;
    for (int i = 0; i < LENGTHS; i++) {
        fill(old, lengths[i], 100 + i);
        fill(mine, lengths[i], i);
        ucs_status_ptr_t first = NULL;
        if (fences) {
            first = ucp_put_nbx(A.ep, old, lengths[i], n.at, k, &plain);
            MUST(ucp_worker_fence(A.w));
        }
        ucs_status_ptr_t second = ucp_put_nbx(A.ep, mine, lengths[i], n.at, k, &plain);
        ucs_status_ptr_t flush = i % 2 ? ucp_ep_flush_nbx(A.ep, &plain) : ucp_worker_flush_nbx(A.w, &plain);
        HOLDS(settled(flush) == UCS_OK);
        HOLDS(settled(first) == UCS_OK && settled(second) == UCS_OK);
        give_to(fd, "f", 1);
        take_either(fd, &c, 1, 0);
    }
    ucp_rkey_destroy(k);
    give_to(fd, "e", 1);
    take_either(fd, &c, 1, 1);
    HOLDS(settled(ucp_ep_close_nbx(A.ep, &plain)) == UCS_OK);
    give_to(fd, "e", 1);
    _exit(0);
}

static void round_with(int progress_too, int fences)
{
    int fds[2];
    fflush(NULL);
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    if (pid == 0) origin(fds[1], fences);
    open_side(&A);
    struct region r = map_region(&A, USER, MAX);
    struct note n = {(uint64_t)r.at, r.packed_len, A.len};
    give_to(fds[0], &n, sizeof n);
    give_to(fds[0], A.addr, A.len);
    give_to(fds[0], r.packed, r.packed_len);
    char c;
    int seen = 0;
    for (int i = 0; i < LENGTHS; i++) {
        take_either(fds[0], &c, 1, progress_too);
        seen += same(r.at, lengths[i], i);
        memset(r.at, 0x5a, lengths[i]);
        give_to(fds[0], "g", 1);
    }
    printf("the target %s, %s: %d of %d seen after the flush%s\n", progress_too ? "progresses" : "never progresses",
           fences ? "put, fence, put" : "put", seen, LENGTHS, seen == LENGTHS ? "" : ", WRONG");
    take_either(fds[0], &c, 1, 0);
    give_to(fds[0], "h", 1);
    take_either(fds[0], &c, 1, 1);
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid && st == 0);
    close(fds[0]);
    close(fds[1]);
    unmap_region(&A, &r);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    memset(&A, 0, sizeof A);
}

int main(void)
{
    features = UCP_FEATURE_RMA;
    int direct = strstr(getenv("UCX_TLS") ? getenv("UCX_TLS") : "", "sm") != NULL;
    for (int fences = 0; fences < 2; fences++) {
        round_with(1, fences);
        if (direct) round_with(0, fences);
    }
    return finish();
}
