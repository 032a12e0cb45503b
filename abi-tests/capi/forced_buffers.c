/* Force close with 100 large messages in flight, at many moments, by either side: every request completes
 * once, a buffer is not touched after its request has completed, and what arrives is what was sent. */
#include "capi.h"

enum { N = 100, LEN = 300000 };

static unsigned char *out[N], *in[N];
static int sent[N], got[N], n_sent, n_got, n_failed, once;
static ucs_status_t sent_as[N], got_as[N];

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    int i = (int)(long)arg;
    if (sent[i]++) once = 0;
    sent_as[i] = status;
    n_sent++;
    memset(out[i], 0xff, LEN); /* it is ours again */
    ucp_request_free(request);
}

static void on_got(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *arg)
{
    int i = (int)(long)arg;
    (void)info;
    if (got[i]++) once = 0;
    got_as[i] = status;
    n_got++;
    if (status == UCS_OK) {
        if (!same(in[i], LEN, i)) DIE("message %d is not what was sent", i);
    }
    memset(in[i], 0xee, LEN);
    ucp_request_free(request);
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    (void)ep;
    (void)status;
    n_failed++;
}

static void close_by_force(ucp_ep_h *ep)
{
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = UCP_EP_CLOSE_FLAG_FORCE;
    (void)finished(ucp_ep_close_nbx(*ep, &p));
    *ep = NULL;
}

static void one_round(int moment, int by_sender)
{
    n_sent = n_got = n_failed = 0;
    once = 1;
    pair_open(0);
    still_works();
    for (int i = 0; i < N; i++) {
        sent[i] = got[i] = 0;
        fill(out[i], LEN, i);
        ucp_request_param_t s, r;
        memset(&s, 0, sizeof s);
        s.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        s.user_data = (void *)(long)i;
        r = s;
        s.cb.send = on_sent;
        r.cb.recv = on_got;
        HOLDS(UCS_PTR_IS_PTR(ucp_tag_recv_nbx(B.w, in[i], LEN, i, ALL, &r)));
        HOLDS(UCS_PTR_IS_PTR(ucp_tag_send_nbx(A.ep, out[i], LEN, i, &s)));
    }
    for (int i = 0; i < moment; i++) progress();
    if (by_sender) {
        close_by_force(&A.ep);
        HOLDS(n_sent == N);
    } else {
        close_by_force(&B.ep);
    }
    UNTIL(n_sent == N);
    let_it_arrive();
    for (int i = 0; i < N; i++)
        if (got[i] && !untouched(in[i], LEN, 0xee)) DIE("buffer %d was written after its completion", i);
    if (!once) DIE("a request completed twice");
    if (A.ep) close_by_force(&A.ep);
    if (B.ep) close_by_force(&B.ep);
    pair_close(); /* receives that nobody will serve go with the worker */
}

int main(void)
{
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    for (int i = 0; i < N; i++) HOLDS((out[i] = malloc(LEN)) && (in[i] = malloc(LEN)));
    int rounds = 0;
    for (int moment = 0; moment < 3000; moment += 1 + moment / 3)
        for (int by_sender = 0; by_sender < 2; by_sender++, rounds++) one_round(moment, by_sender);
    printf("%d forced closes\n", rounds);
    return finish();
}
