/* An endpoint that fails, and is closed by force in the callback of one of the operations that end with it, while others
 * wait behind that one: each ends once, and each request is free once. A receive that is posted in the callback of one that
 * the end of the connection ends, and meets a message of the same peer's, ends as well.
 * usage: close_inside */
#include "listener.h"

enum kind { SMALL, SYNC, LARGE, AM, STREAM, STREAM_RECV, FLUSH, WORKER_FLUSH, KINDS };
static const char *const kinds[] = {"a tagged send", "a synchronous one", "a large one", "an active message", "a stream send", "a stream receive", "a flush",
                                    "a flush of the worker"};
enum { SIZE = 1 << 20, MANY = 300 };
static char out[SIZE], in[KINDS][SIZE];
static size_t got[KINDS];
static int ended[KINDS], closer, told, held;
static ucs_status_ptr_t closing;
static ucp_conn_request_h asked;

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { told++; }

static void over(enum kind kind)
{
    static const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ended[kind]++;
    if ((int)kind == closer && A.ep) {
        ucp_ep_h ep = A.ep;
        A.ep = NULL;
        closing = ucp_ep_close_nbx(ep, &force);
    }
}

static void on_end(void *request, ucs_status_t status, void *arg)
{
    over((enum kind)(long)arg);
    if (!held) ucp_request_free(request);
}
static void on_stream(void *request, ucs_status_t status, size_t length, void *arg) { on_end(request, status, arg); }

static ucs_status_ptr_t post(enum kind kind)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .cb.send = on_end, .user_data = (void *)(long)kind};
    switch (kind) {
    case SMALL: return ucp_tag_send_nbx(A.ep, out, 8, 1, &p);
    case SYNC: return ucp_tag_send_sync_nbx(A.ep, out, 8, 1, &p);
    case LARGE: return ucp_tag_send_nbx(A.ep, out, SIZE, 1, &p);
    case AM: return ucp_am_send_nbx(A.ep, 1, NULL, 0, out, SIZE, &p);
    case STREAM: return ucp_stream_send_nbx(A.ep, out, SIZE, &p);
    case STREAM_RECV: p.cb.recv_stream = on_stream; return ucp_stream_recv_nbx(A.ep, in[0], SIZE, &got[0], &p);
    case FLUSH: return ucp_ep_flush_nbx(A.ep, &p);
    default: return ucp_worker_flush_nbx(A.w, &p);
    }
}

/* So many receives that whatever is free in the pool is handed out: to one each. */
static int all_differ(void)
{
    static ucs_status_ptr_t r[MANY];
    int ok = 1;
    for (int i = 0; i < MANY; i++) {
        r[i] = ucp_tag_recv_nbx(A.w, in[0], 8, 77, ALL, &plain);
        HOLDS(UCS_PTR_IS_PTR(r[i]));
        for (int k = 0; k < i; k++) ok &= r[k] != r[i];
    }
    if (!ok) return 0;
    for (int i = 0; i < MANY; i++) {
        ucp_request_cancel(A.w, r[i]);
        HOLDS(finished(r[i]) == UCS_ERR_CANCELED);
    }
    return 1;
}

/* ---- receives in callbacks -------------------------------------------------------------------------- */

enum { MORE_THAN_SOCKETS_HOLD = 64 << 20 };
static char huge[2][MORE_THAN_SOCKETS_HOLD];
static ucs_status_ptr_t second;
static int first_ended;

static void on_first(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *arg)
{
    first_ended++;
    second = ucp_tag_recv_nbx(A.w, in[1], SIZE, 2, ALL, &plain);
    ucp_request_free(request);
}

/* A client that has closed before the server accepts it, and waits for its notice, receives what it sends. */
static void receive_inside(const struct sockaddr_in *at)
{
    ucp_request_param_t first = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.recv = on_first};
    ucp_tag_recv_info_t info;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler.cb = on_error, .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                         .sockaddr = {(const struct sockaddr *)at, sizeof *at}};
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    closing = ucp_ep_close_nbx(A.ep, &plain);
    UNTIL(asked);
    p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = asked;
    asked = NULL;
    MUST(ucp_ep_create(B.w, &p, &B.ep));
    ucs_status_ptr_t s[] = {ucp_tag_send_nbx(B.ep, huge[0], sizeof huge[0], 1, &plain), ucp_tag_send_nbx(B.ep, out, SIZE, 2, &plain)};
    for (double end = now() + 1; !ucp_tag_probe_nb(A.w, 2, ALL, 0, &info) && now() < end;) progress();
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, huge[1], sizeof huge[1], 1, ALL, &first);
    if (!UCS_PTR_IS_PTR(r)) first_ended++;
    let_it_arrive();
    if (!first_ended) ucp_request_cancel(A.w, r); /* no message has come */
    UNTIL(first_ended);
    finished(second);
    for (int i = 0; i < 2; i++) finished(s[i]);
    MUST(finished(closing));
    finished(ucp_ep_close_nbx(B.ep, &plain));
    A.ep = B.ep = NULL;
    printf("a receive in the callback of a receive that the close has ended: ends\n");
}

int main(void)
{
    struct sockaddr_in at;
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM;
    open_side(&A);
    open_side(&B);
    ucp_listener_h l = listen_here(&B, &at, on_request);
    receive_inside(&at);
    ucp_listener_destroy(l);
    pair_close();
    for (held = 0; held < 2; held++)
        for (closer = 0; closer < KINDS; closer++) {
            ucp_ep_params_t e = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS,
                                 .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler.cb = on_error, .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                                 .sockaddr = {(struct sockaddr *)&at, sizeof at}};
            ucs_status_ptr_t r[KINDS] = {0};
            open_side(&A);
            open_side(&B);
            l = listen_here(&B, &at, on_request);
            MUST(ucp_ep_create(A.w, &e, &A.ep));
            memset(ended, 0, sizeof ended);
            closing = NULL;
            /* That one first. */
            for (int i = 0; i < KINDS; i++) {
                int kind = (closer + i) % KINDS;
                r[kind] = post(kind);
                HOLDS(UCS_PTR_IS_PTR(r[kind]));
            }
            UNTIL(asked);
            MUST(ucp_listener_reject(l, asked));
            asked = NULL;
            UNTIL(ended[closer]);
            let_it_arrive();
            MUST(finished(closing));
            int once = 1;
            for (int i = 0; i < KINDS; i++) {
                UNTIL(ended[i]);
                once &= ended[i] == 1;
                if (held) ucp_request_free(r[i]);
            }
            if (A.ep) close_side(&A);
            printf("closed in the callback of %s%s: %s, %s\n", kinds[closer], held ? ", requests freed later" : "", once ? "each ended once" : "WRONG, one ended twice",
                   once && all_differ() ? "each is free once" : "WRONG, one is handed out twice");
            if (!once) return 1;
            ucp_listener_destroy(l);
            pair_close();
        }
    return finish();
}
