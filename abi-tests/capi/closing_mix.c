/* Two workers that know each other by their addresses, whose endpoints are made, used in every way and closed, in order or
 * by force, at random and on both sides at once: whatever an operation met, it ends. Without active messages that may be
 * answered (which leave an endpoint to their receiver for good) no connection is left behind either.
 * usage: closing_mix ROUNDS SEED [replies] */
#include "capi.h"

enum { AM = 3, LARGE = 1 << 18, SMALL = 9000, BUFFERS = 16, MOST = 1000, MANY = 16 };
static unsigned seed;
static int replies;
static char out[LARGE], in[BUFFERS][LARGE], window[LARGE];
static struct { ucs_status_ptr_t r; int line; } pending[MOST];
static int npending;
static struct side *const sides[2] = {&A, &B};
static ucp_ep_h ep[2];
static void *packed[2];
static ucp_mem_h lent[2];
static ucp_rkey_h keys[MOST];
static int nkeys;

static unsigned chance(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % n;
}

static void *buffer(void) { return in[chance(BUFFERS)]; }

/* What an operation returned. Errors are what closes are expected to leave. */
#define KEEP(r) keep(r, __LINE__)
static void keep(ucs_status_ptr_t r, int line)
{
    if (!UCS_PTR_IS_PTR(r)) return;
    HOLDS(npending < MOST);
    pending[npending].r = r;
    pending[npending++].line = line;
}

/* How many have not ended yet. */
static int unfinished(void)
{
    int left = 0;
    for (int i = 0; i < npending; i++)
        if (ucp_request_check_status(pending[i].r) == UCS_INPROGRESS) pending[left++] = pending[i];
        else ucp_request_free(pending[i].r);
    return npending = left;
}

static ucs_status_t on_am(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if ((p->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) && hl == 0)
        KEEP(ucp_am_send_nbx(p->reply_ep, AM, "r", 1, out, chance(4) ? 64 : LARGE, &plain));
    if ((p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) && chance(3)) KEEP(ucp_am_recv_data_nbx(arg, data, buffer(), LARGE, &plain));
    return UCS_OK;
}

static void on_error(void *arg, ucp_ep_h e, ucs_status_t status) {}

static void make(int i)
{
    connect_to(sides[i], sides[!i]->addr);
    ep[i] = sides[i]->ep;
    sides[i]->ep = NULL;
}

static void receive(int i)
{
    ucp_tag_recv_info_t info;
    ucp_tag_message_h m = ucp_tag_probe_nb(sides[i]->w, 0, 0, 1, &info);
    if (m) KEEP(ucp_tag_msg_recv_nbx(sides[i]->w, buffer(), LARGE, m, &plain));
}

static void one_sided(int i, size_t n, int put)
{
    ucp_rkey_h key;
    if (nkeys == MOST || ucp_ep_rkey_unpack(ep[i], packed[!i], &key) != UCS_OK) return;
    keys[nkeys++] = key;
    KEEP(put ? ucp_put_nbx(ep[i], out, n, (uint64_t)window, key, &plain) : ucp_get_nbx(ep[i], buffer(), n, (uint64_t)window, key, &plain));
}

static void close_end(int i, int force)
{
    ucp_request_param_t p = {.op_attr_mask = force ? UCP_OP_ATTR_FIELD_FLAGS : 0, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucp_ep_h e = ep[i];
    ep[i] = NULL;
    KEEP(ucp_ep_close_nbx(e, &p));
}

static void step(int i)
{
    ucp_request_param_t reply = {.op_attr_mask = replies ? UCP_OP_ATTR_FIELD_FLAGS : 0, .flags = UCP_AM_SEND_FLAG_REPLY};
    size_t n = chance(2) ? LARGE : chance(SMALL);
    for (int k = chance(5); k > 0; k--) progress();
    if (!ep[i]) return make(i);
    switch (chance(10)) {
    case 0: KEEP(ucp_tag_send_nbx(ep[i], out, n, chance(3), &plain)); break;
    case 1: KEEP(ucp_tag_send_sync_nbx(ep[i], out, n, chance(3), &plain)); break;
    case 2: case 3: KEEP(ucp_am_send_nbx(ep[i], AM, NULL, 0, out, n, &reply)); break;
    case 4: one_sided(i, n, 0); break;
    case 5: one_sided(i, n, 1); break;
    case 6: KEEP(ucp_worker_flush_nbx(sides[i]->w, &plain)); break;
    case 7: receive(i); break;
    /* By force only where errors are handled. */
    default: close_end(i, chance(4) == 0 && extra_ep_params.err_mode != UCP_ERR_HANDLING_MODE_NONE);
    }
    if (chance(4) == 0) unfinished();
}

/* Both ends are closed, and all that comes is received. */
static void settle(int round)
{
    double end = now() + 40;
    for (int i = 0; i < 2; i++)
        if (ep[i]) close_end(i, 0);
    while (unfinished()) {
        progress();
        for (int i = 0; i < 2; i++) receive(i);
        if (now() < end) continue;
        for (int k = 0; k < npending; k++) fprintf(stderr, "what was posted in line %d doesn't end\n", pending[k].line);
        DIE("round %d: %d requests never end", round, npending);
    }
    while (nkeys) ucp_rkey_destroy(keys[--nkeys]);
}

static void open_both(int mode)
{
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = mode;
    extra_ep_params.err_handler.cb = on_error;
    for (int i = 0; i < 2; i++) {
        struct side *s = sides[i];
        size_t len;
        open_side(s);
        ucp_am_handler_param_t h = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                    .id = AM, .cb = on_am, .arg = s->w};
        ucp_mem_map_params_t m = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = window, .length = LARGE};
        MUST(ucp_worker_set_am_recv_handler(s->w, &h));
        MUST(ucp_mem_map(s->ctx, &m, &lent[i]));
        MUST(ucp_rkey_pack(s->ctx, lent[i], &packed[i], &len));
    }
}

static void close_both(void)
{
    for (int i = 0; i < 2; i++) {
        ucp_rkey_buffer_release(packed[i]);
        MUST(ucp_mem_unmap(sides[i]->ctx, lent[i]));
    }
    pair_close();
}

static void run(int mode, const char *what, int rounds)
{
    open_both(mode);
    int before = descriptors();
    for (int round = 0; round < rounds; round++) {
        for (int k = 20 + chance(100); k > 0; k--) step(chance(2));
        settle(round);
    }
    double end = now() + 20;
    /* A connection or two may have been kept by the last round; there were hundreds. */
    while (!replies && descriptors() > before + MANY && now() < end) let_it_arrive();
    fprintf(stderr, "%s: %d descriptors, then %d\n", what, before, descriptors());
    printf("%s: %s\n", what, replies || descriptors() <= before + MANY ? "all ended, nothing is left" : "WRONG, connections are left");
    close_both();
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 30;
    seed = argc > 2 ? atoi(argv[2]) : 1;
    replies = argc > 3;
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
    run(UCP_ERR_HANDLING_MODE_NONE, "none", rounds);
    run(UCP_ERR_HANDLING_MODE_PEER, "peer", rounds);
    run(UCP_ERR_HANDLING_MODE_FAILOVER, "failover", rounds);
    return finish();
}
