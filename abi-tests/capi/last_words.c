/* A process that sends, closes by flush, destroys everything and exits, all at once, to one that posts its receives
 * late: everything arrives. 1,000 messages of 64 KiB; one of BYTES (mapped so that it takes little memory).
 * The child sends and prints nothing. usage: last_words [BYTES] */
#define _GNU_SOURCE
#include "pair.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { N = 1000, SMALL = 65536 };
static const size_t PERIOD = 16 << 20;

/* So many bytes, the same PERIOD of them over and over. */
static unsigned char *room(size_t n)
{
    int file = memfd_create("room", 0);
    size_t whole = (n + PERIOD - 1) / PERIOD * PERIOD;
    HOLDS(file >= 0 && ftruncate(file, PERIOD) == 0);
    unsigned char *at = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(at != MAP_FAILED);
    for (size_t i = 0; i < whole; i += PERIOD)
        HOLDS(mmap(at + i, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == at + i);
    close(file);
    return at;
}

static void sender(size_t big, ucp_address_t *theirs)
{
    static ucs_status_ptr_t s[N + 1];
    unsigned char *small = malloc(SMALL), *large = room(big);
    fill(small, SMALL, 3);
    fill(large, big < PERIOD ? big : PERIOD, 4);
    open_side(&A);
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = theirs};
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    for (int i = 0; i < N; i++) s[i] = ucp_tag_send_nbx(A.ep, small, SMALL, i, &plain);
    s[N] = ucp_tag_send_nbx(A.ep, large, big, N, &plain);
    ucs_status_ptr_t c = ucp_ep_close_nbx(A.ep, &plain);
    for (double end = now() + 120; UCS_PTR_IS_PTR(c) && ucp_request_check_status(c) == UCS_INPROGRESS; ucp_worker_progress(A.w))
        if (now() > end) DIE("the close does not end");
    MUST(finished(c));
    for (int i = 0; i <= N; i++) { /* what was sent before it has ended before it */
        ucs_status_t st = UCS_PTR_IS_PTR(s[i]) ? ucp_request_check_status(s[i]) : UCS_PTR_STATUS(s[i]);
        if (st != UCS_OK) DIE("closed, and send %d: %s", i, name(st));
        if (UCS_PTR_IS_PTR(s[i])) ucp_request_free(s[i]);
    }
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    _exit(0);
}

int main(int argc, char **argv)
{
    size_t big = argc > 1 ? strtoull(argv[1], NULL, 0) : 32 << 20, n;
    int fds[2], st;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    close(fds[pid == 0]);
    fd = fds[pid != 0];
    if (pid == 0) {
        take(&n, sizeof n);
        ucp_address_t *theirs = malloc(n);
        take(theirs, n);
        sender(big, theirs);
    }
    say_maps();
    open_side(&A);
    give(&A.len, sizeof A.len);
    give(A.addr, A.len);
    usleep(300000);
    unsigned char *small = malloc(SMALL), *large = room(big);
    for (int i = N; i >= 0; i--) { /* the last first */
        unsigned char *at = i == N ? large : small;
        size_t len = i == N ? big : SMALL;
        memset(small, 0, SMALL);
        ucs_status_t s = settled(ucp_tag_recv_nbx(A.w, at, len, i, ALL, &plain));
        if (s != UCS_OK) DIE("message %d: %s", i, name(s));
        if (!same(at, i == N ? (big < PERIOD ? big : PERIOD) : SMALL, i == N ? 4 : 3)) DIE("message %d is not what was sent", i);
    }
    double end = now() + 20;
    while (waitpid(pid, &st, WNOHANG) == 0) {
        ucp_worker_progress(A.w);
        if (now() > end) DIE("the sender does not end");
    }
    HOLDS(WIFEXITED(st) && WEXITSTATUS(st) == 0);
    printf("all arrived\n");
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    printf("end\n");
    return 0;
}
