/* The three kinds of user buffers, made over the same flat memory. */
#ifndef DATATYPES_H
#define DATATYPES_H
#include "capi.h"

enum kind { CONTIG, IOV, GENERIC, KINDS };
static const char *const kinds[] = {"contig", "iov", "generic"};

/* Generic: bytes of a flat buffer, every second call of pack gives less than it was asked for. */
struct flat {
    unsigned char *buf;
    size_t len;
};

struct state {
    struct flat f;
    int alive;
};

static int starts, finishes, bad_calls;

static struct state *begin(const struct flat *f)
{
    struct state *s = malloc(sizeof *s);
    s->f = *f;
    s->alive = 1;
    starts++;
    return s;
}

static void *start_pack(void *ctx, const void *buffer, size_t count) { return begin(buffer); }
static void *start_unpack(void *ctx, void *buffer, size_t count) { return begin(buffer); }
static size_t packed_size(void *state) { return ((struct state *)state)->f.len; }

static size_t pack(void *state, size_t offset, void *dest, size_t max)
{
    struct state *s = state;
    bad_calls += !s->alive || offset > s->f.len;
    size_t n = s->f.len - offset;
    if (n > max) n = max;
    memcpy(dest, s->f.buf + offset, n);
    return n;
}

static ucs_status_t unpack(void *state, size_t offset, const void *src, size_t n)
{
    struct state *s = state;
    bad_calls += !s->alive;
    if (offset + n > s->f.len) return UCS_ERR_MESSAGE_TRUNCATED;
    memcpy(s->f.buf + offset, src, n);
    return UCS_OK;
}

static void finish_state(void *state)
{
    struct state *s = state;
    s->alive = 0;
    finishes++;
    free(s);
}

static ucp_datatype_t generic_type(void)
{
    static ucp_datatype_t dt;
    static const ucp_generic_dt_ops_t ops = {start_pack, start_unpack, packed_size, pack, unpack, finish_state};
    if (!dt) MUST(ucp_dt_create_generic(&ops, NULL, &dt));
    return dt;
}

struct buffer {
    void *ptr;
    size_t count;
    ucp_datatype_t dt;
    struct flat flat;
    ucp_dt_iov_t *iov;
};

/* A view of `n` bytes at `p`: for IOV in uneven pieces, with empty entries among them. */
static struct buffer *view(enum kind k, void *p, size_t n)
{
    struct buffer *b = calloc(1, sizeof *b);
    if (k == CONTIG) {
        b->ptr = p;
        b->count = n;
        b->dt = ucp_dt_make_contig(1);
    } else if (k == GENERIC) {
        b->flat.buf = p;
        b->flat.len = n;
        b->ptr = &b->flat;
        b->count = 1;
        b->dt = generic_type();
    } else {
        enum { PIECES = 5 };
        b->iov = calloc(PIECES + 2, sizeof *b->iov);
        size_t at = 0, i = 0;
        b->iov[i++].buffer = NULL; /* length 0 */
        for (int k = 0; k < PIECES; k++) {
            size_t len = k == PIECES - 1 ? n - at : (n / 7) * (k % 2 + 1);
            if (len > n - at) len = n - at;
            b->iov[i].buffer = (char *)p + at;
            b->iov[i++].length = len;
            at += len;
        }
        b->iov[i++].buffer = NULL;
        b->ptr = b->iov;
        b->count = i;
        b->dt = ucp_dt_make_iov();
    }
    return b;
}

static void drop(struct buffer *b)
{
    free(b->iov);
    free(b);
}

static ucs_status_ptr_t send_view(ucp_ep_h ep, struct buffer *b, ucp_tag_t tag, int sync)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = b->dt};
    return sync ? ucp_tag_send_sync_nbx(ep, b->ptr, b->count, tag, &p) : ucp_tag_send_nbx(ep, b->ptr, b->count, tag, &p);
}

static ucs_status_ptr_t recv_view(ucp_worker_h w, struct buffer *b, ucp_tag_t tag, ucp_tag_t mask, ucp_tag_recv_info_t *info)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_RECV_INFO, .datatype = b->dt};
    p.recv_info.tag_info = info;
    return ucp_tag_recv_nbx(w, b->ptr, b->count, tag, mask, &p);
}
#endif
