/* Many short connections by socket address, and all that may happen to one, by chance: clients that are accepted at
 * once, later, not at all or refused; messages of every kind and size both ways, received or not; closes in order and by
 * force, by either side, twice at once, inside the error handler; a listener that is destroyed while requests wait.
 * Every request ends, no handler is called twice, and afterwards a connection works as if nothing had been.
 * usage: storm ROUNDS [SEED] */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

#define CONNECTIONS 12
#define POSTED 4096
#define LARGE (512 << 10)

struct end {
    ucp_ep_h ep;
    int told, closes_inside, closed;
};

static struct end clients[CONNECTIONS], servers[CONNECTIONS];
static int accepted;
static ucp_conn_request_h asked[CONNECTIONS];
static int requests;
static ucp_listener_h listener;
static struct sockaddr_in at;
static ucs_status_ptr_t posted[POSTED];
static int in_flight;
static char out[LARGE], in[64][LARGE / 8];
static unsigned seed = 1;
static long ends[64]; /* of what was posted, by status */

static unsigned chance(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % n;
}

static void keep(ucs_status_ptr_t r)
{
    if (UCS_PTR_IS_ERR(r)) ends[-UCS_PTR_STATUS(r) & 63]++;
    if (!UCS_PTR_IS_PTR(r)) return;
    if (in_flight == POSTED) DIE("too many requests");
    posted[in_flight++] = r;
}

static void close_one(struct end *e)
{
    static const ucp_request_param_t forced = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (!e->ep) return;
    ucp_ep_h ep = e->ep;
    e->ep = NULL;
    e->closed = 1;
    keep(ucp_ep_close_nbx(ep, chance(2) ? &forced : &plain));
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct end *e = arg;
    if (e->told++) DIE("an error handler is called twice");
    if (e->closed) DIE("an error handler is called for an endpoint that is closed");
    if (status == UCS_OK) DIE("an error handler is called with OK");
    if (e->closes_inside) close_one(e);
}

static void on_request(ucp_conn_request_h request, void *arg)
{
    if (requests == CONNECTIONS) {
        ucp_listener_reject(listener, request);
        return;
    }
    asked[requests++] = request;
}

static ucs_status_t on_message(void *arg, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) || chance(3) == 0) return UCS_OK;
    keep(ucp_am_recv_data_nbx(arg, data, in[chance(64)], sizeof in[0], &plain));
    return UCS_OK;
}

static void listen_again(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&any, sizeof any}, .conn_handler = {on_request, NULL}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_create(B.w, &p, &listener));
    MUST(ucp_listener_query(listener, &attr));
    memcpy(&at, &attr.sockaddr, sizeof at);
}

static ucp_ep_params_t params(struct end *e)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_error, e}};
    memset(e, 0, sizeof *e);
    e->closes_inside = chance(2);
    return p;
}

static void connect_one(struct end *e)
{
    ucp_ep_params_t p = params(e);
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    MUST(ucp_ep_create(A.w, &p, &e->ep));
}

static void answer_one(void)
{
    if (!requests) return;
    ucp_conn_request_h request = asked[--requests];
    if (chance(5) == 0 || accepted == CONNECTIONS) {
        ucp_listener_reject(listener, request);
        return;
    }
    struct end *e = &servers[accepted];
    ucp_ep_params_t p = params(e);
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = request;
    if (ucp_ep_create(B.w, &p, &e->ep) == UCS_OK) accepted++;
    else e->ep = NULL;
}

static void send_one(struct end *e)
{
    static const size_t sizes[] = {0, 8, 3000, 20000, LARGE};
    static const ucp_request_param_t rndv = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_RNDV};
    size_t n = sizes[chance(5)];
    if (!e->ep) return;
    switch (chance(5)) {
    case 0: keep(ucp_tag_send_nbx(e->ep, out, n, chance(4), &plain)); break;
    case 1: keep(ucp_tag_send_sync_nbx(e->ep, out, n, chance(4), &plain)); break;
    case 2: keep(ucp_am_send_nbx(e->ep, 3, NULL, 0, out, n, chance(2) ? &rndv : &plain)); break;
    case 3: keep(ucp_stream_send_nbx(e->ep, out, n, &plain)); break;
    default: keep(ucp_ep_flush_nbx(e->ep, &plain));
    }
}

static void receive_one(void)
{
    ucp_worker_h w = chance(2) ? A.w : B.w;
    ucp_tag_recv_info_t info;
    ucp_tag_message_h m = ucp_tag_probe_nb(w, chance(4), 3, 1, &info);
    if (m) keep(ucp_tag_msg_recv_nbx(w, in[chance(64)], sizeof in[0], m, &plain));
}

static int left(void)
{
    int n = 0;
    for (int i = 0; i < in_flight; i++) {
        ucs_status_t s = ucp_request_check_status(posted[i]);
        if (s == UCS_INPROGRESS) posted[n++] = posted[i];
        else {
            ends[-s & 63]++;
            ucp_request_free(posted[i]);
        }
    }
    return in_flight = n;
}

static void act(int i)
{
    for (int n = chance(4); n > 0; n--) progress();
    switch (chance(12)) {
    case 0: if (!clients[i].ep) connect_one(&clients[i]); break;
    case 1: case 2: answer_one(); break;
    case 3: case 4: send_one(&clients[i]); break;
    case 5: case 6: send_one(&servers[i]); break;
    case 7: case 8: receive_one(); break;
    case 9: if (chance(3) == 0) close_one(&clients[i]); break;
    case 10: if (chance(3) == 0) close_one(&servers[i]); break;
    default:
        if (chance(30)) break;
        ucp_listener_destroy(listener);
        /* Requests outlive it. */
        listen_again();
    }
}

static void round_of(int number)
{
    accepted = 0;
    memset(servers, 0, sizeof servers);
    memset(clients, 0, sizeof clients);
    for (int i = 0; i < CONNECTIONS; i++) connect_one(&clients[i]);
    for (int k = 0; k < 400; k++) {
        act(chance(CONNECTIONS));
        left();
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        close_one(i % 2 ? &servers[i] : &clients[i]);
        close_one(i % 2 ? &clients[i] : &servers[i]);
    }
    while (requests) ucp_listener_reject(listener, asked[--requests]);
    double end = now() + 30;
    while (left() && now() < end) {
        progress();
        if (requests) ucp_listener_reject(listener, asked[--requests]);
    }
    if (in_flight) DIE("round %d: %d requests never end", number, in_flight);
    /* What has arrived and was not received. */
    ucp_tag_recv_info_t info;
    for (int i = 0; i < 2; i++)
        for (ucp_tag_message_h m; (m = ucp_tag_probe_nb(i ? B.w : A.w, 0, 0, 1, &info));) {
            keep(ucp_tag_msg_recv_nbx(i ? B.w : A.w, in[0], sizeof in[0], m, &plain));
            UNTIL(!left());
        }
}

/* The request of the first client. A client that has gone may have left one that comes only now: it is refused, since
 * the close of a client that nobody answers waits for that. */
static int of_first(ucp_conn_request_h request)
{
    ucp_conn_request_attr_t r = {.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};
    ucp_ep_attr_t e = {.field_mask = UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR};
    MUST(ucp_conn_request_query(request, &r));
    MUST(ucp_ep_query(clients[0].ep, &e));
    return ((struct sockaddr_in *)&r.client_address)->sin_port == ((struct sockaddr_in *)&e.local_sockaddr)->sin_port;
}

static ucp_conn_request_h take_first(void)
{
    for (;;) {
        UNTIL(requests);
        ucp_conn_request_h request = asked[--requests];
        if (of_first(request)) return request;
        ucp_listener_reject(listener, request);
    }
}

static void still_connects(void)
{
    unsigned before = seed;
    long v = 7, w = 0;
    connect_one(&clients[0]);
    ucp_conn_request_h request = take_first();
    ucp_ep_params_t p = params(&servers[0]);
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = request;
    MUST(ucp_ep_create(B.w, &p, &servers[0].ep));
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &w, sizeof w, 99, ALL, &plain);
    MUST(finished(ucp_tag_send_nbx(servers[0].ep, &v, sizeof v, 99, &plain)));
    MUST(finished(r));
    HOLDS(v == w);
    close_one(&clients[0]);
    close_one(&servers[0]);
    UNTIL(!left());
    seed = before;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    if (argc > 2) seed = atoi(argv[2]);
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM;
    open_side(&A);
    open_side(&B);
    for (int i = 0; i < 2; i++) {
        ucp_am_handler_param_t h = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                  UCP_AM_HANDLER_PARAM_FIELD_ARG, .id = 3, .cb = on_message, .arg = i ? B.w : A.w};
        MUST(ucp_worker_set_am_recv_handler(i ? B.w : A.w, &h));
    }
    listen_again();
    for (int i = 0; i < rounds; i++) {
        round_of(i);
        still_connects();
    }
    for (int i = 0; i < 64; i++)
        if (ends[i]) fprintf(stderr, "%s: %ld\n", name(-i), ends[i]);
    ucp_listener_destroy(listener);
    pair_close();
    return finish();
}
