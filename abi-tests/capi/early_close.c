/* A client that closes its endpoint by force before the server accepts it, which sends a message of many parts all the same: a receive that
 * has got some of them ends.
 * usage: early_close     with UCX_RNDV_THRESH=inf */
#include "listener.h"

enum { SIZE = 4 << 20, MOMENTS = 40 };
static char out[SIZE], in[SIZE];
static ucp_conn_request_h asked;

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { *(int *)arg += 1; }

static void once(const struct sockaddr_in *at, int moment, long ends[2])
{
    static const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    int told = 0, ignored = 0;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_error, &ignored}, .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                         .sockaddr = {(const struct sockaddr *)at, sizeof *at}};
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    UNTIL(asked);
    MUST(finished(ucp_ep_close_nbx(A.ep, &force)));
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, in, SIZE, 1, ALL, &plain);
    HOLDS(UCS_PTR_IS_PTR(r));
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    p.err_handler.cb = on_error;
    p.err_handler.arg = &told;
    p.conn_request = asked;
    asked = NULL;
    MUST(ucp_ep_create(B.w, &p, &B.ep));
    ucs_status_ptr_t s = ucp_tag_send_nbx(B.ep, out, SIZE, 1, &plain);
    /* Parts come to the client before the server hears that it has gone, and after. */
    for (int i = 0; i < moment; i++) ucp_worker_progress(i % 2 ? A.w : B.w);
    UNTIL(told);
    finished(s);
    MUST(finished(ucp_ep_close_nbx(B.ep, &force)));
    A.ep = B.ep = NULL;
    let_it_arrive();
    /* One that no part has come for waits for another sender. */
    ucp_request_cancel(A.w, r);
    double end = now() + 10;
    while (ucp_request_check_status(r) == UCS_INPROGRESS && now() < end) progress();
    if (ucp_request_check_status(r) == UCS_INPROGRESS) {
        printf("WRONG, a receive never ends, closed at moment %d\n", moment);
        exit(1);
    }
    ends[finished(r) == UCS_ERR_CANCELED]++;
}

int main(void)
{
    struct sockaddr_in at;
    long ends[2] = {0};
    open_side(&A);
    open_side(&B);
    ucp_listener_h l = listen_here(&B, &at, on_request);
    for (int moment = 0; moment < MOMENTS; moment++) once(&at, moment, ends);
    fprintf(stderr, "%ld receives had parts, %ld had none\n", ends[0], ends[1]);
    printf("each receive has ended\n");
    ucp_listener_destroy(l);
    pair_close();
    return finish();
}
