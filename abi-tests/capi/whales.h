/* Very large transfers, one at a time, among the other operations of rails.c: a tagged message, an active message, a
 * stretch of the stream, or a put and then a get of the same. They are made and checked in pieces, with progress
 * between: a process that is long away looks like one that is gone. */
#ifndef WHALES_H
#define WHALES_H

enum { WHALE = 256 << 20, PIECE = 1 << 20, WHALE_TAG = 7 };
static const size_t whale_sizes[] = {8 << 20, 32 << 20, 64 << 20, WHALE};

static uint64_t stream_written;
static unsigned char stream_byte(uint64_t at) { return (unsigned char)(at * 2654435761u >> 9); }
static void fill_stream(unsigned char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) b[i] = stream_byte(stream_written++);
}

/* The same words as mark() and check(). */
static void mark_slowly(uint64_t *b, size_t bytes, uint64_t seq)
{
    for (size_t i = 0; i < bytes / 8; i++) {
        if (i % (PIECE / 8) == 0) ucp_worker_progress(A.w);
        b[i] = seq * 0x9e3779b97f4a7c15ull + i;
    }
}
static void check_slowly(const char *what, const uint64_t *b, size_t bytes, uint64_t seq)
{
    for (size_t i = 0; i < bytes / 8; i++) {
        if (i % (PIECE / 8) == 0) ucp_worker_progress(A.w);
        if (b[i] != seq * 0x9e3779b97f4a7c15ull + i) DIE("%s %lu of %zu bytes is wrong at %zu", what, seq, bytes, i * 8);
    }
}

/* ---- the leader ---------------------------------------------------------------------------------------- */

static struct whale {
    enum { IDLE, SENT, PUT, FLUSHED, GOT } state;
    int kind;
    struct slot slot;
    uint64_t *back; /* what a get brings */
    uint64_t tags, puts, all[4];
} whale;
static int whale_done(void)
{
    struct slot *s = &whale.slot;
    if (UCS_PTR_IS_PTR(s->req) && ucp_request_check_status(s->req) == UCS_INPROGRESS) return 0;
    end_of(s);
    return 1;
}

/* One step further, if the last one is done. A new one begins if `begin`. */
static void whale_step(int begin, uint64_t *ams, uint64_t va, ucp_rkey_h rkey)
{
    static struct am_head head;
    struct slot *s = &whale.slot;
    ucp_request_param_t q = {0};
    if (whale.state != IDLE && !whale_done()) return;
    switch (whale.state) {
    case IDLE:
        if (!begin) return;
        if (!s->buf) s->buf = malloc(WHALE);
        if (!whale.back) whale.back = malloc(WHALE);
        s->len = whale_sizes[rnd(sizeof whale_sizes / sizeof *whale_sizes)];
        whale.kind = rnd(4);
        whale.all[whale.kind]++;
        whale.state = whale.kind == 3 ? PUT : SENT;
        if (whale.kind == 0) {
            mark_slowly(s->buf, s->len, whale.tags++);
            under_way(s, ucp_tag_send_nbx(ep, s->buf, s->len, WHALE_TAG, &q));
        } else if (whale.kind == 1) {
            head = (struct am_head){*ams, s->len};
            mark_slowly(s->buf, s->len, (*ams)++);
            under_way(s, ucp_am_send_nbx(ep, AM_MSG, &head, sizeof head, s->buf, s->len, &q));
        } else if (whale.kind == 2) {
            for (size_t at = 0; at < s->len; at += PIECE, ucp_worker_progress(A.w)) fill_stream((unsigned char *)s->buf + at, PIECE);
            under_way(s, ucp_stream_send_nbx(ep, s->buf, s->len, &q));
        } else {
            s->seq = ++whale.puts;
            mark_slowly(s->buf, s->len, s->seq);
            under_way(s, ucp_put_nbx(ep, s->buf, s->len, va, rkey, &q));
        }
        return;
    case PUT:
        under_way(s, ucp_ep_flush_nbx(ep, &q));
        whale.state = FLUSHED;
        return;
    case FLUSHED:
        memset(whale.back, 0xee, s->len);
        under_way(s, ucp_get_nbx(ep, whale.back, s->len, va, rkey, &q));
        whale.state = GOT;
        return;
    case GOT:
        check_slowly("large get", whale.back, s->len, s->seq);
        /* fall through */
    case SENT:
        whale.state = IDLE;
    }
}

/* ---- the follower -------------------------------------------------------------------------------------- */

static struct pod {
    struct slot tag;
    uint64_t *ams[DEPTH]; /* active messages that have come: sequence number, length, bytes */
    int waiting;
} pod;

static void whale_came(uint64_t *b)
{
    HOLDS(pod.waiting < DEPTH);
    pod.ams[pod.waiting++] = b;
}
static void whale_receive(void)
{
    struct slot *s = &pod.tag;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    if (!s->buf) s->buf = malloc(WHALE);
    under_way(s, ucp_tag_recv_nbx(A.w, s->buf, WHALE, WHALE_TAG, ALL, &q));
}
/* What has come is checked; how many tagged ones that were. */
static uint64_t whale_look(uint64_t *am_done)
{
    static uint64_t tags;
    ucp_tag_recv_info_t info;
    ucs_status_t st = ucp_tag_recv_request_test(pod.tag.req, &info);
    if (st == UCS_OK) {
        ucp_request_free(pod.tag.req);
        check_slowly("large message", pod.tag.buf, info.length, tags++);
        whale_receive();
    } else if (st != UCS_INPROGRESS) DIE("a receive ended with %s", name(st));
    while (pod.waiting) {
        uint64_t *b = pod.ams[--pod.waiting];
        check_slowly("large active message", b + 2, b[1], b[0]);
        free(b);
        ++*am_done;
    }
    return tags;
}
#endif
