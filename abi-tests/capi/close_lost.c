/* The close in order of a connection by socket address ends whatever becomes of the peer: its worker is destroyed, or
 * its process killed, or its end closed by force or in order, or its user never answers and goes, before, during and
 * after wireup, and whoever comes first. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>

enum fate { FORCED, IN_ORDER, DESTROYED, KILLED, FATES };
static const char *const fates[] = {"closed by force", "closed in order", "worker destroyed", "process killed"};

static ucp_conn_request_h asked;
static ucp_err_handling_mode_t mode;
static const ucp_request_param_t forced = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) {}

static ucp_ep_params_t params(void)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, .err_mode = mode};
    if (mode == UCP_ERR_HANDLING_MODE_NONE) return p;
    p.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
    p.err_handler.cb = on_error;
    return p;
}

static void steps(struct side *s, int n)
{
    for (int i = 0; i < n && s->w; i++) ucp_worker_progress(s->w);
}

static ucp_listener_h listen_at(struct side *s, struct sockaddr_in *at)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_h listener;
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&any, sizeof any}, .conn_handler = {on_request, NULL}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_create(s->w, &p, &listener));
    MUST(ucp_listener_query(listener, &attr));
    memcpy(at, &attr.sockaddr, sizeof *at);
    return listener;
}

static void dial(struct side *s, struct sockaddr_in *at)
{
    ucp_ep_params_t p = params();
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)at;
    p.sockaddr.addrlen = sizeof *at;
    MUST(ucp_ep_create(s->w, &p, &s->ep));
}

/* True when the request has been answered. */
static int answer(struct side *s)
{
    if (!asked) return 0;
    ucp_ep_params_t p = params();
    p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    p.conn_request = asked;
    asked = NULL;
    MUST(ucp_ep_create(s->w, &p, &s->ep));
    return 1;
}

static void destroy(struct side *s)
{
    ucp_worker_release_address(s->w, s->addr);
    ucp_worker_destroy(s->w);
    ucp_cleanup(s->ctx);
    memset(s, 0, sizeof *s);
}

/* In this process, A is the client. `waits`: who closes in order, at a time that `when` says, before or after the other
 * has met its fate. */
static void here(enum fate fate, int waits, int when, int after)
{
    struct sockaddr_in at;
    open_side(&A);
    open_side(&B);
    ucp_listener_h listener = listen_at(&B, &at);
    dial(&A, &at);
    UNTIL(asked);
    answer(&B);
    /* From nothing heard of the answer yet to all of it. */
    steps(&A, when % 5 * 60);
    steps(&B, when / 5 % 5 * 60);
    if (when >= 25) steps(&A, when % 3 * 60);
    struct side *w = waits ? &B : &A, *other = waits ? &A : &B;
    ucs_status_ptr_t r = NULL, s = NULL;
    if (!after) r = ucp_ep_close_nbx(w->ep, &plain);
    if (fate == DESTROYED) {
        if (!waits) ucp_listener_destroy(listener);
        destroy(other);
        if (!waits) listener = NULL;
    } else s = ucp_ep_close_nbx(other->ep, fate == FORCED ? &forced : &plain);
    if (after) {
        steps(w, when % 2 * 200);
        r = ucp_ep_close_nbx(w->ep, &plain);
    }
    double end = now() + 20;
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) {
        steps(w, 1);
        steps(other, 1);
        if (now() > end) DIE("%s, %s waits, %d %s: it never ends", fates[fate], waits ? "server" : "client", when, after ? "after" : "before");
    }
    if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    if (s) HOLDS(other->w);
    while (UCS_PTR_IS_PTR(s) && ucp_request_check_status(s) == UCS_INPROGRESS) {
        steps(w, 1);
        steps(other, 1);
        if (now() > end) DIE("%s, %s waits, %d %s: the other never ends", fates[fate], waits ? "server" : "client", when, after ? "after" : "before");
    }
    if (UCS_PTR_IS_PTR(s)) ucp_request_free(s);
    if (listener) ucp_listener_destroy(listener);
    destroy(w);
    if (other->w) destroy(other);
}

/* The other is a process of its own, killed at any time. */
static void apart(int waits, int when, int after)
{
    int ports[2];
    struct sockaddr_in at;
    ucp_listener_h listener = NULL;
    HOLDS(pipe(ports) == 0);
    pid_t child = fork();
    HOLDS(child >= 0);
    struct side *w = child ? &A : &B;
    int listens = child ? waits : !waits;
    open_side(w);
    if (!child) {
        /* The port goes to whoever has none: the child listens when the parent's end is the client. */
        if (listens) {
            listener = listen_at(w, &at);
            HOLDS(write(ports[1], &at, sizeof at) == sizeof at);
        } else {
            HOLDS(read(ports[0], &at, sizeof at) == sizeof at);
            dial(w, &at);
        }
        for (int n = 0;; n++) {
            steps(w, 1);
            if (listens) answer(w);
            if (n == 1 + when * 40) raise(SIGSTOP);
        }
    }
    if (listens) {
        listener = listen_at(w, &at);
        HOLDS(write(ports[1], &at, sizeof at) == sizeof at);
        double end = now() + 20;
        while (!asked && now() < end && waitpid(child, NULL, WUNTRACED | WNOHANG) == 0) steps(w, 1);
        for (int i = 0; i < 1000 && !asked; i++) steps(w, 1);
        if (!asked) {
            /* The child was stopped before it said anything. */
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
            ucp_listener_destroy(listener);
            destroy(w);
            close(ports[0]), close(ports[1]);
            return;
        }
        answer(w);
    } else {
        HOLDS(read(ports[0], &at, sizeof at) == sizeof at);
        dial(w, &at);
    }
    steps(w, when * 40);
    ucs_status_ptr_t r = NULL;
    if (!after) r = ucp_ep_close_nbx(w->ep, &plain);
    if (!after) steps(w, 200);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (after) r = ucp_ep_close_nbx(w->ep, &plain);
    double end = now() + 20;
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) {
        steps(w, 1);
        if (now() > end) DIE("process killed, %s waits, %d %s: it never ends", waits ? "server" : "client", when, after ? "after" : "before");
    }
    if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    if (listener) ucp_listener_destroy(listener);
    destroy(w);
    close(ports[0]), close(ports[1]);
}

int main(void)
{
    for (mode = UCP_ERR_HANDLING_MODE_NONE; mode <= UCP_ERR_HANDLING_MODE_PEER; mode++)
        for (int waits = 0; waits < 2; waits++)
            for (int after = 0; after < 2; after++) {
                for (int when = 0; when < 10; when++) apart(waits, when, after);
                for (enum fate fate = FORCED; fate < KILLED; fate++)
                    for (int when = 0; when < 30; when++) here(fate, waits, when, after);
            }
    return finish();
}
