/* Endpoints by worker address that are made, used and closed in order over and over, on one side or on both: what a closed
 * one leaves behind, which may still be answering, goes as soon as the peer knows of the close.
 * usage: close_again ROUNDS */
#include "capi.h"

enum how { ONE_WAY, BOTH_WAYS, CROSSING, PUT_GET, REPLY, HOWS };
static const char *const hows[] = {"one end", "both ends, one after the other", "both ends at once", "one end, after a put and a get",
                                   "both ends, while a message comes that may be answered"};
enum { AM = 3, LARGE = 1 << 20 };
static int told, ams;
static char window[64];
static void *packed;
static ucp_mem_h lent;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { told++; }

static void put_and_get(struct side *from)
{
    ucp_rkey_h key;
    uint64_t v = 9, w = 0;
    MUST(ucp_ep_rkey_unpack(from->ep, packed, &key));
    MUST(finished(ucp_put_nbx(from->ep, &v, sizeof v, (uint64_t)window, key, &plain)));
    MUST(finished(ucp_ep_flush_nbx(from->ep, &plain)));
    MUST(finished(ucp_get_nbx(from->ep, &w, sizeof w, (uint64_t)window, key, &plain)));
    HOLDS(w == v);
    ucp_rkey_destroy(key);
}

static ucs_status_t on_am(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    ams++;
    return UCS_OK;
}

/* A's close waits for what B has yet to receive, and meanwhile something comes whose sender may be answered: it is dropped. */
static void reply_while_closing(void)
{
    static char out[LARGE], in[LARGE];
    ucp_request_param_t reply = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_REPLY};
    ucs_status_ptr_t t = ucp_tag_send_nbx(A.ep, out, sizeof out, 4, &plain);
    let_it_arrive();
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain);
    int before = ams;
    ucs_status_ptr_t m = ucp_am_send_nbx(B.ep, AM, NULL, 0, "x", 1, &reply);
    let_it_arrive();
    HOLDS(ams == before);
    MUST(finished(ucp_tag_recv_nbx(B.w, in, sizeof in, 4, ALL, &plain)));
    MUST(finished(t));
    MUST(finished(r));
    MUST(finished(m));
    MUST(finished(ucp_ep_close_nbx(B.ep, &plain)));
    A.ep = B.ep = NULL;
}

static void once(enum how how)
{
    int both = how != ONE_WAY && how != PUT_GET;
    connect_to(&A, B.addr);
    if (both) connect_to(&B, A.addr);
    introduce(&A, &B);
    if (both) introduce(&B, &A);
    if (how == REPLY) return reply_while_closing();
    if (how == PUT_GET) put_and_get(&A);
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain), s = NULL;
    if (how == CROSSING) s = ucp_ep_close_nbx(B.ep, &plain);
    MUST(finished(r));
    if (how == BOTH_WAYS) s = ucp_ep_close_nbx(B.ep, &plain);
    MUST(finished(s));
    A.ep = B.ep = NULL;
}

static void lend_window(void)
{
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = window, .length = sizeof window};
    ucp_am_handler_param_t h = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = AM, .cb = on_am};
    size_t len;
    MUST(ucp_mem_map(B.ctx, &p, &lent));
    MUST(ucp_rkey_pack(B.ctx, lent, &packed, &len));
    MUST(ucp_worker_set_am_recv_handler(A.w, &h));
}

/* Few enough that it can't be one each time. */
static int settles(int before, int rounds)
{
    double end = now() + 20;
    while (descriptors() > before + rounds / 4 && now() < end) let_it_arrive();
    return descriptors() <= before + rounds / 4;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM;
    for (int mode = UCP_ERR_HANDLING_MODE_NONE; mode <= UCP_ERR_HANDLING_MODE_PEER; mode++)
        for (enum how how = ONE_WAY; how < HOWS; how++) {
            memset(&extra_ep_params, 0, sizeof extra_ep_params);
            extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
            extra_ep_params.err_mode = mode;
            extra_ep_params.err_handler.cb = on_error;
            open_side(&A);
            open_side(&B);
            lend_window();
            once(how);
            let_it_arrive();
            int before = descriptors();
            for (int i = 0; i < rounds; i++) once(how);
            int ok = settles(before, rounds);
            printf("%s: %s\n", hows[how], ok ? "nothing is left behind" : "WRONG, something is left behind");
            fprintf(stderr, "%d descriptors, then %d\n", before, descriptors());
            HOLDS(told == 0);
            ucp_rkey_buffer_release(packed);
            MUST(ucp_mem_unmap(B.ctx, lent));
            pair_close();
        }
    return finish();
}
