/* Endpoints that handle errors and have only received: the peer says something, closes or doesn't, and its worker is
 * destroyed. What is sent then ends, and what waits for the peer, if anything does, ends with an error at once: the
 * error handler runs once. Nothing here depends on keepalive, which may be off (UCX_KEEPALIVE_INTERVAL=inf). */
#include "inside.h"
#include "pair.h"

static int errors;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg, (void)ep;
    HOLDS(status < 0 && inside);
    errors++;
}

static void once(int closes, int sends, int waiting)
{
    char said[100] = "said", heard[100] = "";
    size_t len;
    errors = 0;
    pair_open(0);
    MUST(finished(ucp_stream_send_nbx(B.ep, said, sizeof said, &(ucp_request_param_t){0})));
    MUST(finished(ucp_stream_recv_nbx(A.ep, heard, sizeof heard, &len, &plain)));
    HOLDS(!memcmp(said, heard, sizeof heard));
    ucs_status_ptr_t waits = waiting ? ucp_stream_recv_nbx(A.ep, heard, sizeof heard, &len, &plain) : NULL;
    HOLDS(!waiting || UCS_PTR_IS_PTR(waits));
    if (closes) close_side(&B);
    ucp_worker_release_address(B.w, B.addr);
    ucp_worker_destroy(B.w);
    ucp_cleanup(B.ctx);
    memset(&B, 0, sizeof B);
    if (sends) (void)finished(ucp_stream_send_nbx(A.ep, said, sizeof said, &plain));
    if (waiting) HOLDS(finished(waits) < 0);
    UNTIL(errors);
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    (void)finished(ucp_ep_close_nbx(A.ep, &force));
    HOLDS(errors == 1);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    printf("%s, %s, %s: told\n", closes ? "closed" : "not closed", sends ? "sent to" : "silent", waiting ? "waited for" : "not waited for");
}

int main(void)
{
    features = UCP_FEATURE_STREAM;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    for (int how = 0; how < 8; how++) once(how & 1, how >> 1 & 1, how >> 2);
    say_maps();
    printf("end\n");
    return 0;
}
