/* Bad use and dying peers around active messages, put, get and atomic operations: each case in its own
 * process, which must end by itself with the right status. Run on our libraries only: genuine UCX checks
 * little of this. Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "cases.h"
#include "am.h"
#include "rma.h"
#include "pair.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ID = 4, ALL_FEATURES = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 };
static unsigned char out[1 << 20], in[1 << 20];

/* ---- active messages ------------------------------------------------------------------------------ */

static void *kept[256];
static size_t kept_len[256];
static int n_kept;
static ucs_status_t keep(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (!(p->recv_attr & (AM_DATA | AM_RNDV))) return UCS_OK;
    kept_len[n_kept] = len;
    kept[n_kept++] = data;
    return UCS_INPROGRESS;
}

static void open_pair(void)
{
    features = ALL_FEATURES;
    pair_open(0);
    MUST(set_with(B.w, ID, keep, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
}

static ucs_status_t long_header(void)
{
    open_pair();
    ucp_worker_attr_t a = {.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER};
    MUST(ucp_worker_query(A.w, &a));
    for (uint32_t f = 0; f < 16; f++) {
        HOLDS(UCS_PTR_STATUS(am_send(A.ep, ID, out, a.max_am_header + 1, out, 8, f)) == UCS_ERR_INVALID_PARAM);
        HOLDS(UCS_PTR_STATUS(am_send(A.ep, ID, out, (size_t)-1, NULL, 0, f)) == UCS_ERR_INVALID_PARAM);
        HOLDS(UCS_PTR_STATUS(am_send(A.ep, ID, NULL, 8, NULL, 0, f)) == UCS_ERR_INVALID_PARAM);
    }
    ucs_status_ptr_t r = am_send(A.ep, ID, out, a.max_am_header, out, 100000, UCP_AM_SEND_FLAG_EAGER);
    HOLDS(finished(r) == UCS_OK);
    UNTIL(n_kept);
    return UCS_PTR_STATUS(am_send(A.ep, ID, out, a.max_am_header + 1, NULL, 0, 0));
}

static ucs_status_t large_id(void)
{
    open_pair();
    HOLDS(set_with(B.w, 65536, keep, NULL, 0) == UCS_ERR_INVALID_PARAM);
    HOLDS(set_with(B.w, ~0u, keep, NULL, 0) == UCS_ERR_INVALID_PARAM);
    still_works();
    return UCS_PTR_STATUS(am_send(A.ep, 65536, NULL, 0, "x", 1, 0));
}

static ucs_status_t no_feature(void)
{
    open_side(&A); /* tags only */
    HOLDS(ucp_worker_set_am_handler(A.w, 1, (ucp_am_callback_t)abort, NULL, 0) == UCS_ERR_INVALID_PARAM);
    return set_with(A.w, 1, keep, NULL, 0);
}

static ucs_status_t bad_alignment(void)
{
    features = ALL_FEATURES;
    open_side(&A);
    ucp_worker_h w;
    ucp_worker_params_t p = {.field_mask = UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT, .am_alignment = 24};
    HOLDS(ucp_worker_create(A.ctx, &p, &w) == UCS_ERR_INVALID_PARAM);
    p.am_alignment = 0;
    return ucp_worker_create(A.ctx, &p, &w);
}

/* Rendezvous into less room, of each kind of buffer. */
static ucs_status_t truncated(void)
{
    static const size_t sizes[] = {40, 5000, 300000, 1 << 20};
    open_pair();
    for (int k = 0; k < 4; k++)
        for (int into = 0; into < KINDS; into++)
            for (int less = 0; less < 2; less++) {
                size_t n = sizes[k], room = less ? n / 2 : n - 1;
                n_kept = 0;
                ucs_status_ptr_t s = am_send(A.ep, ID, NULL, 0, out, n, UCP_AM_SEND_FLAG_RNDV);
                UNTIL(n_kept == 1);
                HOLDS(kept_len[0] == n);
                memset(in, 0xee, sizeof in);
                starts = finishes = 0;
                struct buffer *b = view(into, in, room);
                ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = b->dt};
                HOLDS(finished(ucp_am_recv_data_nbx(B.w, kept[0], b->ptr, b->count, &q)) == UCS_ERR_MESSAGE_TRUNCATED);
                HOLDS(untouched(in + room, sizeof in - room, 0xee));
                HOLDS(finished(s) == UCS_OK && starts == finishes);
                drop(b);
                still_works();
            }
    return UCS_OK;
}

/* The data of a message by rendezvous are asked for twice, released while they come in, or are no such data. */
static ucs_status_t twice(void)
{
    open_pair();
    ucs_status_ptr_t s = am_send(A.ep, ID, NULL, 0, out, sizeof out, UCP_AM_SEND_FLAG_EAGER);
    UNTIL(n_kept == 1);
    HOLDS(finished(s) == UCS_OK);
    char odd[256];
    HOLDS(UCS_PTR_STATUS(ucp_am_recv_data_nbx(B.w, odd + 77, in, sizeof in, &plain)) == UCS_ERR_INVALID_PARAM);
    HOLDS(UCS_PTR_STATUS(ucp_am_recv_data_nbx(B.w, NULL, in, sizeof in, &plain)) == UCS_ERR_INVALID_PARAM);
    ucp_am_data_release(B.w, NULL);
    HOLDS(finished(ucp_am_recv_data_nbx(B.w, kept[0], in, sizeof in, &plain)) == UCS_OK);
    still_works();
    return UCS_OK;
}

/* Nothing at all: no header, no data, in each way. */
static ucs_status_t empty(void)
{
    open_pair();
    ucp_dt_iov_t none[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    for (uint32_t f = 0; f < 16; f++)
        for (int iov = 0; iov < 3; iov++)
            for (int header = 0; header < 2; header++) {
                n_kept = 0;
                ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_DATATYPE,
                                         .flags = f,
                                         .datatype = iov ? ucp_dt_make_iov() : ucp_dt_make_contig(1)};
                ucs_status_ptr_t s = ucp_am_send_nbx(A.ep, ID, header ? "h" : NULL, header, iov ? none : NULL, iov == 2 ? 3 : 0, &p);
                UNTIL(n_kept == 1);
                HOLDS(kept_len[0] == 0);
                HOLDS(finished(ucp_am_recv_data_nbx(B.w, kept[0], NULL, 0, &plain)) == UCS_OK);
                HOLDS(finished(s) == UCS_OK);
            }
    return UCS_OK;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

/* A key is destroyed while what uses it is under way; its memory is unmapped before something arrives. */
static ucs_status_t key_gone(void)
{
    open_pair();
    struct region r = map_region(&B, USER, sizeof out);
    for (int i = 0; i < 100; i++) {
        ucp_rkey_h k = key_of(A.ep, r.packed);
        size_t n = i % 2 ? 100 : sizeof out;
        fill(out, n, i);
        ucs_status_ptr_t p = ucp_put_nbx(A.ep, out, n, (uint64_t)r.at, k, &plain);
        ucp_rkey_destroy(k);
        HOLDS(finished(p) == UCS_OK && flushed(A.ep) == UCS_OK && same(r.at, n, i));
        k = key_of(A.ep, r.packed);
        p = ucp_get_nbx(A.ep, in, n, (uint64_t)r.at, k, &plain);
        ucp_rkey_destroy(k);
        HOLDS(finished(p) == UCS_OK && same(in, n, i));
        uint64_t one = 1, got = 0;
        ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER, .datatype = ucp_dt_make_contig(8), .reply_buffer = &got};
        uint64_t was = *(uint64_t *)r.at;
        k = key_of(A.ep, r.packed);
        p = ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, (uint64_t)r.at, k, &q);
        ucp_rkey_destroy(k);
        HOLDS(finished(p) == UCS_OK && got == was && flushed(A.ep) == UCS_OK && *(uint64_t *)r.at == was + 1);
    }
    return UCS_OK;
}

/* A get by a key whose memory the peer has unmapped: an error, and the peer lives. */
static ucs_status_t late_use(void)
{
    open_pair();
    struct region r = map_region(&B, USER, 1 << 16);
    ucp_rkey_h k = key_of(A.ep, r.packed);
    uint64_t at = (uint64_t)r.at;
    char *mine = r.mine;
    r.mine = NULL;
    unmap_region(&B, &r);
    free(mine);
    ucs_status_t s = finished(ucp_get_nbx(A.ep, in, 8, at + 70000, k, &plain)); /* outside of the region besides */
    HOLDS(s < 0);
    ucs_status_ptr_t p = ucp_put_nbx(A.ep, out, 8, at + 70000, k, &plain);
    s = finished(p);
    flushed(A.ep);
    ucp_rkey_destroy(k);
    still_works();
    return UCS_OK;
}

/* Addresses outside of the region are refused, also where they wrap around. */
static ucs_status_t outside(void)
{
    open_pair();
    struct region r = map_region(&B, ALLOCATED, 4096);
    ucp_rkey_h k = key_of(A.ep, r.packed);
    uint64_t at = (uint64_t)r.at, bad[] = {at - 1, at - 4096, at + (1 << 20), 0, 8, ~0ull, ~0ull - 7, at + (1ull << 40)};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t v = 1;
        HOLDS(finished(ucp_get_nbx(A.ep, in, 64, bad[i], k, &plain)) < 0);
        ucs_status_t s = finished(ucp_put_nbx(A.ep, out, 64, bad[i], k, &plain)), t = flushed(A.ep);
        if (s == UCS_OK && t == UCS_OK) printf("  a put to %lx was taken\n", (long)bad[i]);
        ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER, .datatype = ucp_dt_make_contig(8), .reply_buffer = in};
        HOLDS(finished(ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &v, 1, bad[i] & ~7ull, k, &q)) < 0 || (bad[i] & ~7ull) == at);
    }
    HOLDS(finished(ucp_get_nbx(A.ep, in, 64, at, k, &plain)) == UCS_OK);
    ucp_rkey_destroy(k);
    still_works();
    return UCS_OK;
}

static ucs_status_t empty_region(void)
{
    open_pair();
    struct region r = {0};
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_ADDRESS};
    MUST(ucp_mem_map(B.ctx, &p, &r.memh));
    MUST(ucp_rkey_pack(B.ctx, r.memh, &r.packed, &r.packed_len));
    ucp_rkey_h k = key_of(A.ep, r.packed);
    HOLDS(finished(ucp_put_nbx(A.ep, NULL, 0, 0, k, &plain)) == UCS_OK);
    HOLDS(finished(ucp_get_nbx(A.ep, NULL, 0, 0, k, &plain)) == UCS_OK);
    ucp_rkey_destroy(k);
    unmap_region(&B, &r);
    return UCS_OK;
}

/* ---- a peer that dies -------------------------------------------------------------------------------- */

static int handled;
static ucs_status_t why;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    handled++;
    why = s;
}


/* A child that sends active messages by rendezvous, offers memory, progresses, and is killed. */
static pid_t victim;
static struct region theirs;
static ucp_rkey_h key;
static void with_victim(void)
{
    int fds[2];
    features = ALL_FEATURES;
    setenv("UCX_KEEPALIVE_INTERVAL", "300ms", 1); /* where nothing is sent, and nothing breaks */
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    victim = fork();
    fd = fds[victim == 0];
    close(fds[victim != 0]);
    open_side(&A);
    ucp_address_t *addr = swap_addresses();
    connect_to(&A, addr);
    if (victim == 0) {
        alarm(60);
        theirs = map_region(&A, USER, sizeof out);
        give(&theirs, sizeof theirs);
        give(theirs.packed, theirs.packed_len);
        for (int i = 0; i < 50; i++) am_send(A.ep, ID, NULL, 0, out, 100000, UCP_AM_SEND_FLAG_RNDV);
        for (;;) ucp_worker_progress(A.w);
    }
    MUST(set_with(A.w, ID, keep, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
    take(&theirs, sizeof theirs);
    theirs.packed = malloc(theirs.packed_len);
    take(theirs.packed, theirs.packed_len);
    key = key_of(A.ep, theirs.packed);
    UNTIL(n_kept >= 10);
}

static int posted, ended, at_once;
static void on_end(void *r, ucs_status_t s, void *user)
{
    ended++;
    ucp_request_free(r);
}
static void on_end_recv(void *r, ucs_status_t s, size_t n, void *user)
{
    ended++;
    ucp_request_free(r);
}

/* One of each operation; none may crash, each request ends once. */
static void each_operation(int i)
{
    static uint64_t v = 1, reply;
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK};
    p.cb.send = on_end;
    ucp_request_param_t q = p, r = p;
    q.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    q.datatype = ucp_dt_make_contig(8);
    q.reply_buffer = &reply;
    r.cb.recv_am = on_end_recv;
    size_t n = i % 2 ? 40 : sizeof out;
    ucs_status_ptr_t all[] = {
        ucp_put_nbx(A.ep, out, n, (uint64_t)theirs.at, key, &p),
        ucp_get_nbx(A.ep, in, n, (uint64_t)theirs.at, key, &p),
        ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &v, 1, (uint64_t)theirs.at, key, &q),
        ucp_tag_send_nbx(A.ep, out, n, 1, &p),
        ucp_tag_send_sync_nbx(A.ep, out, n, 1, &p),
        ucp_am_send_nbx(A.ep, ID, "h", 1, out, n, &p),
        n_kept ? ucp_am_recv_data_nbx(A.w, kept[--n_kept], in, sizeof in, &r) : NULL,
        ucp_ep_flush_nbx(A.ep, &p),
        ucp_worker_flush_nbx(A.w, &p),
    };
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        if (UCS_PTR_IS_PTR(all[k])) posted++;
        else at_once++;
    ucp_rkey_h other = NULL;
    if (ucp_ep_rkey_unpack(A.ep, theirs.packed, &other) == UCS_OK) ucp_rkey_destroy(other);
}

static ucs_status_t peer_killed(void)
{
    with_victim();
    for (int i = 0; i < 6; i++) each_operation(i);
    HOLDS(finished(ucp_get_nbx(A.ep, in, 100, (uint64_t)theirs.at, key, &plain)) == UCS_OK);
    kill(victim, SIGKILL);
    for (int i = 0; i < 10; i++) each_operation(i); /* it may not be noticed yet */
    waitpid(victim, NULL, 0);
    double end = now() + 30;
    for (int i = 0; !handled && now() < end; i++) {
        if (i % 1000 == 0 && i < 20000) each_operation(i / 1000);
        progress();
    }
    if (!handled) DIE("the death was not noticed");
    HOLDS(handled == 1 && why < 0);
    for (int i = 0; i < 10; i++) each_operation(i);
    HOLDS(UCS_PTR_IS_ERR(ucp_put_nbx(A.ep, out, 8, (uint64_t)theirs.at, key, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_am_send_nbx(A.ep, ID, NULL, 0, out, 8, &plain)));
    while (n_kept) ucp_am_data_release(A.w, kept[--n_kept]);
    end = now() + 30;
    while (ended < posted && now() < end) progress();
    if (ended != posted) DIE("%d requests, %d ended", posted, ended);
    ucp_rkey_destroy(key);
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    finished(ucp_ep_close_nbx(A.ep, &force));
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    return UCS_OK;
}

/* Closed by force with a hundred operations in flight, at different moments: each ends once, and nothing
 * is written into a buffer after its request has ended. */
static ucs_status_t forced(void)
{
    for (int moment = 0; moment < 12; moment++) {
        n_kept = posted = ended = at_once = handled = 0;
        with_victim();
        for (int i = 0; i < 12; i++) each_operation(i);
        for (int i = 0; i < moment * moment * 5; i++) progress();
        ucp_rkey_destroy(key);
        ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
        ucs_status_t s = finished(ucp_ep_close_nbx(A.ep, &force));
        HOLDS(s == UCS_OK);
        double end = now() + 20;
        while (ended < posted && now() < end) progress();
        if (ended != posted) DIE("moment %d: %d requests, %d ended", moment, posted, ended);
        memset(in, 0x77, sizeof in);
        for (int i = 0; i < 2000; i++) progress();
        HOLDS(untouched(in, sizeof in, 0x77));
        while (n_kept) ucp_am_data_release(A.w, kept[--n_kept]);
        kill(victim, SIGKILL);
        waitpid(victim, NULL, 0);
        close(fd);
        ucp_worker_release_address(A.w, A.addr);
        ucp_worker_destroy(A.w);
        ucp_cleanup(A.ctx);
        memset(&A, 0, sizeof A);
    }
    return UCS_OK;
}

#define CASE(f, want) check(#f, f, want)

int main(void)
{
    CASE(long_header, UCS_ERR_INVALID_PARAM);
    CASE(large_id, UCS_ERR_INVALID_PARAM);
    CASE(no_feature, UCS_ERR_INVALID_PARAM);
    CASE(bad_alignment, UCS_ERR_INVALID_PARAM);
    CASE(truncated, UCS_OK);
    CASE(twice, UCS_OK);
    CASE(empty, UCS_OK);
    CASE(key_gone, UCS_OK);
    CASE(late_use, UCS_OK);
    CASE(outside, UCS_OK);
    CASE(empty_region, UCS_OK);
    CASE(peer_killed, UCS_OK);
    CASE(forced, UCS_OK);
    say_maps();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
