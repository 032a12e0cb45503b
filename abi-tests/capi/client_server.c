/* Client and server by socket address: listeners, requests answered at once, later or with no, what
 * queries say, endpoints given to the accept handler, loads before the answer, nobody listening. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static ucp_conn_request_h asked;
static int asked_times, given_times, failed_times;
static ucp_ep_h given;
static ucs_status_t failed_with;

static void on_request(ucp_conn_request_h request, void *arg)
{
    HOLDS(arg == &asked);
    asked = request;
    asked_times++;
}

static void on_accept(ucp_ep_h ep, void *arg)
{
    HOLDS(arg == &given);
    given = ep;
    given_times++;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    (void)ep;
    failed_times++;
    failed_with = status;
}

static struct sockaddr_in any_port(const char *ip)
{
    struct sockaddr_in a;
    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    inet_pton(AF_INET, ip, &a.sin_addr);
    return a;
}

static ucp_listener_h listen_at(struct sockaddr_in *a, int accepts)
{
    ucp_listener_h l;
    ucp_listener_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR;
    p.sockaddr.addr = (struct sockaddr *)a;
    p.sockaddr.addrlen = sizeof *a;
    if (accepts) {
        p.field_mask |= UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER;
        p.accept_handler.cb = on_accept;
        p.accept_handler.arg = &given;
    } else {
        p.field_mask |= UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
        p.conn_handler.cb = on_request;
        p.conn_handler.arg = &asked;
    }
    MUST(ucp_listener_create(B.w, &p, &l));
    ucp_listener_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    MUST(ucp_listener_query(l, &attr));
    struct sockaddr_in *is = (struct sockaddr_in *)&attr.sockaddr;
    HOLDS(is->sin_family == AF_INET && is->sin_port != 0);
    a->sin_port = is->sin_port;
    return l;
}

static ucp_ep_params_t with_errors(void)
{
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    p.err_handler.cb = on_error;
    return p;
}

static void connect_client(const struct sockaddr_in *a)
{
    ucp_ep_params_t p = with_errors();
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (const struct sockaddr *)a;
    p.sockaddr.addrlen = sizeof *a;
    MUST(ucp_ep_create(A.w, &p, &A.ep));
}

static void force_close(ucp_ep_h *ep)
{
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = UCP_EP_CLOSE_FLAG_FORCE;
    finished(ucp_ep_close_nbx(*ep, &p));
    *ep = NULL;
}

static void accept_it(void)
{
    ucp_conn_request_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
    MUST(ucp_conn_request_query(asked, &attr));
    struct sockaddr_in *client = (struct sockaddr_in *)&attr.client_address;
    HOLDS(client->sin_family == AF_INET && client->sin_port != 0);
    ucp_ep_params_t p = with_errors();
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = asked;
    MUST(ucp_ep_create(B.w, &p, &B.ep));
    asked = NULL;
}

static void both_ways(size_t n)
{
    static unsigned char out[1 << 20], in[1 << 20];
    struct side *from = &A, *to = &B;
    for (int turn = 0; turn < 2; turn++, from = &B, to = &A) {
        fill(out, n, turn);
        memset(in, 0, n);
        ucs_status_ptr_t r = ucp_tag_recv_nbx(to->w, in, n, 9, ALL, &plain);
        ucs_status_t s = finished(ucp_tag_send_nbx(from->ep, out, n, 9, &plain));
        ucs_status_t t = finished(r);
        if (s != UCS_OK || t != UCS_OK || !same(in, n, turn)) DIE("%zu bytes: %s, %s", n, name(s), name(t));
    }
}

static void ends_of(ucp_ep_h ep, uint16_t *local, uint16_t *remote)
{
    ucp_ep_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR | UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR;
    MUST(ucp_ep_query(ep, &attr));
    *local = ((struct sockaddr_in *)&attr.local_sockaddr)->sin_port;
    *remote = ((struct sockaddr_in *)&attr.remote_sockaddr)->sin_port;
}

static void accepted(struct sockaddr_in *a)
{
    uint16_t al, ar, bl, br;
    asked_times = 0;
    connect_client(a);
    UNTIL(asked_times == 1);
    accept_it();
    ucs_status_ptr_t flush = ucp_ep_flush_nbx(A.ep, &plain);
    printf("flush after connecting: %s\n", name(finished(flush)));
    ends_of(A.ep, &al, &ar);
    ends_of(B.ep, &bl, &br);
    printf("the two ends %s\n", al == br && ar == bl && ar == a->sin_port ? "agree" : "DIFFER");
    both_ways(8);
    both_ways(10000);
    both_ways(1 << 20);
    force_close(&A.ep);
    force_close(&B.ep);
    printf("accepted, used and closed\n");
}

/* What is posted before the answer waits for it. */
static void early_load(struct sockaddr_in *a)
{
    enum { N = 20 };
    static long out[N], in[N];
    ucs_status_ptr_t s[N], r[N];
    asked_times = 0;
    connect_client(a);
    for (int i = 0; i < N; i++) {
        out[i] = i * 3 + 1;
        r[i] = ucp_tag_recv_nbx(B.w, &in[i], sizeof in[i], 100 + i, ALL, &plain);
        s[i] = ucp_tag_send_nbx(A.ep, &out[i], sizeof out[i], 100 + i, &plain);
    }
    UNTIL(asked_times == 1);
    let_it_arrive();
    accept_it();
    for (int i = 0; i < N; i++) {
        ucs_status_t sent = finished(s[i]), received = finished(r[i]);
        if (sent != UCS_OK || received != UCS_OK || in[i] != out[i]) DIE("early message %d: %s, %s", i, name(sent), name(received));
    }
    force_close(&A.ep);
    force_close(&B.ep);
    printf("%d messages posted before the answer\n", N);
}

/* A connection that never came about has nothing to wait for, also where it isn't closed by force. */
static void close_failed(void)
{
    finished(ucp_ep_close_nbx(A.ep, &plain));
    printf("closed after its failure\n");
}

static void refused(ucp_listener_h l, struct sockaddr_in *a)
{
    asked_times = failed_times = 0;
    connect_client(a);
    long v = 5;
    ucs_status_ptr_t s = ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain);
    UNTIL(asked_times == 1);
    let_it_arrive();
    MUST(ucp_listener_reject(l, asked));
    UNTIL(failed_times != 0);
    printf("refused: handler called %d time, %s\n", failed_times, name(failed_with));
    printf("what waited: %s\n", finished(s) < 0 ? "an error" : "OK");
    close_failed();
}

static void nobody(struct sockaddr_in *a)
{
    failed_times = 0;
    connect_client(a);
    UNTIL(failed_times != 0);
    printf("nobody listens: handler called %d time, %s\n", failed_times, failed_with < 0 ? "an error" : "OK");
    printf("a flush of what has failed: %s\n", finished(ucp_ep_flush_nbx(A.ep, &plain)) < 0 ? "an error" : "OK");
    close_failed();
    connect_client(a);
    UNTIL(failed_times == 2);
    force_close(&A.ep);
    /* Closed before anything is known. */
    connect_client(a);
    finished(ucp_ep_close_nbx(A.ep, &plain));
    printf("nobody listens, closed\n");
}

static void taken(struct sockaddr_in *a)
{
    ucp_listener_h second;
    ucp_listener_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    p.sockaddr.addr = (struct sockaddr *)a;
    p.sockaddr.addrlen = sizeof *a;
    p.conn_handler.cb = on_request;
    p.conn_handler.arg = &asked;
    printf("a taken port: %s\n", name(ucp_listener_create(B.w, &p, &second)));
    p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR;
    printf("no handler: %s\n", name(ucp_listener_create(B.w, &p, &second)));
    p.field_mask = UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    printf("no address: %s\n", name(ucp_listener_create(B.w, &p, &second)));
}

static void given_endpoint(void)
{
    struct sockaddr_in a = any_port("127.0.0.1");
    ucp_listener_h l = listen_at(&a, 1);
    given_times = 0;
    connect_client(&a);
    UNTIL(given_times == 1);
    B.ep = given;
    both_ways(100);
    close_side(&B);
    force_close(&A.ep);
    ucp_listener_destroy(l);
    printf("endpoint from the accept handler\n");
}

int main(void)
{
    features = UCP_FEATURE_TAG;
    open_side(&A);
    open_side(&B);
    struct sockaddr_in a = any_port("127.0.0.1");
    ucp_listener_h l = listen_at(&a, 0);
    for (int i = 0; i < 3; i++) accepted(&a);
    early_load(&a);
    refused(l, &a);
    taken(&a);
    ucp_listener_destroy(l);
    nobody(&a);
    given_endpoint();
    pair_close();
    return finish();
}
