/* Client and server by socket address, beyond `client_server`: requests that are kept, forgotten,
 * refused at once or late, outlived by nobody; what queries say; who decides about error handling;
 * which end learns of the other's close; where a client connects from. 
 * usage: sockaddr [ADDRESS [forgotten]] */
#include "inside.h"
#include "capi.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

enum { MANY = 50 };

static ucp_conn_request_h asked[MANY];
static int asked_times, given_times, failed_times;
static ucp_ep_h given;
static ucs_status_t failed_with;
static ucp_listener_h refuse_at;

static void on_request(ucp_conn_request_h request, void *arg)
{
    (void)arg;
    HOLDS(asked_times < MANY);
    asked[asked_times++] = request;
}

static void on_request_refuse(ucp_conn_request_h request, void *arg)
{
    (void)arg;
    asked_times++;
    printf("refusing inside the callback: %s\n", name(ucp_listener_reject(refuse_at, request)));
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
    HOLDS(inside); /* from progress, not from a call that finds out */
    failed_times++;
    failed_with = status;
}

/* ---- addresses -------------------------------------------------------------------------------- */

static struct sockaddr_storage ip(const char *text, int port)
{
    struct sockaddr_storage s;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&s;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&s;
    char copy[128], *scope;
    memset(&s, 0, sizeof s);
    snprintf(copy, sizeof copy, "%s", text);
    if ((scope = strchr(copy, '%'))) *scope++ = 0;
    if (inet_pton(AF_INET, copy, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
    } else {
        HOLDS(inet_pton(AF_INET6, copy, &v6->sin6_addr) == 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        if (scope) v6->sin6_scope_id = if_nametoindex(scope);
    }
    return s;
}

static int port_of(const struct sockaddr_storage *s)
{
    if (s->ss_family == AF_INET) return ntohs(((const struct sockaddr_in *)s)->sin_port);
    return s->ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)s)->sin6_port) : -1;
}

static size_t len_of(const struct sockaddr_storage *s)
{
    return s->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The address with its scope, without the port. */
static const char *host(const struct sockaddr_storage *s)
{
    static char text[4][128];
    static int turn;
    char *t = text[turn++ % 4], dev[IF_NAMESIZE];
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s;
    if (s->ss_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)s)->sin_addr, t, 128);
    } else if (s->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, t, 100);
        if (v6->sin6_scope_id) {
            strcat(t, "%");
            strcat(t, if_indextoname(v6->sin6_scope_id, dev) ? dev : "?");
        }
    } else {
        snprintf(t, 128, "family %d", s->ss_family);
    }
    return t;
}

/* ---- building blocks ---------------------------------------------------------------------------- */

static struct sockaddr_storage where; /* the server */

static ucp_listener_h listen_with(ucp_listener_conn_callback_t cb, ucp_listener_accept_callback_t accept)
{
    ucp_listener_h l;
    ucp_listener_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR;
    p.sockaddr.addr = (struct sockaddr *)&where;
    p.sockaddr.addrlen = len_of(&where);
    if (cb) {
        p.field_mask |= UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
        p.conn_handler.cb = cb;
    } else {
        p.field_mask |= UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER;
        p.accept_handler.cb = accept;
        p.accept_handler.arg = &given;
    }
    MUST(ucp_listener_create(B.w, &p, &l));
    ucp_listener_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    MUST(ucp_listener_query(l, &attr));
    HOLDS(port_of(&attr.sockaddr) > 0);
    where = attr.sockaddr;
    return l;
}

static ucp_ep_params_t client_params(ucp_err_handling_mode_t mode)
{
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                   UCP_EP_PARAM_FIELD_FLAGS;
    p.err_mode = mode;
    p.err_handler.cb = on_error;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (const struct sockaddr *)&where;
    p.sockaddr.addrlen = len_of(&where);
    return p;
}

static ucp_ep_h connect_client(void)
{
    ucp_ep_h ep;
    ucp_ep_params_t p = client_params(UCP_ERR_HANDLING_MODE_PEER);
    MUST(ucp_ep_create(A.w, &p, &ep));
    return ep;
}

static ucs_status_t answer(ucp_conn_request_h request, uint64_t more, ucp_err_handling_mode_t mode, ucp_ep_h *ep)
{
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLER | more;
    p.conn_request = request;
    p.err_mode = mode;
    p.err_handler.cb = on_error;
    return ucp_ep_create(B.w, &p, ep);
}

static ucs_status_t close_ep(ucp_ep_h *ep, int force)
{
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    ucs_status_t s = finished(ucp_ep_close_nbx(*ep, &p));
    *ep = NULL;
    return s;
}

/* A message each way. */
static void talk(void)
{
    long out = 0x77, in;
    for (int turn = 0; turn < 2; turn++) {
        in = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(turn ? A.w : B.w, &in, sizeof in, 3, ALL, &plain);
        ucs_status_t s = finished(ucp_tag_send_nbx(turn ? B.ep : A.ep, &out, sizeof out, 3, &plain));
        ucs_status_t t = finished(r);
        if (s != UCS_OK || t != UCS_OK || in != out) DIE("turn %d: %s, %s", turn, name(s), name(t));
    }
}

static void ask(int n)
{
    asked_times = failed_times = 0;
    failed_with = UCS_OK;
    A.ep = connect_client();
    UNTIL(asked_times == n);
}

/* A client that is accepted and served. */
static void healthy(void)
{
    ask(1);
    MUST(answer(asked[0], UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, UCP_ERR_HANDLING_MODE_PEER, &B.ep));
    talk();
    close_ep(&A.ep, 1);
    close_ep(&B.ep, 1);
}

/* ---- requests ----------------------------------------------------------------------------------- */

static void kept(void)
{
    static ucp_ep_h clients[MANY], servers[MANY];
    static long out[MANY], in[MANY];
    ucs_status_ptr_t s[MANY], r[MANY];
    asked_times = failed_times = 0;
    for (int i = 0; i < MANY; i++) clients[i] = connect_client();
    UNTIL(asked_times == MANY);
    let_it_arrive();
    for (int i = MANY - 1; i >= 0; i--) MUST(answer(asked[i], 0, 0, &servers[i]));
    for (int i = 0; i < MANY; i++) {
        out[i] = 1000 + i;
        r[i] = ucp_tag_recv_nbx(B.w, &in[i], sizeof in[i], i, ALL, &plain);
        s[i] = ucp_tag_send_nbx(clients[i], &out[i], sizeof out[i], i, &plain);
    }
    for (int i = 0; i < MANY; i++) {
        HOLDS(finished(s[i]) == UCS_OK && finished(r[i]) == UCS_OK && in[i] == out[i]);
    }
    for (int i = 0; i < MANY; i++) {
        close_ep(&clients[i], 1);
        close_ep(&servers[i], 1);
    }
    printf("%d requests kept and answered in the other order, errors: %s\n", MANY, failed_times ? "some" : "none");
}

static void refused_late(ucp_listener_h l)
{
    ask(1);
    usleep(100000);
    let_it_arrive();
    printf("refusing late: %s\n", name(ucp_listener_reject(l, asked[0])));
    UNTIL(failed_times);
    let_it_arrive();
    printf("the client's handler ran %d time with %s\n", failed_times, name(failed_with));
    long v = 1;
    printf("sending then: %s\n", finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain)) < 0 ? "an error" : "OK");
    printf("closing then: %s\n", name(close_ep(&A.ep, 1)));
}

/* The client goes before the answer. */
static void gone(ucp_listener_h l, int reject)
{
    ask(1);
    close_ep(&A.ep, 1);
    let_it_arrive();
    failed_times = 0;
    if (reject) {
        printf("refusing a client that has gone: %s\n", name(ucp_listener_reject(l, asked[0])));
    } else {
        ucs_status_t s = answer(asked[0], UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, UCP_ERR_HANDLING_MODE_PEER, &B.ep);
        if (s == UCS_OK) {
            UNTIL(failed_times);
            close_ep(&B.ep, 1);
        }
        printf("accepting a client that has gone: an error at once or later\n");
    }
    healthy();
}

static void refused_inside(void)
{
    struct sockaddr_storage old = where;
    where = ip(host(&where), 0);
    refuse_at = listen_with(on_request_refuse, NULL);
    ask(1);
    UNTIL(failed_times);
    printf("the client's handler ran %d time with %s\n", failed_times, name(failed_with));
    close_ep(&A.ep, 1);
    ucp_listener_destroy(refuse_at);
    where = old;
}

/* ---- queries ------------------------------------------------------------------------------------ */

static void client_ids(ucp_listener_h l)
{
    ucp_worker_h old = A.w;
    for (int with = 0; with < 2; with++) {
        ucp_worker_params_t wp;
        memset(&wp, 0, sizeof wp);
        wp.field_mask = UCP_WORKER_PARAM_FIELD_CLIENT_ID;
        wp.client_id = 0x123456789abcdef0ull;
        MUST(ucp_worker_create(A.ctx, &wp, &A.w));
        asked_times = failed_times = 0;
        ucp_ep_params_t p = client_params(UCP_ERR_HANDLING_MODE_PEER);
        if (with) p.flags |= UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID;
        MUST(ucp_ep_create(A.w, &p, &A.ep));
        UNTIL(asked_times);
        ucp_conn_request_attr_t attr;
        memset(&attr, 0xee, sizeof attr);
        attr.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID;
        MUST(ucp_conn_request_query(asked[0], &attr));
        printf("client id, %s: %llx\n", with ? "sent" : "not sent", (unsigned long long)attr.client_id);
        HOLDS(untouched(&attr.client_address, sizeof attr.client_address, 0xee));
        attr.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID | UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
        MUST(ucp_conn_request_query(asked[0], &attr));
        printf("the client is at %s, its port %s\n", host(&attr.client_address),
               port_of(&attr.client_address) > 0 ? "is told" : "IS MISSING");
        attr.field_mask = 0;
        printf("asking for nothing: %s\n", name(ucp_conn_request_query(asked[0], &attr)));
        MUST(ucp_listener_reject(l, asked[0]));
        UNTIL(failed_times);
        close_ep(&A.ep, 1);
        ucp_worker_destroy(A.w);
        A.w = old;
    }
}

static void ends(void)
{
    ask(1);
    ucp_conn_request_attr_t asks;
    memset(&asks, 0, sizeof asks);
    asks.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
    MUST(ucp_conn_request_query(asked[0], &asks));
    MUST(answer(asked[0], 0, 0, &B.ep));
    talk();
    ucp_ep_attr_t a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    a.field_mask = b.field_mask = UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR | UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR;
    MUST(ucp_ep_query(A.ep, &a));
    MUST(ucp_ep_query(B.ep, &b));
    printf("listener %s, request from %s\n", host(&where), host(&asks.client_address));
    printf("client %s to %s, server %s to %s\n", host(&a.local_sockaddr), host(&a.remote_sockaddr), host(&b.local_sockaddr),
           host(&b.remote_sockaddr));
    int p = port_of(&a.local_sockaddr), q = port_of(&where);
    printf("ports %s\n", p == port_of(&b.remote_sockaddr) && p == port_of(&asks.client_address) && q == port_of(&b.local_sockaddr) &&
                                 q == port_of(&a.remote_sockaddr) ? "agree" : "DIFFER");
    close_ep(&A.ep, 1);
    close_ep(&B.ep, 1);
}

static void from(const char *local, int port)
{
    struct sockaddr_storage at = ip(local, port);
    asked_times = failed_times = 0;
    ucp_ep_params_t p = client_params(UCP_ERR_HANDLING_MODE_PEER);
    p.field_mask |= UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR;
    p.local_sockaddr.addr = (struct sockaddr *)&at;
    p.local_sockaddr.addrlen = len_of(&at);
    ucs_status_t s = ucp_ep_create(A.w, &p, &A.ep);
    if (s != UCS_OK) {
        printf("from %s: an error\n", local);
        return;
    }
    UNTIL(asked_times || failed_times);
    if (failed_times) {
        printf("from %s: an error\n", local);
        close_ep(&A.ep, 1);
        return;
    }
    ucp_conn_request_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
    MUST(ucp_conn_request_query(asked[0], &attr));
    printf("from %s: %s, the port %s\n", local, host(&attr.client_address),
           port == 0 || port_of(&attr.client_address) == port ? "as asked" : "ANOTHER");
    MUST(answer(asked[0], 0, 0, &B.ep));
    talk();
    close_ep(&A.ep, 1);
    close_ep(&B.ep, 1);
}

/* ---- error handling ------------------------------------------------------------------------------- */

static const char *mode_name(int mode) { return mode < 0 ? "not said" : mode ? "peer" : "none"; }

/* What the server says about error handling beside what the client says. */
static void modes(void)
{
    for (int client = 0; client < 2; client++) {
        for (int server = -1; server < 2; server++) {
            asked_times = failed_times = 0;
            ucp_ep_params_t p = client_params(client);
            MUST(ucp_ep_create(A.w, &p, &A.ep));
            UNTIL(asked_times);
            ucs_status_t s = answer(asked[0], server < 0 ? 0 : UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, server, &B.ep);
            printf("client %s, server %s: %s\n", mode_name(client), mode_name(server), name(s));
            if (s == UCS_OK) {
                talk();
                if (client) {
                    printf("closed by force: %s\n", name(close_ep(&B.ep, 1)));
                    close_ep(&A.ep, 1);
                } else {
                    ucs_status_ptr_t x = ucp_ep_close_nbx(A.ep, &plain), y = ucp_ep_close_nbx(B.ep, &plain);
                    ucs_status_t first = finished(x), second = finished(y);
                    printf("closed: %s, %s\n", name(first), name(second));
                }
            } else if (client) {
                UNTIL(failed_times);
                printf("the client's handler ran %d time\n", failed_times);
                close_ep(&A.ep, 1);
            }
            A.ep = B.ep = NULL;
        }
        if (client == 0) { /* what is left of those that were not served goes with its worker */
            ucp_worker_release_address(A.w, A.addr);
            ucp_worker_destroy(A.w);
            ucp_cleanup(A.ctx);
            A.w = NULL;
            A.w = B.w;
            let_it_arrive();
            memset(&A, 0, sizeof A);
            open_side(&A);
        }
    }
}

/* One side closes, in either way: what the other one is told. */
static void told(void)
{
    for (int force = 0; force < 2; force++) {
        for (int client = 0; client < 2; client++) {
            ask(1);
            MUST(answer(asked[0], 0, 0, &B.ep));
            talk();
            failed_times = 0;
            ucs_status_t s = close_ep(client ? &A.ep : &B.ep, force);
            UNTIL(failed_times);
            let_it_arrive();
            printf("%s closes %s: %s; the other is told %d time: %s\n", client ? "client" : "server", force ? "by force" : "after a flush",
                   name(s), failed_times, name(failed_with));
            close_ep(client ? &B.ep : &A.ep, 1);
        }
    }
}

/* A client's worker is destroyed with its endpoint: the server is told. */
static void worker_gone(void)
{
    ucp_worker_h old = A.w;
    ucp_worker_params_t wp;
    memset(&wp, 0, sizeof wp);
    MUST(ucp_worker_create(A.ctx, &wp, &A.w));
    ask(1);
    MUST(answer(asked[0], 0, 0, &B.ep));
    talk();
    failed_times = 0;
    ucp_worker_destroy(A.w);
    A.w = old;
    UNTIL(failed_times);
    printf("the client's worker goes: the server is told %d time: %s\n", failed_times, name(failed_with));
    close_ep(&B.ep, 1);
}

/* The server closes before the client knows that it was accepted. */
static void short_lived(void)
{
    for (int force = 0; force < 2; force++) {
        ask(1);
        MUST(answer(asked[0], 0, 0, &B.ep));
        close_ep(&B.ep, force);
        UNTIL(failed_times);
        let_it_arrive();
        printf("accepted and closed %s: the client is told %d time\n", force ? "by force" : "after a flush", failed_times);
        close_ep(&A.ep, 1);
    }
}

/* The server speaks before its answer can have been read. */
static void server_first(void)
{
    static unsigned char out[1 << 20], in[1 << 20];
    fill(out, sizeof out, 5);
    ask(1);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, in, sizeof in, 3, ALL, &plain);
    MUST(answer(asked[0], 0, 0, &B.ep));
    ucs_status_t s = finished(ucp_tag_send_nbx(B.ep, out, sizeof out, 3, &plain)), t = finished(r);
    printf("the server speaks first: %s, %s, %s\n", name(s), name(t), same(in, sizeof in, 5) ? "the same bytes" : "OTHER BYTES");
    close_ep(&A.ep, 1);
    close_ep(&B.ep, 1);
}

static void accepting(void)
{
    struct sockaddr_storage old = where;
    where = ip(host(&where), 0);
    ucp_listener_h l = listen_with(NULL, on_accept);
    for (int i = 0; i < 3; i++) {
        given_times = 0;
        A.ep = connect_client();
        UNTIL(given_times == 1);
        B.ep = given;
        talk();
        printf("accepted: closed by force %s\n", name(close_ep(&B.ep, 1)));
        close_ep(&A.ep, 1);
    }
    ucp_listener_destroy(l);
    where = old;
}

/* ---- the end -------------------------------------------------------------------------------------- */

/* The listener goes while a request is kept, and is answered afterwards. */
static void listener_gone(void)
{
    struct sockaddr_storage old = where;
    where = ip(host(&where), 0);
    ucp_listener_h l = listen_with(on_request, NULL);
    ask(1);
    MUST(answer(asked[0], 0, 0, &B.ep));
    ucp_listener_destroy(l);
    talk();
    close_ep(&A.ep, 1);
    close_ep(&B.ep, 1);
    A.ep = NULL;
    failed_times = 0;
    A.ep = connect_client();
    UNTIL(failed_times);
    printf("without its listener: accepted ones live on, new ones are told an error\n");
    close_ep(&A.ep, 1);
    where = old;
}

static void two_ports(void)
{
    struct sockaddr_storage old = where;
    where = ip(host(&where), 0);
    ucp_listener_h l = listen_with(on_request, NULL);
    printf("port 0 twice: %s\n", port_of(&where) != port_of(&old) ? "two ports" : "ONE PORT");
    ucp_listener_destroy(l);
    where = old;
}

static void bad_arguments(void)
{
    ucp_listener_h l;
    ucp_ep_h ep;
    ucp_listener_params_t lp;
    struct sockaddr_un path;
    memset(&path, 0, sizeof path);
    path.sun_family = AF_UNIX;
    memset(&lp, 0, sizeof lp);
    lp.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    lp.conn_handler.cb = on_request;
    lp.sockaddr.addr = (struct sockaddr *)&path;
    lp.sockaddr.addrlen = sizeof path;
    printf("listening at a path: %s\n", ucp_listener_create(B.w, &lp, &l) < 0 ? "an error" : "OK");
    lp.sockaddr.addr = (struct sockaddr *)&where;
    lp.sockaddr.addrlen = len_of(&where);
    lp.field_mask |= UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER;
    lp.accept_handler.cb = on_accept;
    printf("both handlers: %s\n", name(ucp_listener_create(B.w, &lp, &l)));
    struct sockaddr_storage strange = ip("203.0.113.77", 0);
    lp.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    lp.sockaddr.addr = (struct sockaddr *)&strange;
    printf("listening at an address of another host: %s\n", ucp_listener_create(B.w, &lp, &l) < 0 ? "an error" : "OK");
    ucp_ep_params_t p = client_params(UCP_ERR_HANDLING_MODE_PEER);
    p.sockaddr.addr = (struct sockaddr *)&path;
    printf("connecting to a path: %s\n", ucp_ep_create(A.w, &p, &ep) < 0 ? "an error" : "OK");
}

/* Workers go, requests never having been answered. */
static void forgotten(void)
{
    asked_times = failed_times = 0;
    for (int i = 0; i < 3; i++) (void)connect_client(); /* closed with their worker */
    UNTIL(asked_times == 3);
    let_it_arrive();
    printf("forgotten requests: the clients %s\n", failed_times ? "were told" : "wait");
}

int main(int argc, char **argv)
{
    open_side(&A);
    open_side(&B);
    where = ip(argc > 1 ? argv[1] : "127.0.0.1", 0);
    ucp_listener_h l = listen_with(on_request, NULL);
    kept();
    refused_late(l);
    refused_inside();
    gone(l, 0);
    gone(l, 1);
    client_ids(l);
    ends();
    if (argc == 1) {
        from("127.0.0.1", 0);
        from("127.0.0.1", 20000 + getpid() % 10000);
        from("203.0.113.77", 0);
    }
    two_ports();
    accepting();
    listener_gone();
    told();
    worker_gone();
    short_lived();
    server_first();
    modes();
    bad_arguments();
    if (argc > 2) forgotten();
    ucp_listener_destroy(l);
    ucp_worker_release_address(B.w, B.addr);
    ucp_worker_destroy(B.w);
    ucp_cleanup(B.ctx);
    B.w = NULL;
    if (argc > 2) {
        UNTIL(failed_times == 3);
        printf("without the server's worker: the clients are told %s\n", name(failed_with));
    }
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    return finish();
}
