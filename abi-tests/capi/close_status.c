/* What closing by flush says of an endpoint that has failed, or fails meanwhile: the failure. At once and as a request,
 * with and without error handling, after the error handler, inside it, and before anybody knows. And what receives
 * say that come too late, after a close by force. */
#include "inside.h"
#include "pair.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>

static const ucp_request_param_t always = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
static int told, in_handler;
static ucs_status_t why, in_handler_status;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    told++;
    why = status;
    if (!in_handler) return;
    ucs_status_ptr_t r = ucp_ep_close_nbx(ep, &plain);
    in_handler_status = UCS_PTR_IS_PTR(r) ? UCS_INPROGRESS : UCS_PTR_STATUS(r);
    if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    A.ep = NULL;
}

static void handled(int handled)
{
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    if (!handled) return;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
}

/* What a refused connection fails with depends on when the kernel tells it; what matters is that it is one. */
static const char *which(ucs_status_t s)
{
    if (told) return s == why ? "the failure" : name(s);
    return s < 0 ? "an error" : name(s);
}

static void say(const char *what)
{
    if (in_handler) {
        HOLDS(!A.ep);
        printf("%s, closed in the handler: %s\n", what, which(in_handler_status));
    } else {
        ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain);
        A.ep = NULL;
        printf("%s: %s %s\n", what, UCS_PTR_IS_PTR(r) ? "a request," : "at once", which(finished(r)));
    }
}

/* ---- a peer that is killed ---------------------------------------------------------------------- */

static void killed(const char *what)
{
    int fds[2], st;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    fflush(NULL);
    pid_t pid = fork();
    fd = fds[pid == 0];
    close(fds[pid != 0]);
    handled(1);
    open_side(&A);
    ucp_address_t *theirs = swap_addresses();
    connect_to(&A, theirs);
    long v = 7;
    if (pid == 0) {
        MUST(settled(ucp_tag_recv_nbx(A.w, &v, sizeof v, 1, ALL, &plain)));
        MUST(settled(ucp_tag_send_nbx(A.ep, &v, sizeof v, 2, &plain)));
        for (;;) ucp_worker_progress(A.w);
    }
    MUST(settled(ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain)));
    MUST(settled(ucp_tag_recv_nbx(A.w, &v, sizeof v, 2, ALL, &plain)));
    HOLDS(kill(pid, SIGKILL) == 0 && waitpid(pid, &st, 0) == pid);
    static char large[8 << 20];
    told = 0;
    ucs_status_t s = settled(ucp_tag_send_nbx(A.ep, large, sizeof large, 3, &plain));
    UNTIL(told);
    printf("%s: a send %s, the handler %s\n", what, which(s), name(why));
    say(what);
    HOLDS(told == 1);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    memset(&A, 0, sizeof A);
    free(theirs);
    close(fd);
}

/* ---- clients whose connection doesn't come about ---------------------------------------------------- */

static ucp_conn_request_h asked;
static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }

static void connect_client(const struct sockaddr_in *to)
{
    ucp_ep_params_t p = extra_ep_params;
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (const struct sockaddr *)to;
    p.sockaddr.addrlen = sizeof *to;
    told = 0;
    MUST(ucp_ep_create(A.w, &p, &A.ep));
}

static void clients(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, nobody = at;
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    ucp_listener_h l;
    long v = 5;
    open_side(&A);
    open_side(&B);
    MUST(ucp_listener_create(B.w, &p, &l));
    MUST(ucp_listener_query(l, &attr));
    at.sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    nobody.sin_port = htons(9);
    for (in_handler = 0; in_handler < 2; in_handler++) {
        handled(1);
        connect_client(&at);
        ucs_status_ptr_t s = ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain);
        UNTIL(asked);
        MUST(ucp_listener_reject(l, asked));
        asked = NULL;
        UNTIL(told);
        HOLDS(why == UCS_ERR_REJECTED);
        say("rejected");
        printf("what waited: %s\n", name(finished(s)));
        connect_client(&nobody);
        UNTIL(told);
        say("nobody listens");
        HOLDS(told == 1);
    }
    in_handler = 0;
    for (int with = 0; with < 2; with++) {
        handled(with);
        connect_client(&nobody);
        say(with ? "nobody listens, not known yet" : "nobody listens, no handler, not known yet");
        HOLDS(told == 0);
    }
    handled(0);
    connect_client(&nobody);
    for (double end = now() + 1; now() < end;) progress();
    say("nobody listens, no handler");
    /* A close that has to give a request. */
    handled(1);
    connect_client(&nobody);
    UNTIL(told);
    printf("a request is wanted: %s\n", which(finished(ucp_ep_close_nbx(A.ep, &always))));
    A.ep = NULL;
    ucp_listener_destroy(l);
    pair_close();
}

/* ---- large messages that are received when the endpoint that they came to is closed ---------------- */

static void *kept;
static ucs_status_t keep(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    HOLDS(p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
    kept = data;
    return UCS_INPROGRESS;
}

static void too_late(void)
{
    enum { LARGE = 8 << 20 };
    static char out[LARGE], in[LARGE];
    static const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    const ucp_am_handler_param_t h = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = 1, .cb = keep};
    ucp_tag_recv_info_t info;
    ucp_tag_message_h probed;
    handled(1);
    pair_open(0);
    MUST(ucp_worker_set_am_recv_handler(B.w, &h));
    still_works();
    ucs_status_ptr_t sent[] = {ucp_tag_send_nbx(A.ep, out, LARGE, 1, &plain), ucp_tag_send_nbx(A.ep, out, LARGE, 2, &plain),
                               ucp_am_send_nbx(A.ep, 1, NULL, 0, out, LARGE, &plain)};
    UNTIL(kept && ucp_tag_probe_nb(B.w, 1, ALL, 0, &info) && (probed = ucp_tag_probe_nb(B.w, 2, ALL, 1, &info)));
    MUST(finished(ucp_ep_close_nbx(B.ep, &force)));
    B.ep = NULL;
    printf("too late: %s", name(finished(ucp_tag_recv_nbx(B.w, in, LARGE, 1, ALL, &plain))));
    printf(", probed: %s", name(finished(ucp_tag_msg_recv_nbx(B.w, in, LARGE, probed, &plain))));
    printf(", by active message: %s\n", name(finished(ucp_am_recv_data_nbx(B.w, kept, in, LARGE, &plain))));
    MUST(finished(ucp_ep_close_nbx(A.ep, &force)));
    for (int i = 0; i < 3; i++) HOLDS(finished(sent[i]) < 0);
    A.ep = NULL;
    pair_close();
}

int main(void)
{
    features |= UCP_FEATURE_AM;
    for (in_handler = 0; in_handler < 2; in_handler++) killed("a peer that is killed");
    in_handler = 0;
    clients();
    told = 0;
    too_late();
    return finish();
}
