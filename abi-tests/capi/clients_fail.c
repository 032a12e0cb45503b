/* What a client is told whose connection doesn't come about, or ends before it was of use: the status that its error
 * handler gets, that of a message posted before, that of the close; and what the server's side is told.
 * usage: clients_fail [exact: statuses that are chance on genuine UCX, and what makes it crash] */
#include "cases.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

static ucp_conn_request_h asked[4];
static int told[2], requests;
static ucs_status_t why[2];
static struct sockaddr_storage at;
static socklen_t at_len;

static void on_request(ucp_conn_request_h request, void *arg) { asked[requests++] = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    told[(long)arg]++;
    why[(long)arg] = status;
}

static ucp_ep_params_t params(long side)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler = {on_error, (void *)side}};
    return p;
}

static ucp_listener_h listening(ucp_worker_h w)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&any, sizeof any}, .conn_handler = {on_request, NULL}};
    ucp_listener_h l;
    MUST(ucp_listener_create(w, &p, &l));
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(l, &attr));
    at = attr.sockaddr;
    at_len = sizeof any;
    return l;
}

/* A socket that listens and is none of UCX. */
static int other_listener(int backlog)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    at_len = sizeof any;
    HOLDS(bind(s, (struct sockaddr *)&any, sizeof any) == 0);
    HOLDS(backlog < 0 || listen(s, backlog) == 0);
    memset(&at, 0, sizeof at);
    HOLDS(getsockname(s, (struct sockaddr *)&at, &at_len) == 0);
    return s;
}

static ucs_status_ptr_t sent;
static long value = 5;

static void connect_client(void)
{
    ucp_ep_params_t p = params(0);
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = at_len;
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    sent = ucp_tag_send_nbx(A.ep, &value, sizeof value, 1, &plain);
}

static void accept_one(int i)
{
    ucp_ep_params_t p = params(1);
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = asked[i];
    MUST(ucp_ep_create(B.w, &p, &B.ep));
}

static void force(ucp_ep_h ep)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    finished(ucp_ep_close_nbx(ep, &p));
}

static void quiet(double seconds)
{
    for (double end = now() + seconds; now() < end && !told[0];) progress();
}

/* Without an answer of the server genuine UCX says the one or the other, depending on when it notices. */
static int vague;
/* The server is killed once it has accepted: the client may not know of that yet, may be connecting to where nobody
 * is any more, or may have sent its message. */
static int left_perhaps;
static const char *which(ucs_status_t s)
{
    int gone = s == UCS_ERR_NOT_CONNECTED || s == UCS_ERR_CONNECTION_RESET || left_perhaps && s == UCS_ERR_UNREACHABLE;
    return vague && gone ? "no connection" : name(s);
}

/* The client's side of what happened. */
static void say(const char *what)
{
    double end = now() + 30;
    while (!told[0] && now() < end) progress();
    ucs_status_t s = UCS_PTR_IS_PTR(sent) ? ucp_request_check_status(sent) : UCS_PTR_STATUS(sent);
    printf("%s: the handler %s, a message %s", what, told[0] ? which(why[0]) : "nothing",
           left_perhaps && (s == UCS_OK || !strcmp(which(s), "no connection")) ? "sent or not" : which(s));
    if (UCS_PTR_IS_PTR(sent)) ucp_request_free(sent);
    s = finished(ucp_ep_close_nbx(A.ep, &plain));
    printf(", the close %s", which(s));
    printf(", told %d\n", told[0]);
}

/* The server's side of a client's connection to a listener that is no UCX. */
static int accepted_elsewhere(void)
{
    int s = other_listener(8);
    connect_client();
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    return accept(s, NULL, NULL);
}

static int n, wanted, exact; /* `exact`: on our libraries */
#define CASE if (n++ == wanted)
#define VAGUE if (n++ == wanted && (vague = !exact, 1))

static void of_ucx(void)
{
    VAGUE { close(other_listener(-1)); connect_client(); say("nobody listens"); }
    VAGUE { int s = other_listener(-1); connect_client(); say("bound, not listening"); close(s); }
    VAGUE {
        ucp_listener_destroy(listening(B.w));
        connect_client();
        say("the listener is destroyed before");
    }
    CASE {
        ucp_listener_h l = listening(B.w);
        connect_client();
        UNTIL(requests);
        ucp_listener_reject(l, asked[0]);
        say("rejected");
        ucp_listener_destroy(l);
    }
    CASE {
        ucp_listener_h l = listening(B.w);
        connect_client();
        UNTIL(requests);
        accept_one(0);
        ucs_status_ptr_t r = ucp_ep_close_nbx(B.ep, &plain);
        say("accepted, closed at once");
        printf("the server's close %s\n", name(finished(r)));
        ucp_listener_destroy(l);
    }
    CASE {
        ucp_listener_h l = listening(B.w);
        connect_client();
        UNTIL(requests);
        accept_one(0);
        MUST(finished(ucp_ep_flush_nbx(A.ep, &plain)));
        UNTIL(!UCS_PTR_IS_PTR(sent) || ucp_request_check_status(sent) != UCS_INPROGRESS);
        ucp_listener_destroy(l);
        quiet(0.3);
        printf("the listener is destroyed after accepting: told %d\n", told[0]);
        force(B.ep);
        say("then the server's endpoint is closed by force");
    }
    CASE {
        ucp_listener_h l = listening(B.w);
        connect_client();
        UNTIL(requests);
        accept_one(0);
        MUST(finished(ucp_ep_flush_nbx(A.ep, &plain)));
        force(A.ep);
        while (!told[1]) progress();
        printf("the client closes by force: the server's handler %s, its close %s\n", name(why[1]), name(finished(ucp_ep_close_nbx(B.ep, &plain))));
        ucp_listener_destroy(l);
    }
    CASE {
        ucp_listener_h l = listening(B.w);
        connect_client();
        UNTIL(requests);
        force(A.ep);
        for (int i = 0; i < 1000; i++) progress();
        ucp_ep_params_t p = params(1);
        p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        p.conn_request = asked[0];
        ucs_status_t s = ucp_ep_create(B.w, &p, &B.ep);
        if (s == UCS_OK) for (double end = now() + 20; !told[1] && now() < end;) progress();
        printf("the client has gone before it is accepted: %s\n", s != UCS_OK || told[1] ? "the server is told" : "the server is not told");
        ucp_listener_destroy(l);
    }
}

/* Servers that are none of UCX, and addresses of nobody. */
static void odd_servers(void)
{
    VAGUE {
        /* The queue is full, so that the kernel asks again after a second: then nobody listens any more, and this
         * program makes no progress. */
        int s = other_listener(0), before = socket(AF_INET, SOCK_STREAM, 0);
        HOLDS(connect(before, (struct sockaddr *)&at, at_len) == 0);
        connect_client();
        close(s);
        usleep(1500000);
        say("refused while the program is elsewhere");
        close(before);
    }
    VAGUE {
        int c = accepted_elsewhere();
        close(c);
        say("the server hangs up");
    }
    VAGUE {
        int c = accepted_elsewhere();
        struct linger hard = {1, 0};
        setsockopt(c, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(c);
        say("the server resets the connection");
    }
    CASE {
        int c = accepted_elsewhere();
        char junk[4096];
        memset(junk, 'x', sizeof junk);
        HOLDS(write(c, junk, sizeof junk) == sizeof junk);
        quiet(3);
        printf("the server speaks something else: %s\n", told[0] ? "an error" : "nothing");
    }
    CASE {
        other_listener(8);
        connect_client();
        quiet(2);
        ucs_status_ptr_t r = sent;
        printf("a server that never answers: told %d, a message %s\n", told[0], name(ucp_request_check_status(r)));
        force(A.ep);
        printf("closed by force: a message %s\n", name(ucp_request_check_status(r)));
    }
    static const char *const far[] = {"255.255.255.255", "224.0.0.1"};
    for (int i = 0; i < 2; i++)
        CASE {
            struct sockaddr_in *four = (void *)&at;
            memset(&at, 0, sizeof at);
            four->sin_family = AF_INET;
            four->sin_port = htons(4567);
            inet_pton(AF_INET, far[i], &four->sin_addr);
            at_len = sizeof *four;
            connect_client();
            say(far[i]);
        }
    VAGUE {
        struct sockaddr_in6 *six = (void *)&at;
        memset(&at, 0, sizeof at);
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(9);
        six->sin6_addr = in6addr_loopback;
        at_len = sizeof *six;
        connect_client();
        say("IPv6, nobody listens");
    }
    CASE {
        setenv("UCX_TCP_CM_PRIV_DATA_LEN", "0", 1);
        memset(&A, 0, sizeof A);
        open_side(&A);
        ucp_listener_h l = listening(B.w);
        connect_client();
        say("no room for what the client has to say");
        ucp_listener_destroy(l);
    }
}

/* The server is another process, which is killed: before it accepts, after that, after the first message. */
static void killed(int when)
{
    vague = !exact && when < 2;
    int fds[2], st;
    char c;
    HOLDS(pipe(fds) == 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        open_side(&B);
        listening(B.w);
        HOLDS(write(fds[1], &at, sizeof at) == sizeof at);
        while (!requests) ucp_worker_progress(B.w);
        if (when > 0) accept_one(0);
        if (when > 1) {
            ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, &value, sizeof value, 1, ALL, &plain);
            while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) ucp_worker_progress(B.w);
        }
        HOLDS(write(fds[1], &c, 1) == 1);
        for (;;) when ? ucp_worker_progress(B.w) : pause();
    }
    HOLDS(read(fds[0], &at, sizeof at) == sizeof at);
    at_len = sizeof(struct sockaddr_in);
    open_side(&A);
    connect_client();
    for (double end = now() + 30; now() < end;) {
        ucp_worker_progress(A.w);
        struct timeval none = {0, 0};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fds[0], &set);
        if (select(fds[0] + 1, &set, NULL, NULL, &none) > 0) break;
    }
    HOLDS(read(fds[0], &c, 1) == 1);
    HOLDS(kill(pid, SIGKILL) == 0 && waitpid(pid, &st, 0) == pid);
    static const char *const what[] = {"the server is killed before it accepts", "killed after accepting", "killed after a message"};
    if (when > 1) {
        MUST(finished(sent));
        sent = NULL;
    }
    left_perhaps = when == 1 && !exact;
    say(what[when]);
}

/* Genuine UCX crashes in the first; what comes of the second is chance there. */
static void dropped(void)
{
    CASE {
        open_side(&A);
        open_side(&B);
        ucp_listener_h l = listening(B.w);
        connect_client();
        for (int i = 0; i < 100; i++) ucp_worker_progress(A.w);
        ucp_listener_destroy(l);
        say("the listener is destroyed before it has seen the client");
    }
    CASE {
        open_side(&A);
        open_side(&B);
        ucp_listener_h l = listening(B.w);
        connect_client();
        UNTIL(requests);
        accept_one(0);
        force(B.ep);
        say("accepted, closed by force at once");
        ucp_listener_destroy(l);
    }
}

static int run(int of)
{
    wanted = of;
    n = 0;
    of_ucx();
    odd_servers();
    for (int i = 0; i < 3; i++) CASE killed(i);
    if (exact) dropped();
    return n;
}

static int last;

static void apart(int i)
{
    if (i < last - 3 - 2 * exact) {
        open_side(&A);
        open_side(&B);
    }
    run(i);
}

int main(int argc, char **argv)
{
    exact = argc > 1;
    last = run(-1);
    int lost = each_apart(last, 60, apart);
    return finish() || exact && lost;
}
