/* The close in order of a connection by socket address ends when the peer's worker has taken notice of it: from then
 * on the peer's endpoint gives the failure to whoever asks, and its error handler has been called, or is by the next
 * progress. While the peer's worker does nothing, the close waits. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in at = {.sin_family = AF_INET};
static ucp_listener_h listener;
static ucp_conn_request_h asked;
static int told[2];
static ucs_status_t why[2];
static ucp_err_handling_mode_t mode;

static struct side *side(int i) { return i ? &B : &A; }

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    int i = arg == &told[1];
    told[i]++;
    why[i] = status;
}

static ucp_ep_params_t params(int i)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, .err_mode = mode};
    if (mode == UCP_ERR_HANDLING_MODE_NONE) return p;
    p.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
    p.err_handler.cb = on_error;
    p.err_handler.arg = &told[i];
    return p;
}

static void exchange(void)
{
    for (int i = 0; i < 2; i++) {
        long v = 1, w = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(side(!i)->w, &w, sizeof w, 7, ALL, &plain);
        MUST(finished(ucp_tag_send_nbx(side(i)->ep, &v, sizeof v, 7, &plain)));
        MUST(finished(r));
    }
}

static void connected(void)
{
    memset(told, 0, sizeof told);
    ucp_ep_params_t p = params(0), q = params(1);
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    UNTIL(asked);
    q.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    q.conn_request = asked;
    MUST(ucp_ep_create(B.w, &q, &B.ep));
    asked = NULL;
    exchange();
}

static ucs_status_ptr_t closing(int i)
{
    ucs_status_ptr_t r = ucp_ep_close_nbx(side(i)->ep, &plain);
    side(i)->ep = NULL;
    return r;
}

/* Only this side's worker does anything, for a while. */
static int ends_alone(int i, ucs_status_ptr_t r)
{
    for (double end = now() + 0.3; now() < end;) {
        ucp_worker_progress(side(i)->w);
        if (!UCS_PTR_IS_PTR(r) || ucp_request_check_status(r) != UCS_INPROGRESS) return 1;
    }
    return 0;
}

static void one_after_the_other(int first, int force)
{
    static const ucp_request_param_t forced = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    connected();
    ucs_status_ptr_t r = closing(first);
    int alone = ends_alone(first, r);
    printf("alone: %s; then %s", alone ? "ends" : "waits", name(finished(r)));
    /* Told before anything but the close was waited for. */
    ucs_status_ptr_t s = ucp_ep_close_nbx(side(!first)->ep, force ? &forced : &plain);
    side(!first)->ep = NULL;
    printf("; the other: %s", name(finished(s)));
    if (mode != UCP_ERR_HANDLING_MODE_NONE && !force) printf(", handler %s", told[!first] ? name(why[!first]) : "not called");
    HOLDS(told[first] == 0 && told[!first] <= 1);
    printf("\n");
}

static void both(void)
{
    connected();
    ucs_status_ptr_t r = closing(0), s = closing(1);
    printf("both: %s", name(finished(r)));
    printf(" and %s\n", name(finished(s)));
    HOLDS(told[0] + told[1] == 0);
}

/* A message that is sent just before is received all the same. */
static void with_a_message(int first)
{
    long v = 5, w = 0;
    connected();
    ucs_status_ptr_t q = ucp_tag_send_nbx(side(first)->ep, &v, sizeof v, 9, &plain);
    ucs_status_ptr_t r = closing(first);
    printf("a message and a close: %s", name(finished(q)));
    printf(", %s", name(finished(r)));
    printf(", received %s", name(finished(ucp_tag_recv_nbx(side(!first)->w, &w, sizeof w, 9, ALL, &plain))));
    HOLDS(w == v);
    ucs_status_ptr_t s = closing(!first);
    printf("; the other: %s\n", name(finished(s)));
}

/* A large message is announced to an end that waits for the other's notice, and a receive waits for it there: the
 * other end is closed as well, and everything ends. (With genuine UCX it doesn't.) */
static void a_receive_meanwhile(int first)
{
    static char in[1 << 20], out[1 << 20];
    connected();
    ucs_status_ptr_t in_r = ucp_tag_recv_nbx(side(first)->w, in, sizeof in, 9, ALL, &plain);
    ucs_status_ptr_t out_r = ucp_tag_send_nbx(side(!first)->ep, out, sizeof out, 9, &plain);
    ucs_status_ptr_t r = closing(first);
    ends_alone(first, r);
    ucs_status_ptr_t s = closing(!first);
    finished(out_r);
    finished(r);
    finished(s);
    /* Where the peer reads or writes nothing of its own, the receive may have gone on alone. */
    finished(in_r);
    printf("a receive meanwhile: all ends\n");
}

int main(int argc, char **argv)
{
    static const char *modes[] = {"without error handling", "with error handling"};
    open_side(&A);
    open_side(&B);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
    MUST(ucp_listener_create(B.w, &p, &listener));
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(listener, &attr));
    at.sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    for (mode = UCP_ERR_HANDLING_MODE_NONE; mode <= UCP_ERR_HANDLING_MODE_PEER; mode++) {
        for (int first = 0; first < 2; first++) {
            printf("%s, %s first\n", modes[mode], first ? "server" : "client");
            one_after_the_other(first, 0);
            if (mode) one_after_the_other(first, 1);
            with_a_message(first);
            if (argc > 1) a_receive_meanwhile(first);
        }
        both();
    }
    ucp_listener_destroy(listener);
    pair_close();
    return finish();
}
