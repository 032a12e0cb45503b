/* The older calls for active messages (ucp_worker_set_am_handler, ucp_am_send_nb), both kinds mixed, what
 * arguments are refused, the alignment of data. */
#include "am.h"

enum { OLD = 11, NEW = 12 };
static const size_t sizes[] = {0, 1, 8, 100, 5000, 8192, 30000, 300000, 1u << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };
static unsigned char out[1 << 20];

static int olds, news, keeping, with_reply;
static void *kept;
static size_t want;
static unsigned seed;

static ucs_status_t old(void *arg, void *data, size_t len, ucp_ep_h reply, unsigned flags)
{
    olds++;
    HOLDS(arg == &olds && len == want && same(data, len, seed));
    HOLDS(!!reply == with_reply);
    if (keeping && (flags & UCP_CB_PARAM_FLAG_DATA)) {
        kept = data;
        return UCS_INPROGRESS;
    }
    return UCS_OK;
}

static ucs_status_t newer(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    news++;
    HOLDS(header_len == 0 && len == want && !(p->recv_attr & AM_RNDV) && same(data, len, seed));
    HOLDS(!!(p->recv_attr & AM_REPLY) == with_reply);
    return UCS_OK;
}

static int sent;
static void on_sent(void *r, ucs_status_t s)
{
    HOLDS(s == UCS_OK);
    sent++;
}

static void send_old(unsigned id, enum kind k, unsigned flags)
{
    fill(out, want, seed);
    struct buffer *b = view(k, out, want);
    sent = 0;
    ucs_status_ptr_t r = ucp_am_send_nb(A.ep, id, b->ptr, b->count, b->dt, on_sent, flags);
    HOLDS(!UCS_PTR_IS_ERR(r));
    if (r) {
        UNTIL(sent);
        ucp_request_free(r);
    }
    drop(b);
}

static void old_calls(void)
{
    MUST(ucp_worker_set_am_handler(B.w, OLD, old, &olds, UCP_AM_FLAG_WHOLE_MSG));
    set(B.w, NEW, newer, NULL);
    for (int to_new = 0; to_new < 2; to_new++)
        for (with_reply = 0; with_reply < 2; with_reply++)
            for (int k = 0; k < KINDS; k++) {
                int n = 0;
                for (int i = 0; i < SIZES; i++, n++) {
                    want = sizes[i];
                    seed = n;
                    olds = news = 0;
                    send_old(to_new ? NEW : OLD, k, with_reply ? UCP_AM_SEND_REPLY : 0);
                    UNTIL(olds + news == 1);
                    HOLDS(news == to_new);
                }
                printf("send_nb of %s to %s handler%s: %d messages\n", kinds[k], to_new ? "a newer" : "an old", with_reply ? ", with reply" : "", n);
            }
    with_reply = 0;
    /* By nbx to an old handler: no header. */
    for (int i = 0; i < SIZES; i++) {
        want = sizes[i];
        seed = i;
        olds = 0;
        fill(out, want, seed);
        ucs_status_t s = finished(am_send(A.ep, OLD, NULL, 0, out, want, UCP_AM_SEND_FLAG_EAGER));
        UNTIL(olds == 1);
        HOLDS(s == UCS_OK);
    }
    printf("send_nbx without a header to an old handler: %d messages\n", SIZES);
    olds = 0;
    ucs_status_t s = finished(am_send(A.ep, OLD, "head", 4, out, want, UCP_AM_SEND_FLAG_EAGER));
    let_it_arrive();
    printf("send_nbx with a header to an old handler: sender %s, calls %d\n", name(s), olds);
    /* Kept, where the handler was told that it may. */
    keeping = 1;
    int n = 0;
    for (int i = 5; i < SIZES; i++) {
        want = sizes[i];
        seed = i;
        kept = NULL;
        olds = 0;
        send_old(OLD, CONTIG, 0);
        UNTIL(olds);
        if (kept) {
            HOLDS(same(kept, want, seed));
            ucp_am_data_release(B.w, kept);
        }
        n++;
    }
    keeping = 0;
    printf("kept by an old handler: %d messages\n", n);
    MUST(ucp_worker_set_am_handler(B.w, OLD, NULL, NULL, 0));
    want = 8;
    olds = 0;
    send_old(OLD, CONTIG, 0);
    let_it_arrive();
    printf("an old handler removed: calls %d\n", olds);
}

static ucs_status_t never(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p) { return UCS_OK; }

static void arguments(void)
{
    ucp_am_handler_param_t p = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID, .id = 5, .cb = never};
    printf("handler without callback field: %s\n", name(ucp_worker_set_am_recv_handler(B.w, &p)));
    p.field_mask = UCP_AM_HANDLER_PARAM_FIELD_CB;
    printf("handler without id: %s\n", name(ucp_worker_set_am_recv_handler(B.w, &p)));
    p.field_mask = UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ID;
    p.id = 65535;
    p.flags = ~0u; /* the mask doesn't name it */
    p.arg = (void *)1;
    printf("handler for id 65535: %s\n", name(ucp_worker_set_am_recv_handler(B.w, &p)));
    printf("handler with unknown flags: %s\n", name(set_with(B.w, 5, never, NULL, 1u << 20)));
    printf("handler with all flags: %s\n", name(set_with(B.w, 5, never, NULL, UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA)));
    printf("old handler with unknown flags: %s\n", name(ucp_worker_set_am_handler(B.w, 5, old, NULL, 1u << 20)));
    for (int id = 0; id < 65536; id += 65535) {
        ucs_status_t s = finished(am_send(A.ep, id, NULL, 0, "x", 1, 0));
        printf("message of id %d: %s\n", id, name(s));
    }
    let_it_arrive();
    MUST(set_with(B.w, 65535, NULL, NULL, 0));
}

/* ---- alignment ------------------------------------------------------------------------------------ */

static size_t align;
static int came, misaligned;
static ucs_status_t aligned(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    came++;
    HOLDS(len == want);
    if (!(p->recv_attr & AM_RNDV) && (p->recv_attr & AM_DATA)) {
        misaligned += (uintptr_t)data % align != 0;
        HOLDS(same(data, len, 3));
    }
    return UCS_OK;
}

static void alignment(void)
{
    for (align = 1; align <= 4096; align *= 8) {
        ucp_worker_params_t wp = {.field_mask = UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT, .am_alignment = align};
        struct side b;
        struct side *old_side = &B, saved = B;
        MUST(ucp_worker_create(B.ctx, &wp, &b.w));
        MUST(ucp_worker_get_address(b.w, &b.addr, &b.len));
        ucp_ep_params_t ep = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = b.addr};
        ucp_ep_h e;
        MUST(ucp_ep_create(A.w, &ep, &e));
        B.w = b.w; /* so that it is progressed */
        MUST(set_with(b.w, 1, aligned, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
        misaligned = 0;
        for (int hl = 0; hl < 20; hl += 3)
            for (int i = 0; i < SIZES; i++) {
                want = sizes[i];
                fill(out, want, 3);
                came = 0;
                MUST(finished(am_send(e, 1, out, hl, out, want, UCP_AM_SEND_FLAG_EAGER)));
                UNTIL(came == 1);
            }
        printf("alignment %zu: %d misaligned\n", align, misaligned);
        MUST(finished(ucp_ep_close_nbx(e, &plain)));
        ucp_worker_release_address(b.w, b.addr);
        ucp_worker_destroy(b.w);
        *old_side = saved;
    }
}

int main(void)
{
    features = UCP_FEATURE_AM;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        old_calls();
        arguments();
        pair_close();
    }
    pair_open(0);
    alignment();
    pair_close();
    return finish();
}
