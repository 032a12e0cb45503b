/* A peer killed with SIGKILL, at many moments: just after it has given its address, wired up and idle, and
 * in the middle of each kind of operation. The survivor's error handler is called exactly once, each request
 * ends exactly once, what is posted afterwards is refused, a fresh peer can be talked to, and nothing stays
 * behind: no file, no segment, no descriptor. Each case in its own process.
 *
 *   killed [ROUNDS]     each case so many times, at other moments (1)
 *
 * Run on our libraries only. Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "inside.h"
#include "am.h"
#include "rma.h"
#include "pair.h"
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ID = 4, BIG = 300000, DEPTH = 16, KEPT = 4096,
       FEATURES = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 | UCP_FEATURE_STREAM };

/* What goes on when the peer dies. To: from the victim to us. */
enum moment { INIT, WIRED, SHORT_TO, EAGER_TO, RNDV_TO, AM_TO, SHORT_FROM, EAGER_FROM, STUCK, RNDV_FROM, UNMATCHED, SYNC, AM_FROM,
              PUT, GET, ATOMIC, SHARED_PUT, SHARED_GET, MAPPING, MOMENTS };
static const char *const moments[] = {"just after init", "wired up and idle", "short messages to us", "fragments to us", "rendezvous to us",
    "active messages to us", "short messages from us", "fragments from us", "messages that it does not read", "rendezvous from us",
    "rendezvous without a receive", "synchronous sends without a receive", "active messages from us", "put", "get", "atomics",
    "put to its shared memory", "get from its shared memory", "its allocation of memory"};

static unsigned char out[BIG], in[DEPTH][BIG];

/* ---- the other processes -------------------------------------------------------------------------- */

struct other {
    pid_t pid;
    int line;
};
static int line; /* of a child, to us */

static ucp_address_t *addresses_swapped(int fd)
{
    size_t n;
    open_side(&A);
    give_to(fd, &A.len, sizeof A.len);
    give_to(fd, A.addr, A.len);
    take_from(fd, &n, sizeof n);
    ucp_address_t *theirs = malloc(n);
    take_from(fd, theirs, n);
    return theirs;
}

static ucs_status_t drop_am(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p) { return UCS_OK; }

static void victim(enum moment m)
{
    ucp_address_t *theirs = addresses_swapped(line);
    if (m == INIT) pause();
    connect_to(&A, theirs);
    MUST(set_with(A.w, ID, drop_am, NULL, 0));
    struct region r = map_region(&A, m == SHARED_PUT || m == SHARED_GET ? ALLOCATED : USER, BIG);
    give_to(line, &r, sizeof r);
    give_to(line, r.packed, r.packed_len);
    B = A;
    /* A word from each side, so that all is wired up. */
    long word = 7;
    ucs_status_ptr_t q = ucp_tag_recv_nbx(A.w, &word, sizeof word, 99, ALL, &plain);
    MUST(finished(ucp_tag_send_nbx(A.ep, "w", 1, 99, &plain)));
    MUST(finished(q));
    static ucs_status_ptr_t slot[DEPTH];
    unsigned long tag = m == SHORT_TO || m == EAGER_TO || m == RNDV_TO ? 1 : 2;
    for (unsigned long i = 0;; i++) {
        ucs_status_ptr_t *s = &slot[i % DEPTH];
        if (m == STUCK) pause();
        if (m == MAPPING) {
            struct region more = map_region(&A, ALLOCATED, 1 << 20);
            unmap_region(&A, &more);
        }
        ucp_worker_progress(A.w);
        if (is_pending(*s)) continue;
        if (UCS_PTR_IS_PTR(*s)) ucp_request_free(*s);
        *s = NULL;
        if (tag == 1) *s = ucp_tag_send_nbx(A.ep, out, m == SHORT_TO ? 8 + i % 90 : BIG, 1, &plain);
        if (m == AM_TO) *s = am_send(A.ep, ID, NULL, 0, out, i % 2 ? BIG : 5000, 0);
        if (m == SHORT_FROM || m == EAGER_FROM || m == RNDV_FROM) *s = ucp_tag_recv_nbx(A.w, in[i % DEPTH], BIG, 2, ALL, &plain);
    }
}

/* Waits until it is needed, answers one message, and goes. */
static void fresh(void)
{
    char c;
    if (read(line, &c, 1) != 1) _exit(0);
    ucp_address_t *theirs = addresses_swapped(line);
    connect_to(&A, theirs);
    B = A;
    long word = 0;
    MUST(finished(ucp_tag_recv_nbx(A.w, &word, sizeof word, 5, ALL, &plain)));
    word++;
    MUST(finished(ucp_tag_send_nbx(A.ep, &word, sizeof word, 6, &plain)));
    MUST(finished(ucp_ep_close_nbx(A.ep, &plain)));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    _exit(0);
}

static struct other start(enum moment m, int is_fresh)
{
    int fds[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    struct other o = {fork(), fds[0]};
    if (o.pid == 0) {
        alarm(60);
        close(fds[0]);
        line = fds[1];
        if (is_fresh) fresh();
        victim(m);
    }
    close(fds[1]);
    return o;
}

/* ---- what is counted ------------------------------------------------------------------------------ */

static int handled, posted, ended, in_error, close_inside;
/* The endpoint to the peer that comes after the dead one: who is slow to close it may be told that
 * this peer, which has closed its own and gone, is there no more. */
static int next_handled, is_next;
static ucs_status_t why;
static const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
static void close_by_force(void)
{
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &force);
    HOLDS(!UCS_PTR_IS_ERR(r));
    if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    A.ep = NULL;
}
/* What an orderly close of a failed endpoint gives; the request is done with later. */
static ucs_status_ptr_t closing;
static void close_in_order(void)
{
    closing = ucp_ep_close_nbx(A.ep, &plain);
    A.ep = NULL;
}
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    HOLDS(ep == A.ep);
    HOLDS(inside); /* from progress, not from a post */
    if (is_next) {
        HOLDS(++next_handled == 1 && s < 0);
        return;
    }
    handled++;
    why = s;
    if (close_inside == 1) close_by_force();
    else if (close_inside) close_in_order();
}

/* A request in our own memory, every second time; it may end once, and is not used before that. */
struct own {
    int busy, is_own;
    char *memory;
};
static struct own owns[KEPT];
static size_t request_size;

static void done(void *r, ucs_status_t s, struct own *o)
{
    HOLDS(o->busy);
    o->busy = 0;
    ended++;
    in_error += s != UCS_OK;
    if (!o->is_own) ucp_request_free(r);
}
static void on_end(void *r, ucs_status_t s, void *user) { done(r, s, user); }
static void on_end_tag(void *r, ucs_status_t s, const ucp_tag_recv_info_t *info, void *user) { done(r, s, user); }
static void on_end_am(void *r, ucs_status_t s, size_t n, void *user) { done(r, s, user); }

static ucp_request_param_t counted(struct own **mine)
{
    static unsigned turn;
    struct own *o = &owns[turn++ % KEPT];
    for (int i = 0; o->busy && i < KEPT; i++) o = &owns[turn++ % KEPT];
    HOLDS(!o->busy);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .user_data = o};
    p.cb.send = on_end;
    o->is_own = turn % 2;
    if (o->is_own) {
        if (!o->memory) o->memory = aligned_alloc(64, (request_size + 127) / 64 * 64);
        p.op_attr_mask |= UCP_OP_ATTR_FIELD_REQUEST;
        p.request = o->memory + (request_size + 15) / 16 * 16;
    }
    o->busy = 1;
    *mine = o;
    return p;
}
/* What a post returned. True if it is refused, or was done at once. */
static int took(struct own *o, ucs_status_ptr_t r, int *refused)
{
    if (UCS_PTR_IS_PTR(r)) {
        posted++;
        return 0;
    }
    o->busy = 0;
    if (UCS_PTR_IS_ERR(r)) ++*refused;
    return 1;
}

/* ---- operations ----------------------------------------------------------------------------------- */

static struct region theirs;
static ucp_rkey_h key;

static ucs_status_ptr_t receives[DEPTH];
static void *kept_am[DEPTH];
static ucs_status_t keep_am(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (!(p->recv_attr & AM_RNDV)) return UCS_OK;
    for (int i = 0; i < DEPTH; i++)
        if (!kept_am[i]) {
            kept_am[i] = data;
            return UCS_INPROGRESS;
        }
    return UCS_ERR_NO_MEMORY;
}

static void on_receive(void *r, ucs_status_t s, const ucp_tag_recv_info_t *info, void *user)
{
    for (int i = 0; i < DEPTH; i++)
        if (receives[i] == r) receives[i] = NULL;
    done(r, s, user);
}

/* Posts one operation of the kind; the number of refusals. */
static int post(enum moment m, int i)
{
    static uint64_t one = 1, reply[DEPTH];
    struct own *o;
    int refused = 0, k = i % DEPTH;
    uint64_t at = (uint64_t)theirs.at;
    if (m == SHORT_TO || m == EAGER_TO || m == RNDV_TO) {
        if (receives[k]) return 0;
        ucp_request_param_t p = counted(&o);
        p.cb.recv = on_receive;
        p.op_attr_mask &= ~UCP_OP_ATTR_FIELD_REQUEST;
        p.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        o->is_own = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, in[k], BIG, 1, ALL, &p);
        HOLDS(UCS_PTR_IS_PTR(r));
        posted++;
        if (ucp_request_check_status(r) == UCS_INPROGRESS || o->busy) receives[k] = r;
        return 0;
    }
    if (m == AM_TO) {
        if (!kept_am[k]) return 0;
        ucp_request_param_t p = counted(&o);
        p.cb.recv_am = on_end_am;
        void *data = kept_am[k];
        kept_am[k] = NULL;
        took(o, ucp_am_recv_data_nbx(A.w, data, in[k], BIG, &p), &refused);
        return 0; /* data of a dead peer is refused, not the endpoint */
    }
    if (posted - ended >= 100) return 0;
    ucp_request_param_t p = counted(&o);
    switch (m) {
    case SHORT_FROM: took(o, ucp_tag_send_nbx(A.ep, out, 8 + i % 90, 2, &p), &refused); break;
    case STUCK: took(o, ucp_tag_send_nbx(A.ep, out, i % 2 ? 8 : 5000, 2, &p), &refused); break;
    case EAGER_FROM:
    case RNDV_FROM:
    case UNMATCHED: took(o, ucp_tag_send_nbx(A.ep, out, BIG, 2, &p), &refused); break;
    case SYNC: took(o, ucp_tag_send_sync_nbx(A.ep, out, i % 2 ? 8 : 5000, 2, &p), &refused); break;
    case AM_FROM: took(o, ucp_am_send_nbx(A.ep, ID, "h", 1, out, i % 2 ? BIG : 5000, &p), &refused); break;
    case PUT:
    case SHARED_PUT: took(o, ucp_put_nbx(A.ep, out, i % 2 ? BIG : 40, at, key, &p), &refused); break;
    case GET:
    case SHARED_GET: took(o, ucp_get_nbx(A.ep, in[k], i % 2 ? BIG : 40, at, key, &p), &refused); break;
    case ATOMIC:
        p.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        p.datatype = ucp_dt_make_contig(8);
        p.reply_buffer = &reply[k];
        took(o, ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, at, key, &p), &refused);
        break;
    default: o->busy = 0; return 0;
    }
    if (i % 8 == 7) {
        p = counted(&o);
        took(o, i % 16 == 15 ? ucp_worker_flush_nbx(A.w, &p) : ucp_ep_flush_nbx(A.ep, &p), &refused);
    }
    return refused;
}

static void never(void *request, ucs_status_t status) { DIE("a refused operation calls back"); }

/* An endpoint that has failed refuses everything, also by the older calls. */
static void all_refused(void)
{
    const ucp_datatype_t bytes = ucp_dt_make_contig(1);
    uint64_t at = (uint64_t)theirs.at;
    size_t n = 0;
    HOLDS(UCS_PTR_IS_ERR(ucp_stream_send_nbx(A.ep, out, 8, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_stream_recv_nbx(A.ep, in[0], 8, &n, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_stream_send_nb(A.ep, out, 8, bytes, never, 0)));
    HOLDS(UCS_PTR_IS_ERR(ucp_tag_send_nb(A.ep, out, 8, bytes, 2, never)));
    HOLDS(UCS_PTR_IS_ERR(ucp_tag_send_sync_nb(A.ep, out, BIG, bytes, 2, never)));
    HOLDS(UCS_PTR_IS_ERR(ucp_am_send_nb(A.ep, ID, out, 8, bytes, never, 0)));
    HOLDS(UCS_PTR_IS_ERR(ucp_ep_flush_nb(A.ep, 0, never)));
    HOLDS(ucp_ep_flush(A.ep) < 0);
    static uint64_t one = 1, reply;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
                             .datatype = ucp_dt_make_contig(8), .reply_buffer = &reply};
    HOLDS(UCS_PTR_IS_ERR(ucp_tag_send_nbx(A.ep, out, 8, 2, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_tag_send_nbx(A.ep, out, BIG, 2, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_tag_send_sync_nbx(A.ep, out, 8, 2, &plain)));
    HOLDS(UCS_PTR_IS_ERR(am_send(A.ep, ID, NULL, 0, out, 8, 0)));
    HOLDS(UCS_PTR_IS_ERR(am_send(A.ep, ID, NULL, 0, out, BIG, 0)));
    HOLDS(UCS_PTR_IS_ERR(ucp_ep_flush_nbx(A.ep, &plain)));
    if (!key) return;
    HOLDS(UCS_PTR_IS_ERR(ucp_put_nb(A.ep, out, 8, at, key, never)));
    HOLDS(UCS_PTR_IS_ERR(ucp_get_nb(A.ep, in[0], 8, at, key, never)));
    HOLDS(ucp_put_nbi(A.ep, out, 8, at, key) < 0 && ucp_get_nbi(A.ep, in[0], 8, at, key) < 0);
    HOLDS(ucp_put(A.ep, out, 8, at, key) < 0 && ucp_get(A.ep, in[0], 8, at, key) < 0);
    HOLDS(ucp_atomic_post(A.ep, UCP_ATOMIC_POST_OP_ADD, 1, 8, at, key) < 0);
    HOLDS(UCS_PTR_IS_ERR(ucp_atomic_fetch_nb(A.ep, UCP_ATOMIC_FETCH_OP_FADD, 1, &reply, 8, at, key, never)));
    HOLDS(ucp_atomic_add64(A.ep, 1, at, key) < 0);
    HOLDS(UCS_PTR_IS_ERR(ucp_put_nbx(A.ep, out, 8, (uint64_t)theirs.at, key, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_get_nbx(A.ep, in[0], 8, (uint64_t)theirs.at, key, &plain)));
    HOLDS(UCS_PTR_IS_ERR(ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, (uint64_t)theirs.at, key, &q)));
    ucp_rkey_h other = NULL;
    HOLDS(ucp_ep_rkey_unpack(A.ep, theirs.packed, &other) < 0);
}

/* ---- what stays behind ---------------------------------------------------------------------------- */

static int entries(const char *dir, const char *prefix)
{
    int n = 0;
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) n += !strncmp(e->d_name, prefix, strlen(prefix));
    if (d) closedir(d);
    return n;
}
static int segments_of(pid_t pid)
{
    int n = 0;
    char text[512];
    FILE *f = fopen("/proc/sysvipc/shm", "r");
    while (f && fgets(text, sizeof text, f)) {
        long key_, id, mode, size, creator;
        if (sscanf(text, "%ld %ld %lo %ld %ld", &key_, &id, &mode, &size, &creator) == 5) n += creator == pid;
    }
    if (f) fclose(f);
    return n;
}

static void talk_to(struct other *o)
{
    give_to(o->line, "g", 1);
    /* The same worker as before. */
    size_t n;
    take_from(o->line, &n, sizeof n);
    ucp_address_t *addr = malloc(n);
    take_from(o->line, addr, n);
    give_to(o->line, &A.len, sizeof A.len);
    give_to(o->line, A.addr, A.len);
    connect_to(&A, addr);
    long word = 41, back = 0;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &back, sizeof back, 6, ALL, &plain);
    MUST(finished(ucp_tag_send_nbx(A.ep, &word, sizeof word, 5, &plain)));
    MUST(finished(r));
    HOLDS(back == 42);
    MUST(finished(ucp_ep_close_nbx(A.ep, &plain)));
    free(addr);
    int st;
    UNTIL(waitpid(o->pid, &st, WNOHANG) == o->pid);
    HOLDS(WIFEXITED(st) && WEXITSTATUS(st) == 0);
}

/* ---- a case --------------------------------------------------------------------------------------- */

static int round_number;

static void the_case(enum moment m)
{
    struct other other = start(m, 0), next = start(m, 1);
    int fds = entries("/proc/self/fd", "");
    close_inside = (m + round_number) % 4 == 3 ? 2 : (m + round_number) % 2;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    ucp_address_t *addr = addresses_swapped(other.line);
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE};
    MUST(ucp_context_query(A.ctx, &attr));
    request_size = attr.request_size;
    B = A;
    MUST(set_with(A.w, ID, keep_am, NULL, 0));
    connect_to(&A, addr);
    free(addr);
    if (m != INIT) {
        take_from(other.line, &theirs, sizeof theirs);
        theirs.packed = malloc(theirs.packed_len);
        take_from(other.line, theirs.packed, theirs.packed_len);
        key = key_of(A.ep, theirs.packed);
        long word = 7;
        ucs_status_ptr_t q = ucp_tag_recv_nbx(A.w, &word, sizeof word, 99, ALL, &plain);
        MUST(finished(ucp_tag_send_nbx(A.ep, "w", 1, 99, &plain)));
        MUST(finished(q));
    }
    /* Operations, the death among them, and more until the endpoint has failed. */
    double death = now() + 0.005 + (m * 7 + round_number * 13) % 40 * 1e-3, end = death + 10; /* 50 intervals; half of the usual one */
    int dead = 0, refused = 0;
    for (int i = 0; !handled; i++) {
        if (!dead && now() > death) {
            dead = 1;
            kill(other.pid, SIGKILL);
            waitpid(other.pid, NULL, 0);
        }
        refused += post(m, i);
        ucp_worker_progress(A.w);
        if (handled) break;
        if (now() > end) DIE("the death was not noticed, %d posted, %d ended", posted, ended);
    }
    if (!dead) DIE("the handler was called with %s before the death", name(why));
    HOLDS(why < 0);
    if (!close_inside) {
        all_refused();
        if (m % 4 == 2) finished(ucp_ep_close_nbx(A.ep, &plain)), A.ep = NULL;
        else close_by_force();
    }
    for (int i = 0; i < DEPTH; i++) {
        if (receives[i] && ucp_request_check_status(receives[i]) == UCS_INPROGRESS) ucp_request_cancel(A.w, receives[i]);
        if (kept_am[i]) post(AM_TO, i);
    }
    end = now() + 20;
    while (ended < posted && now() < end) ucp_worker_progress(A.w);
    if (ended != posted) DIE("%d requests, %d ended", posted, ended);
    (void)finished(closing);
    if (key) ucp_rkey_destroy(key);
    close_inside = 0;
    is_next = 1;
    talk_to(&next);
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    if (handled != 1) DIE("the handler was called %d times", handled);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    HOLDS(segments_of(other.pid) + segments_of(next.pid) + segments_of(getpid()) == 0);
    char prefix[64];
    pid_t pids[] = {other.pid, next.pid, getpid()};
    for (int i = 0; i < 3; i++) {
        snprintf(prefix, sizeof prefix, "ucx_shm_posix_%d_", pids[i]);
        HOLDS(entries("/dev/shm", prefix) == 0);
    }
    if (entries("/proc/self/fd", "") != fds) DIE("%d descriptors, %d before", entries("/proc/self/fd", ""), fds);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, wrong = 0;
    setenv("UCX_KEEPALIVE_INTERVAL", "200ms", 1); /* where nothing is awaited, and nothing breaks */
    features = FEATURES;
    say_maps();
    for (round_number = 0; round_number < rounds; round_number++)
        for (int m = argc > 2 ? atoi(argv[2]) : 0; m < MOMENTS; m++) {
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) {
                alarm(60);
                if (m == EAGER_TO || m == EAGER_FROM) setenv("UCX_RNDV_THRESH", "inf", 1);
                if (m == RNDV_TO && round_number % 2) setenv("UCX_TLS", "^cma", 0);
                the_case(m);
                fflush(NULL);
                _exit(0);
            }
            int st;
            HOLDS(waitpid(pid, &st, 0) == pid);
            int right = WIFEXITED(st) && WEXITSTATUS(st) == 0;
            wrong += !right;
            if (WIFSIGNALED(st)) printf("WRONG %s: ended by signal %d\n", moments[m], WTERMSIG(st));
            else printf("%s %s\n", right ? "ok" : "WRONG", moments[m]);
            if (argc > 2) break;
        }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
