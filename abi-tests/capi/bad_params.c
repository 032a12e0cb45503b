/* Endpoints and listeners asked for with parameters that make no sense, or little: what each says. Every case has
 * a process of its own, since genuine UCX crashes in some. */
#include "cases.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/un.h>

static ucp_listener_h listener;
static ucp_conn_request_h asked;
static struct sockaddr_in at;
static int told;
static ucs_status_t why;

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_client(ucp_ep_h ep, void *arg) {}
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    told++;
    why = status;
}

static struct sockaddr_storage internet(const char *ip, int port)
{
    struct sockaddr_storage s;
    struct sockaddr_in *four = (void *)&s;
    struct sockaddr_in6 *six = (void *)&s;
    memset(&s, 0, sizeof s);
    if (inet_pton(AF_INET, ip, &four->sin_addr) == 1) {
        s.ss_family = AF_INET;
        four->sin_port = htons(port);
    } else {
        HOLDS(inet_pton(AF_INET6, ip, &six->sin6_addr) == 1);
        s.ss_family = AF_INET6;
        six->sin6_port = htons(port);
    }
    return s;
}

static struct sockaddr_storage of_family(int family)
{
    struct sockaddr_storage s = internet("127.0.0.1", ntohs(at.sin_port));
    s.ss_family = family;
    return s;
}

static ucp_listener_params_t listening(const struct sockaddr_storage *where, socklen_t length)
{
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(const struct sockaddr *)where, length}, .conn_handler = {on_request, NULL}};
    return p;
}

static void open_both(void)
{
    open_side(&A);
    open_side(&B);
    struct sockaddr_storage where = internet("127.0.0.1", 0);
    ucp_listener_params_t p = listening(&where, sizeof at);
    MUST(ucp_listener_create(B.w, &p, &listener));
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(listener, &attr));
    memcpy(&at, &attr.sockaddr, sizeof at);
}

/* ---- endpoints --------------------------------------------------------------------------------- */

static struct sockaddr_storage server, own; /* what a case may point to, and change */

static ucp_ep_params_t with_address(void)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = B.addr};
    return p;
}

static ucp_ep_params_t with_sockaddr(void)
{
    memcpy(&server, &at, sizeof at);
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
                         .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER, .sockaddr = {(struct sockaddr *)&server, sizeof at},
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_error, NULL}};
    return p;
}

static ucp_ep_params_t with_local(const char *ip, int port)
{
    ucp_ep_params_t p = with_sockaddr();
    own = internet(ip, port);
    p.field_mask |= UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR;
    p.local_sockaddr.addr = (struct sockaddr *)&own;
    p.local_sockaddr.addrlen = sizeof at;
    return p;
}

/* The server accepts whoever asks, until the connection is there, or `on_error` is called. */
static const char *outcome(void)
{
    ucp_ep_h accepted = NULL;
    ucs_status_ptr_t r = ucp_ep_flush_nbx(A.ep, &plain);
    double end = now() + 3;
    while (!told && UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS && now() < end) {
        progress();
        if (!asked) continue;
        ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                                           UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, .conn_request = asked,
                             .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_error, NULL}};
        asked = NULL;
        if (ucp_ep_create(B.w, &p, &accepted) != UCS_OK) return "not accepted";
    }
    /* Which of the two is chance on genuine UCX. */
    if (told) return why == UCS_ERR_NOT_CONNECTED || why == UCS_ERR_CONNECTION_RESET ? "no connection" : name(why);
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r) == UCS_OK ? "connected" : name(UCS_PTR_STATUS(r));
    return ucp_request_check_status(r) == UCS_INPROGRESS ? "nothing" : "connected";
}

static void say_ep(const char *what, ucp_ep_params_t p, int go_on)
{
    ucs_status_t s = ucp_ep_create(A.w, &p, &A.ep);
    printf("endpoint, %s: %s%s%s\n", what, name(s), s == UCS_OK && go_on ? ", then " : "", s == UCS_OK && go_on ? outcome() : "");
}

static const struct { const char *what; int family; } families[] = {
    {"family 0", 0}, {"family 1", AF_UNIX}, {"family 16", AF_NETLINK}, {"family 999", 999}};
static const int lengths[] = {0, 1, 2, 3, 8, 15, 17, 28, 128, 1 << 20};
static const char *const unusual[] = {"0.0.0.0", "255.255.255.255", "224.0.0.1", "192.0.2.1", "::", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1"};

static int n; /* of the case; -1 at the end */
static int wanted;
#define CASE if (n++ == wanted)

static void endpoints(void)
{
    char what[80];
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    CASE say_ep("nothing", p, 0);
    CASE { p.field_mask = (uint64_t)-1; say_ep("every field, all zero", p, 0); }
    CASE { p = with_address(); p.address = NULL; say_ep("address NULL", p, 0); }
    CASE { p = with_address(); p.field_mask |= ~0ul << 20; say_ep("address, unknown fields", p, 1); }
    for (int bit = 0; bit < 32; bit++)
        CASE {
            p = with_address();
            p.field_mask |= UCP_EP_PARAM_FIELD_FLAGS;
            p.flags = 1u << bit;
            sprintf(what, "address, flag %d", bit);
            say_ep(what, p, 1);
        }
    CASE { p = with_address(); p.field_mask |= UCP_EP_PARAM_FIELD_FLAGS; p.flags = -1; say_ep("address, all flags", p, 0); }
    CASE { p = with_address(); p.flags = -1; say_ep("address, flags not said", p, 1); }
    CASE {
        p = with_sockaddr();
        p.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        p.address = B.addr;
        say_ep("address and socket address", p, 1);
    }
    CASE {
        p = with_sockaddr();
        p.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        p.field_mask &= ~UCP_EP_PARAM_FIELD_FLAGS;
        p.address = B.addr;
        say_ep("address and socket address without its flag", p, 0);
    }
    CASE { p = with_sockaddr(); p.field_mask &= ~UCP_EP_PARAM_FIELD_FLAGS; say_ep("socket address, flag not said", p, 0); }
    CASE { p = with_sockaddr(); p.flags = 0; say_ep("socket address without its flag", p, 0); }
    CASE { p = with_sockaddr(); p.flags = -1; say_ep("socket address, all flags", p, 1); }
    CASE { p = with_sockaddr(); p.flags |= UCP_EP_PARAMS_FLAGS_NO_LOOPBACK; say_ep("socket address, no loopback", p, 1); }
    CASE { p = with_sockaddr(); p.flags |= UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID; say_ep("socket address, client id", p, 1); }
    CASE { p = with_sockaddr(); p.sockaddr.addr = NULL; say_ep("socket address NULL", p, 0); }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        CASE {
            p = with_sockaddr();
            server = of_family(families[i].family);
            sprintf(what, "socket address of %s", families[i].what);
            say_ep(what, p, 0);
        }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        CASE {
            p = with_sockaddr();
            p.sockaddr.addrlen = lengths[i];
            sprintf(what, "socket address, length %d", lengths[i]);
            say_ep(what, p, 1);
        }
    CASE { p = with_sockaddr(); ((struct sockaddr_in *)&server)->sin_port = 0; say_ep("socket address, port 0", p, 1); }
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
        CASE {
            p = with_sockaddr();
            server = internet(unusual[i], ntohs(at.sin_port));
            sprintf(what, "socket address %s", unusual[i]);
            /* Addresses for documentation are nobody's: it depends on the network when that is told. */
            say_ep(what, p, !strstr("192.0.2.1 2001:db8::1", unusual[i]));
        }
    CASE { p = with_local("127.0.0.1", 0); p.local_sockaddr.addr = NULL; say_ep("local address NULL", p, 1); }
    CASE { p = with_local("127.0.0.1", 0); say_ep("local address 127.0.0.1", p, 1); }
    CASE { p = with_local("127.0.0.1", ntohs(at.sin_port)); say_ep("local address of the listener", p, 1); }
    CASE { p = with_local("192.0.2.1", 0); say_ep("local address of another host", p, 1); }
    CASE { p = with_local("::1", 0); say_ep("local address of another family", p, 1); }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        CASE {
            p = with_local("127.0.0.1", 0);
            own.ss_family = families[i].family;
            sprintf(what, "local address of %s", families[i].what);
            say_ep(what, p, 0);
        }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        CASE {
            p = with_local("127.0.0.1", 0);
            p.local_sockaddr.addrlen = lengths[i];
            sprintf(what, "local address, length %d", lengths[i]);
            say_ep(what, p, 1);
        }
    CASE { p = with_address(); p.field_mask |= UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR; say_ep("address, local address NULL", p, 1); }
    static const int modes[] = {-1, 3, 4, 100, 1 << 30};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (int by = 0; by < 2; by++)
            CASE {
                p = by ? with_sockaddr() : with_address();
                p.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
                p.err_mode = modes[i];
                sprintf(what, "%s, error mode %d", by ? "socket address" : "address", modes[i]);
                say_ep(what, p, 0);
            }
    for (int by = 0; by < 2; by++)
        CASE {
            p = by ? with_sockaddr() : with_address();
            p.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
            p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
            p.err_handler.cb = NULL;
            say_ep(by ? "socket address, no function for errors" : "address, no function for errors", p, 0);
        }
    CASE { p = with_address(); p.field_mask |= UCP_EP_PARAM_FIELD_NAME; p.name = NULL; say_ep("name NULL", p, 1); }
    CASE { p = with_address(); p.field_mask |= UCP_EP_PARAM_FIELD_NAME; p.name = ""; say_ep("name empty", p, 1); }
    CASE {
        static char name[100000];
        memset(name, 0xfe, sizeof name - 1);
        p = with_address();
        p.field_mask |= UCP_EP_PARAM_FIELD_NAME;
        p.name = name;
        say_ep("name long, not UTF-8", p, 1);
    }
    CASE {
        memset(&p, 0, sizeof p);
        p.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
        say_ep("request NULL", p, 0);
    }
    CASE {
        p = with_address();
        p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        say_ep("request NULL and address", p, 0);
    }
    CASE {
        p = with_sockaddr();
        p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        say_ep("request NULL and socket address", p, 1);
    }
}

/* ---- requests ------------------------------------------------------------------------------------ */

static void say_request(const char *what, ucp_ep_params_t p)
{
    ucp_ep_params_t client = with_sockaddr();
    MUST(ucp_ep_create(A.w, &client, &A.ep));
    UNTIL(asked);
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = asked;
    ucs_status_t s = ucp_ep_create(B.w, &p, &B.ep);
    asked = NULL;
    printf("request, %s: %s", what, name(s));
    printf(", the client: %s\n", outcome());
}

static void requests(void)
{
    static const int modes[] = {UCP_ERR_HANDLING_MODE_NONE, -1, 3, 1 << 30};
    char what[80];
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    CASE say_request("nothing else", p);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        CASE {
            p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
            p.err_mode = modes[i];
            sprintf(what, "error mode %d", modes[i]);
            say_request(what, p);
        }
    CASE { p.field_mask = UCP_EP_PARAM_FIELD_FLAGS; p.flags = UCP_EP_PARAMS_FLAGS_NO_LOOPBACK; say_request("no loopback", p); }
    CASE { p.field_mask = UCP_EP_PARAM_FIELD_FLAGS; p.flags = 1 << 20; say_request("an unknown flag", p); }
    CASE { p = with_address(); say_request("an address too", p); }
    CASE { p.field_mask = UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR; say_request("local address NULL", p); }
    CASE {
        ucp_ep_params_t client = with_sockaddr();
        MUST(ucp_ep_create(A.w, &client, &A.ep));
        UNTIL(asked);
        ucp_conn_request_attr_t none = {.field_mask = 0}, all = {.field_mask = (uint64_t)-1};
        ucs_status_t s = ucp_conn_request_query(asked, &none);
        printf("request, asked for nothing: %s,", name(s));
        printf(" for all fields: %s\n", name(ucp_conn_request_query(asked, &all)));
        ucp_listener_reject(listener, asked);
    }
}

/* ---- listeners ----------------------------------------------------------------------------------- */

static void say_listener(const char *what, ucp_listener_params_t p)
{
    ucp_listener_h l;
    printf("listener, %s: %s\n", what, name(ucp_listener_create(A.w, &p, &l)));
}

static void listeners(void)
{
    char what[80];
    struct sockaddr_storage where = internet("127.0.0.1", 0), six = internet("::1", 0);
    ucp_listener_params_t p = listening(&where, sizeof at), good = p;
    CASE { p.field_mask = 0; say_listener("nothing", p); }
    CASE { p.field_mask = (uint64_t)-1; say_listener("every field", p); }
    CASE { p.field_mask = UCP_LISTENER_PARAM_FIELD_CONN_HANDLER; say_listener("no address", p); }
    CASE { p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR; say_listener("no function", p); }
    CASE { p.conn_handler.cb = NULL; say_listener("function NULL", p); }
    CASE { p.field_mask = 3; say_listener("function for endpoints NULL", p); }
    CASE {
        p.field_mask = 7;
        p.accept_handler.cb = on_client;
        say_listener("two functions", p);
    }
    CASE { p.sockaddr.addr = NULL; say_listener("address NULL", p); }
    CASE { p.field_mask |= 1ul << 40; say_listener("an unknown field", p); }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        CASE {
            where = of_family(families[i].family);
            sprintf(what, "address of %s", families[i].what);
            say_listener(what, good);
        }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        CASE {
            p.sockaddr.addrlen = lengths[i];
            sprintf(what, "length %d", lengths[i]);
            say_listener(what, p);
        }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        CASE {
            p = listening(&six, lengths[i]);
            sprintf(what, "IPv6, length %d", lengths[i]);
            say_listener(what, p);
        }
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
        CASE {
            where = internet(unusual[i], 0);
            p.sockaddr.addrlen = where.ss_family == AF_INET ? sizeof at : sizeof(struct sockaddr_in6);
            sprintf(what, "at %s", unusual[i]);
            say_listener(what, p);
        }
    CASE { memcpy(&where, &at, sizeof at); say_listener("a port that is taken", p); }
    CASE {
        ucp_listener_attr_t none = {.field_mask = 0}, all = {.field_mask = (uint64_t)-1};
        ucs_status_t s = ucp_listener_query(listener, &none);
        printf("listener, asked for nothing: %s,", name(s));
        printf(" for all fields: %s\n", name(ucp_listener_query(listener, &all)));
    }
}

/* ---- closing --------------------------------------------------------------------------------------- */

static void closes(void)
{
    static const unsigned flags[] = {2, 4, 8, 16, 1u << 31, ~1u};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        CASE {
            ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = flags[i]};
            connect_to(&A, B.addr);
            ucs_status_t s = finished(ucp_ep_close_nbx(A.ep, &p));
            printf("close, flags %#x: %s\n", flags[i], name(s));
        }
}

static int run(int which)
{
    wanted = which;
    n = 0;
    endpoints();
    requests();
    listeners();
    closes();
    return n;
}

static void apart(int i)
{
    signal(SIGSEGV, SIG_DFL);
    open_both();
    run(i);
}

int main(int argc, char **argv)
{
    each_apart(run(-1), 40, apart);
    return finish();
}
