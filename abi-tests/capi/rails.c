/* Two processes on two hosts with several links between them, which somebody takes down and up again
 * meanwhile. Every operation is used, mixed at random, until a file appears; every byte is checked, the
 * order by sequence numbers, atomics by exact sums. No error may be seen.
 *
 *   rails lead|follow DIR SEED [OPS [MODE]]     OPS: letters of t(ag) a(m) s(tream) p(ut) g(et) f(etch-add) n(o fetch)
 *                                               w(hales, of 8 to 256 MiB)
 *                                               MODE: number of the error handling mode, FAILOVER if not given
 *
 * DIR holds the socket by which the two meet, and the file `stop`. Prints counts, then "end". */
#define _GNU_SOURCE
#include "two_hosts.h"

enum { DEPTH = 8, BIGGEST = 3 << 20, SLOTS = 16, SLOT = 1 << 20, AM_MSG = 3, TAG = 5, BACK = 6, OPS = 8, WINDOW = SLOTS * SLOT + 4096 };
static const size_t sizes[] = {8, 8, 8, 64, 1000, 4096, 8192, 20000, 70000, 300000, 1 << 20, BIGGEST};

static unsigned long rnd_state;
static unsigned rnd(unsigned n)
{
    rnd_state = rnd_state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(rnd_state >> 33) % n;
}
static size_t some_size(size_t most)
{
    size_t n;
    do n = sizes[rnd(sizeof sizes / sizeof *sizes)] & ~7ul; while (n > most || (n > 100000 && rnd(4)));
    return n;
}

static void mark(uint64_t *b, size_t bytes, uint64_t seq) { for (size_t i = 0; i < bytes / 8; i++) b[i] = seq * 0x9e3779b97f4a7c15ull + i; }
static void check(const char *what, const uint64_t *b, size_t bytes, uint64_t seq)
{
    for (size_t i = 0; i < bytes / 8; i++)
        if (b[i] != seq * 0x9e3779b97f4a7c15ull + i) DIE("%s %lu of %zu bytes is wrong at %zu", what, seq, bytes, i * 8);
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { if (!leaving) DIE("endpoint error: %s", name(s)); }

/* ---- requests that are under way ------------------------------------------------------------------- */

struct slot {
    ucs_status_ptr_t req;
    uint64_t *buf;
    size_t len;
    uint64_t seq;
    int busy;
};
static void end_of(struct slot *s)
{
    if (!s->busy) return;
    ucs_status_t st = settled(s->req);
    if (st != UCS_OK) DIE("a request ended with %s", name(st));
    s->busy = 0;
}
static void under_way(struct slot *s, ucs_status_ptr_t r)
{
    if (UCS_PTR_IS_ERR(r)) DIE("a post gave %s", name(UCS_PTR_STATUS(r)));
    s->req = r;
    s->busy = 1;
}

static ucp_request_param_t none;
struct am_head { uint64_t seq, len; };
#include "whales.h"

/* ---- messages in order ----------------------------------------------------------------------------- */

/* Receives with one tag: the n-th posted gets the n-th sent. */
static struct inbox {
    ucp_tag_t tag;
    struct slot slots[DEPTH];
    uint64_t next, posted;
} inbox;

static void post_next(void)
{
    struct slot *s = &inbox.slots[inbox.posted % DEPTH];
    s->seq = inbox.posted++;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    under_way(s, ucp_tag_recv_nbx(A.w, s->buf, BIGGEST, inbox.tag, ALL, &q));
}
static void open_inbox(ucp_tag_t tag)
{
    inbox.tag = tag;
    for (int i = 0; i < DEPTH; i++) {
        inbox.slots[i].buf = malloc(BIGGEST);
        post_next();
    }
}
/* The length of the next message if it is here, else -1. */
static long arrived(void)
{
    struct slot *s = &inbox.slots[inbox.next % DEPTH];
    ucp_tag_recv_info_t info;
    if (UCS_PTR_IS_PTR(s->req)) {
        ucs_status_t st = ucp_tag_recv_request_test(s->req, &info);
        if (st == UCS_INPROGRESS) return -1;
        if (st != UCS_OK) DIE("a receive ended with %s", name(st));
        ucp_request_free(s->req);
    } else DIE("a receive has no request");
    check("message", s->buf, info.length, inbox.next);
    inbox.next++;
    post_next();
    return info.length;
}

/* ---- the follower ------------------------------------------------------------------------------------ */

static uint64_t am_next, am_done, stream_at;
static void am_received(void *req, ucs_status_t st, size_t len, void *user)
{
    uint64_t *b = user;
    if (st != UCS_OK) DIE("data of an active message ended with %s", name(st));
    ucp_request_free(req);
    if (len > BIGGEST) return whale_came(b);
    check("large active message", b + 2, len, b[0]);
    free(b);
    am_done++;
}
static ucs_status_t am_come(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    struct am_head head;
    HOLDS(hl == sizeof head);
    memcpy(&head, h, hl);
    /* Shared among lanes, an eager message comes when its last fragment does. */
    if ((head.seq != am_next++ && !getenv("UCX_MAX_EAGER_RAILS")) || head.len != len) DIE("active message %lu of %zu bytes instead of %lu", head.seq, len, am_next - 1);
    if (!(p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        check("active message", data, len, head.seq);
        am_done++;
        return UCS_OK;
    }
    uint64_t *b = malloc(len + 16);
    b[0] = head.seq;
    b[1] = len;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                             .cb.recv_am = am_received, .user_data = b};
    ucs_status_ptr_t r = ucp_am_recv_data_nbx(A.w, data, b + 2, len, &q);
    if (UCS_PTR_IS_ERR(r)) DIE("ucp_am_recv_data_nbx gave %s", name(UCS_PTR_STATUS(r)));
    return UCS_INPROGRESS;
}

static void take_stream(void)
{
    size_t n;
    void *p = ucp_stream_recv_data_nb(ep, &n);
    if (!p) return;
    if (UCS_PTR_IS_ERR(p)) DIE("the stream gave %s", name(UCS_PTR_STATUS(p)));
    for (size_t i = 0; i < n; i++, stream_at++)
        if (((unsigned char *)p)[i] != stream_byte(stream_at)) DIE("the stream is wrong at %lu", stream_at);
    ucp_stream_data_release(ep, p);
}

struct shared { uint64_t adds, va; };
struct totals { uint64_t tags, ams, stream, adds, whales, last[SLOTS], lens[SLOTS]; };

static void follow(char *window, uint64_t *counter, int whales)
{
    struct slot back[DEPTH] = {0};
    struct totals t;
    double end = now() + 2 * patience;
    int told = 0;
    if (whales) whale_receive();
    for (uint64_t n = 0, large = 0;;) {
        long len = arrived();
        if (len >= 0) {
            struct slot *s = &back[n % DEPTH];
            end_of(s);
            s->len = len <= 8192 || n % 5 == 0 ? (size_t)len : 64;
            if (!s->buf) s->buf = malloc(BIGGEST);
            mark(s->buf, s->len, n++);
            under_way(s, ucp_tag_send_nbx(ep, s->buf, s->len, BACK, &none));
            end = now() + 2 * patience;
        }
        if (!ucp_worker_progress(A.w)) rest();
        take_stream();
        if (whales) large = whale_look(&am_done);
        if (!told && recv(fd, &t, sizeof t, MSG_DONTWAIT | MSG_PEEK) == sizeof t) {
            take(&t, sizeof t);
            told = 1;
        }
        if (told && inbox.next == t.tags && am_done == t.ams && stream_at == t.stream && large == t.whales) break;
        if (now() > end) DIE("nothing comes: %lu messages, %lu active, %lu bytes", inbox.next, am_done, stream_at);
    }
    for (int i = 0; i < DEPTH; i++) end_of(&back[i]);
    if (__atomic_load_n(counter, __ATOMIC_SEQ_CST) != t.adds) DIE("the sum is %lu instead of %lu", *counter, t.adds);
    for (int i = 0; i < SLOTS; i++) check("put", (uint64_t *)(window + i * SLOT), t.lens[i], t.last[i]);
}

/* ---- the leader -------------------------------------------------------------------------------------- */

static void lead(const char *ops, uint64_t va, ucp_rkey_h rkey)
{
    struct slot out[OPS][DEPTH] = {0};
    uint64_t count[OPS] = {0}, seq = 1;
    static uint64_t results[DEPTH], operands[DEPTH];
    struct totals t = {0};
    for (uint64_t round = 0; round % 64 || !heard("stop"); round++) {
        int op = strchr("taspgfnw", ops[rnd(strlen(ops))]) - "taspgfnw";
        struct slot *s = &out[op][count[op] % DEPTH];
        end_of(s);
        if (!s->buf && op < 7) s->buf = malloc(BIGGEST);
        ucp_request_param_t q = none;
        whale_step(op == 7, &t.ams, va + WINDOW, rkey);
        switch (op) {
        case 0:
            s->len = some_size(BIGGEST);
            mark(s->buf, s->len, t.tags++);
            under_way(s, rnd(5) ? ucp_tag_send_nbx(ep, s->buf, s->len, TAG, &q) : ucp_tag_send_sync_nbx(ep, s->buf, s->len, TAG, &q));
            break;
        case 1: {
            static struct am_head heads[DEPTH];
            struct am_head *h = &heads[count[op] % DEPTH];
            s->len = some_size(BIGGEST);
            *h = (struct am_head){t.ams++, s->len};
            mark(s->buf, s->len, h->seq);
            under_way(s, ucp_am_send_nbx(ep, AM_MSG, h, sizeof *h, s->buf, s->len, &q));
            break;
        }
        case 2:
            s->len = some_size(100000) + rnd(7);
            fill_stream((unsigned char *)s->buf, s->len);
            under_way(s, ucp_stream_send_nbx(ep, s->buf, s->len, &q));
            break;
        case 3: {
            int i = count[op] % SLOTS; /* no two at once to the same place */
            if (i == 0) {
                for (int k = 0; k < DEPTH; k++) end_of(&out[3][k]);
                MUST(settled(ucp_ep_flush_nbx(ep, &q)));
            }
            s->len = some_size(SLOT);
            mark(s->buf, s->len, seq);
            t.last[i] = seq++;
            t.lens[i] = s->len;
            under_way(s, ucp_put_nbx(ep, s->buf, s->len, va + i * SLOT, rkey, &q));
            break;
        }
        case 4: {
            int i = rnd(SLOTS);
            if (!t.lens[i]) continue;
            for (int k = 0; k < DEPTH; k++) end_of(&out[3][k]);
            under_way(s, ucp_ep_flush_nbx(ep, &q));
            end_of(s);
            under_way(s, ucp_get_nbx(ep, s->buf, t.lens[i], va + i * SLOT, rkey, &q));
            end_of(s);
            check("get", s->buf, t.lens[i], t.last[i]);
            break;
        }
        case 5: {
            int i = count[op] % DEPTH;
            operands[i] = 1 + rnd(9);
            t.adds += operands[i];
            q.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
            q.datatype = ucp_dt_make_contig(8);
            q.reply_buffer = &results[i];
            under_way(s, ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &operands[i], 1, va + SLOTS * SLOT, rkey, &q));
            break;
        }
        case 6:
            operands[0] = 3;
            t.adds += 3;
            q.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
            q.datatype = ucp_dt_make_contig(8);
            under_way(s, ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &operands[0], 1, va + SLOTS * SLOT, rkey, &q));
            end_of(s);
            break;
        default: /* a whale, above */
            break;
        }
        count[op]++;
        ucp_worker_progress(A.w);
        while (arrived() >= 0);
        if (op < 3 && inbox.next + 64 < t.tags) for (double end = now() + patience; inbox.next + 32 < t.tags;) {
            if (arrived() < 0 && !ucp_worker_progress(A.w)) rest();
            if (now() > end) DIE("nothing comes back: %lu of %lu", inbox.next, t.tags);
        }
    }
    for (int op = 0; op < OPS; op++) for (int i = 0; i < DEPTH; i++) end_of(&out[op][i]);
    for (double end = now() + patience; whale.state != IDLE; whale_step(0, &t.ams, va + WINDOW, rkey)) {
        if (!ucp_worker_progress(A.w)) rest();
        while (arrived() >= 0);
        if (now() > end) DIE("a large transfer does not end (%d)", whale.kind);
    }
    MUST(settled(ucp_worker_flush_nbx(A.w, &none)));
    t.stream = stream_written;
    t.whales = whale.tags;
    give(&t, sizeof t);
    for (double end = now() + patience; inbox.next < t.tags;) {
        if (arrived() < 0 && !ucp_worker_progress(A.w)) rest();
        if (now() > end) DIE("nothing comes back: %lu of %lu", inbox.next, t.tags);
    }
    printf("tags %lu, active messages %lu, stream %lu, puts %lu, gets %lu, fetches %lu, adds %lu\n", t.tags, t.ams, t.stream, count[3], count[4],
           count[5], count[6]);
    if (strchr(ops, 'w')) printf("8 to 256 MiB: tags %lu, active messages %lu, stream %lu, puts and gets %lu\n", whale.all[0], whale.all[1], whale.all[2], whale.all[3]);
}

int main(int argc, char **argv)
{
    HOLDS(argc >= 4);
    int leads = !strcmp(argv[1], "lead");
    dir = argv[2];
    rnd_state = strtoul(argv[3], 0, 0);
    if (getenv("RAILS_PATIENCE")) patience = atof(getenv("RAILS_PATIENCE"));
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    if (getenv("RAILS_SLEEPS")) features |= UCP_FEATURE_WAKEUP;
    const ucp_address_t *theirs = find_each_other(leads);
    open_ep(theirs, argc > 5 ? atoi(argv[5]) : 2, on_error);
    open_inbox(leads ? BACK : TAG);
    if (leads) {
        uint64_t va;
        void *packed;
        ucp_rkey_h rkey = take_window(&va, &packed);
        lead(argc > 4 ? argv[4] : "taspgfn", va, rkey);
        ucp_rkey_destroy(rkey);
    } else {
        MUST(set_with(A.w, AM_MSG, am_come, NULL, 0));
        int whales = argc > 4 && strchr(argv[4], 'w');
        size_t bytes = WINDOW + (whales ? WHALE : 0);
        char *window = aligned_alloc(4096, bytes);
        memset(window, 0, WINDOW);
        give_window(window, bytes);
        follow(window, (uint64_t *)(window + SLOTS * SLOT), whales);
    }
    return part();
}
