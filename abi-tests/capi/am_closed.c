/* Active messages whose sender may be answered (UCP_AM_SEND_FLAG_REPLY) meet an endpoint by worker address that is closed, or
 * being closed, without force. A handler that is called gets an endpoint to answer on; else the message is dropped,
 * as genuine UCX does.
 * usage: am_closed */
#include "capi.h"

enum when { CLOSING, UNHEARD, HEARD, FORCED, WHENS };
static const char *const whens[] = {"while the close waits", "before the sender has heard of the close", "after that", "closed by force, and not heard"};
static const size_t sizes[] = {1, 40000, 1 << 20}; /* one packet, several, a rendezvous */
enum { AM = 3, BACK = 4, LARGE = 1 << 20, KEPT = 64 };
static char out[LARGE], in[LARGE];
static int calls, unanswerable, answers, kept;
static ucs_status_ptr_t sent[KEPT];

static ucs_status_t on_am(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    calls++;
    if (!(p->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) || !p->reply_ep) {
        unanswerable++;
        return UCS_OK;
    }
    HOLDS(kept < KEPT);
    sent[kept++] = ucp_am_send_nbx(p->reply_ep, BACK, NULL, 0, "y", 1, &plain);
    return UCS_OK;
}

static ucs_status_t on_back(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    answers++;
    return UCS_OK;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) {}

static void handle(struct side *s, unsigned id, ucp_am_recv_callback_t cb)
{
    ucp_am_handler_param_t h = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = id, .cb = cb};
    MUST(ucp_worker_set_am_recv_handler(s->w, &h));
}

/* The end of `r`, by A's progress alone. */
static void ends_alone(ucs_status_ptr_t r)
{
    double end = now() + 30;
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS && now() < end) ucp_worker_progress(A.w);
    MUST(finished(r));
}

static void once(enum when when, size_t size)
{
    static const ucp_request_param_t reply = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_REPLY};
    static const ucp_request_param_t by_force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t waiting = NULL, closing;
    connect_to(&A, B.addr);
    connect_to(&B, A.addr);
    introduce(&A, &B);
    introduce(&B, &A);
    if (when == CLOSING) {
        waiting = ucp_tag_send_nbx(A.ep, out, sizeof out, 4, &plain);
        let_it_arrive();
    }
    closing = ucp_ep_close_nbx(A.ep, when == FORCED ? &by_force : &plain);
    if (when != CLOSING) ends_alone(closing);
    if (when == HEARD) let_it_arrive();
    calls = unanswerable = answers = 0;
    ucs_status_ptr_t m = ucp_am_send_nbx(B.ep, AM, NULL, 0, out, size, &reply);
    let_it_arrive();
    if (when == CLOSING) {
        MUST(finished(ucp_tag_recv_nbx(B.w, in, sizeof in, 4, ALL, &plain)));
        MUST(finished(waiting));
        MUST(finished(closing));
    }
    ucs_status_t s = finished(m);
    let_it_arrive();
    while (kept > 0) MUST(finished(sent[--kept]));
    UNTIL(answers == calls - unanswerable);
    printf("%zu bytes %s: %d calls, %d of them unanswerable%s\n", size, whens[when], calls, unanswerable,
           unanswerable ? ", WRONG" : when == HEARD && s == UCS_OK && calls != 1 ? ", WRONG, lost" : "");
    fprintf(stderr, "the send gave %s\n", name(s));
    finished(ucp_ep_close_nbx(B.ep, &plain));
    A.ep = B.ep = NULL;
}

int main(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM;
    for (int mode = UCP_ERR_HANDLING_MODE_NONE; mode <= UCP_ERR_HANDLING_MODE_PEER; mode++)
        for (enum when when = CLOSING; when < WHENS; when++)
            for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                /* Genuine UCX wants error handling for it. */
                if (when == FORCED && mode == UCP_ERR_HANDLING_MODE_NONE) continue;
                memset(&extra_ep_params, 0, sizeof extra_ep_params);
                extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
                extra_ep_params.err_mode = mode;
                extra_ep_params.err_handler.cb = on_error;
                open_side(&A);
                open_side(&B);
                handle(&A, AM, on_am);
                handle(&B, BACK, on_back);
                once(when, sizes[i]);
                pair_close();
            }
    return finish();
}
