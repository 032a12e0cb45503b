/* Endpoints by socket address give worker addresses to each other as private data of the connection. What happens where
 * these are longer than the user allows (UCX_TCP_CM_PRIV_DATA_LEN): at the client, at the server, at neither. Also: what
 * a listener says of itself, and of a field that it doesn't know.
 * usage: private_data [server: its limit too] */
#include "inside.h"
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static int told;
static ucs_status_t why;
static ucp_conn_request_h asked;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    HOLDS(inside);
    told++;
    why = status;
}

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }

static void close_it(struct side *s)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (s->ep) finished(ucp_ep_close_nbx(s->ep, &p));
    s->ep = NULL;
}

static ucp_ep_params_t with_errors(uint64_t fields)
{
    ucp_ep_params_t p = {.field_mask = fields | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_error, NULL}};
    return p;
}

static void limited(struct side *s, const char *limit)
{
    if (limit) setenv("UCX_TCP_CM_PRIV_DATA_LEN", limit, 1);
    else unsetenv("UCX_TCP_CM_PRIV_DATA_LEN");
    open_side(s);
}

static void one(const char *client, const char *server, int handles)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t lp = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    ucp_listener_h l;
    limited(&A, client);
    limited(&B, server);
    MUST(ucp_listener_create(B.w, &lp, &l));
    MUST(ucp_listener_query(l, &attr));
    at.sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    told = 0;
    asked = NULL;
    printf("client %s, server %s%s: ", client ? client : "as usual", server ? server : "as usual", handles ? "" : ", no handler");
    ucp_ep_params_t p = with_errors(UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS);
    if (!handles) p.field_mask &= ~(UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER);
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    ucs_status_t s = ucp_ep_create(A.w, &p, &A.ep);
    printf("the client's endpoint %s", name(s));
    if (s != UCS_OK) A.ep = NULL;
    long v = 3, w = 0;
    ucs_status_ptr_t sent = s == UCS_OK ? ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain) : UCS_STATUS_PTR(s);
    for (double end = now() + (handles ? 20 : 1); s == UCS_OK && !told && !asked && now() < end;) progress();
    if (asked) {
        p = with_errors(UCP_EP_PARAM_FIELD_CONN_REQUEST);
        p.conn_request = asked;
        s = ucp_ep_create(B.w, &p, &B.ep);
        printf(", the server's %s", name(s));
        if (s != UCS_OK) B.ep = NULL;
    } else {
        printf(", nobody asks");
    }
    if (s == UCS_OK && A.ep && B.ep) {
        MUST(finished(ucp_tag_recv_nbx(B.w, &w, sizeof w, 1, ALL, &plain)));
        HOLDS(v == w);
        printf(", a message %s\n", name(finished(sent)));
    } else {
        if (A.ep && handles) UNTIL(told);
        printf(", handlers called %d times: %s", told, told ? name(why) : "-");
        printf(", a message %s\n", handles || !UCS_PTR_IS_PTR(sent) ? name(finished(sent)) : name(ucp_request_check_status(sent)));
        if (A.ep && !handles) printf("closed: %s\n", finished(ucp_ep_close_nbx(A.ep, &plain)) < 0 ? "an error" : "OK"), A.ep = NULL;
    }
    close_it(&A);
    close_it(&B);
    ucp_listener_destroy(l);
    pair_close();
}

static void attributes(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, *is;
    ucp_listener_params_t lp = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
    ucp_listener_attr_t attr;
    ucp_listener_h l;
    limited(&A, NULL);
    MUST(ucp_listener_create(A.w, &lp, &l));
    memset(&attr, 0x5a, sizeof attr);
    attr.field_mask = 0;
    ucs_status_t s = ucp_listener_query(l, &attr);
    printf("no field: %s, %s\n", name(s), untouched(&attr.sockaddr, sizeof attr.sockaddr, 0x5a) ? "nothing written" : "WRITTEN");
    attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR | 1ull << 40;
    s = ucp_listener_query(l, &attr);
    is = (struct sockaddr_in *)&attr.sockaddr;
    printf("an unknown field: %s, %s, %s\n", name(s), is->sin_family == AF_INET && is->sin_port ? "a port" : "NO PORT",
           is->sin_addr.s_addr == at.sin_addr.s_addr ? "the address" : "ANOTHER ADDRESS");
    ucp_listener_destroy(l);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    memset(&A, 0, sizeof A);
}

int main(int argc, char **argv)
{
    attributes();
    one(NULL, NULL, 1);
    one("4000", "4000", 1);
    one("0", NULL, 1);
    one("0", NULL, 0);
    one("0", "0", 1);
    /* Genuine UCX's server can't read what the client says then, and the client waits for ever. */
    if (argc > 1) one(NULL, "0", 1);
    return finish();
}
