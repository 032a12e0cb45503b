/* Endpoints without error handling, to a worker that was destroyed or whose process is dead: what is posted,
 * before or after, ends. With success or an error, since the peer may have got it, but it ends; and so do flush
 * and close. Each case in its own process. Run on our libraries only: genuine UCX waits without an end.
 * Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "am.h"
#include "rma.h"
#include "pair.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ID = 4, BIG = 300000,
       FEATURES = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 | UCP_FEATURE_STREAM };
enum operation { SHORT, EAGER, SYNC, RNDV, ACTIVE, PUT, BIG_PUT, GET, ATOMIC, FULL, LISTEN, OPERATIONS };
static const char *const operations[] = {"short sends", "sends", "synchronous sends", "rendezvous", "rendezvous of active messages", "puts",
                                         "large puts", "gets", "atomics", "sends until the lane is full",
                                         "stream receives and nothing else"};
static unsigned char out[BIG], in[BIG];
static struct region theirs;
static ucp_rkey_h key;

static ucs_status_ptr_t post(enum operation o, int i)
{
    static uint64_t one = 1, reply;
    static size_t got[6];
    uint64_t at = (uint64_t)theirs.at;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
                             .datatype = ucp_dt_make_contig(8), .reply_buffer = &reply};
    switch (o) {
    case SHORT: return ucp_tag_send_nbx(A.ep, out, 8, 2, &plain);
    case LISTEN: return ucp_stream_recv_nbx(A.ep, in + 100 * i, 100, &got[i], &plain);
    case FULL:
    case EAGER: return ucp_tag_send_nbx(A.ep, out, 5000, 2, &plain);
    case SYNC: return ucp_tag_send_sync_nbx(A.ep, out, 100, 2, &plain);
    case RNDV: return ucp_tag_send_nbx(A.ep, out, BIG, 2, &plain);
    case ACTIVE: return am_send(A.ep, ID, NULL, 0, out, BIG, UCP_AM_SEND_FLAG_RNDV);
    case PUT: return ucp_put_nbx(A.ep, out, 40, at, key, &plain);
    case BIG_PUT: return ucp_put_nbx(A.ep, out, BIG, at, key, &plain);
    case GET: return ucp_get_nbx(A.ep, in, i % 2 ? 8 : BIG, at, key, &plain);
    default: return ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, at, key, &q);
    }
}

/* It ends, whatever with. */
static void ends(const char *what, ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return;
    double end = now() + 20;
    while (ucp_request_check_status(r) == UCS_INPROGRESS) {
        ucp_worker_progress(A.w);
        if (now() > end) DIE("%s goes on for ever", what);
    }
    ucp_request_free(r);
}

static void serve(struct side *s, int fd)
{
    theirs = map_region(s, USER, BIG);
    give_to(fd, &theirs, sizeof theirs);
    give_to(fd, theirs.packed, theirs.packed_len);
}
static void learn(int fd)
{
    take_from(fd, &theirs, sizeof theirs);
    theirs.packed = malloc(theirs.packed_len);
    take_from(fd, theirs.packed, theirs.packed_len);
    key = key_of(A.ep, theirs.packed);
}

static void destroy_b(void)
{
    if (B.ep) {
        ucs_status_ptr_t r = ucp_ep_close_nbx(B.ep, &plain);
        while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) ucp_worker_progress(B.w);
        if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    }
    unmap_region(&B, &theirs);
    ucp_worker_release_address(B.w, B.addr);
    ucp_worker_destroy(B.w);
    ucp_cleanup(B.ctx);
}

/* `late`: posted when the peer is gone. `killed`: its process dies; else its worker is destroyed. */
static void the_case(enum operation o, int late, int killed)
{
    ucs_status_ptr_t r[2000] = {NULL};
    int fds[2], n = o == FULL ? 2000 : 6;
    struct region kept;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = killed ? fork() : -1;
    if (pid == 0) {
        open_side(&B);
        give_to(fds[1], &B.len, sizeof B.len);
        give_to(fds[1], B.addr, B.len);
        serve(&B, fds[1]);
        for (int i = 0;; i++)
            if (late == 0) pause();
            else ucp_worker_progress(B.w);
    }
    open_side(&A);
    if (killed) {
        size_t len;
        take_from(fds[0], &len, sizeof len);
        ucp_address_t *addr = malloc(len);
        take_from(fds[0], addr, len);
        connect_to(&A, addr);
        learn(fds[0]);
    } else {
        open_side(&B);
        connect_to(&A, B.addr);
        if (late) connect_to(&B, A.addr);
        serve(&B, fds[1]);
        kept = theirs;
        learn(fds[0]);
        struct region mine = theirs;
        theirs = kept;
        kept = mine;
        if (late) still_works();
    }
    if (!late) for (int i = 0; i < n; i++) r[i] = post(o, i);
    if (killed) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    } else {
        destroy_b();
        theirs = kept;
        B.w = NULL;
    }
    if (late) for (int i = 0; i < n; i++) r[i] = post(o, i);
    ucs_status_ptr_t f = ucp_ep_flush_nbx(A.ep, &plain), g = ucp_worker_flush_nbx(A.w, &plain);
    for (int i = 0; i < n; i++) ends("an operation", r[i]);
    ends("the flush of the endpoint", f);
    ends("the flush of the worker", g);
    ends("a flush after it", ucp_worker_flush_nbx(A.w, &plain));
    ucp_rkey_destroy(key);
    ends("the close", ucp_ep_close_nbx(A.ep, &plain));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
}

int main(void)
{
    int wrong = 0;
    features = FEATURES;
    for (int o = 0; o < OPERATIONS; o++)
        for (int how = 0; how < 4; how++) {
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) {
                alarm(90);
                the_case(o, how & 1, how >> 1);
                fflush(NULL);
                _exit(0);
            }
            int st;
            HOLDS(waitpid(pid, &st, 0) == pid);
            int right = WIFEXITED(st) && WEXITSTATUS(st) == 0;
            wrong += !right;
            printf("%s %s, %s, %s", right ? "ok" : "WRONG", operations[o], how & 1 ? "afterwards" : "before", how >> 1 ? "killed" : "destroyed");
            if (WIFSIGNALED(st)) printf(": ended by signal %d", WTERMSIG(st));
            printf("\n");
        }
    say_maps();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
