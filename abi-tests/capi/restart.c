/* A server that is killed with clients connected, and another one started at its port at once. With
 * UCX_TCP_CM_REUSEADDR=y it listens there and serves; with n the kernel keeps the port as long as it has
 * connections of the dead one, and the error names the variable. The first client is told once.
 * On our libraries only. */
#include "pair.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct sockaddr_in at;
static ucp_conn_request_h asked;
static int told;

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { told++; }

/* Listens where it is told to, says how that went, and answers a message of each client. */
static void server(int line)
{
    struct said { ucs_status_t status; in_port_t port; } said = {0};
    take_from(line, &at.sin_port, sizeof at.sin_port);
    open_side(&A);
    ucp_listener_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    p.conn_handler.cb = on_request;
    ucp_listener_h l;
    said.status = ucp_listener_create(A.w, &p, &l);
    if (said.status == UCS_OK) {
        ucp_listener_attr_t attr;
        memset(&attr, 0, sizeof attr);
        attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
        MUST(ucp_listener_query(l, &attr));
        said.port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    }
    give_to(line, &said, sizeof said);
    if (said.status != UCS_OK) _exit(0);
    for (;;) {
        ucp_ep_params_t q;
        char c;
        while (!asked) ucp_worker_progress(A.w);
        memset(&q, 0, sizeof q);
        q.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
        q.conn_request = asked;
        q.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        q.err_handler.cb = on_error;
        asked = NULL;
        MUST(ucp_ep_create(A.w, &q, &A.ep));
        (void)settled(ucp_tag_recv_nbx(A.w, &c, 1, 1, ALL, &plain));
        (void)settled(ucp_tag_send_nbx(A.ep, &c, 1, 2, &plain));
    }
}

struct child {
    pid_t pid;
    int line;
};

static struct child start(void)
{
    struct child c;
    int lines[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, lines) == 0);
    c.pid = fork();
    if (c.pid == 0) {
        close(lines[0]);
        alarm(60);
        server(lines[1]);
    }
    close(lines[1]);
    c.line = lines[0];
    return c;
}

static ucs_status_t listens(struct child *c, in_port_t port)
{
    struct { ucs_status_t status; in_port_t port; } said;
    give_to(c->line, &port, sizeof port);
    take_from(c->line, &said, sizeof said);
    at.sin_port = said.port;
    return said.status;
}

static void talk(ucp_ep_h *ep)
{
    ucp_ep_params_t p;
    char out = 'x', in = 0;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                   UCP_EP_PARAM_FIELD_FLAGS;
    p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    p.err_handler.cb = on_error;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    MUST(ucp_ep_create(A.w, &p, ep));
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, &in, 1, 2, ALL, &plain);
    MUST(settled(ucp_tag_send_nbx(*ep, &out, 1, 1, &plain)));
    MUST(settled(r));
    HOLDS(in == out);
}

static void killed_and_restarted(const char *reuse)
{
    ucp_ep_h first, second;
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    setenv("UCX_TCP_CM_REUSEADDR", reuse, 1);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct child one = start(), two = start();
    MUST(listens(&one, 0));
    in_port_t port = at.sin_port;
    open_side(&A);
    talk(&first);
    /* One that never closes its end, so that the kernel certainly has a connection left. */
    int s = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(s >= 0 && connect(s, (struct sockaddr *)&at, sizeof at) == 0);
    usleep(50000);
    kill(one.pid, SIGKILL);
    waitpid(one.pid, NULL, 0);
    ucs_status_t status = listens(&two, port);
    printf("UCX_TCP_CM_REUSEADDR=%s: %s\n", reuse, name(status));
    if (status == UCS_OK) {
        HOLDS(at.sin_port == port);
        talk(&second);
    }
    for (double end = now() + 20; !told && now() < end;) ucp_worker_progress(A.w);
    for (double end = now() + 0.2; now() < end;) ucp_worker_progress(A.w);
    printf("told: %d\n", told);
    (void)settled(ucp_ep_close_nbx(first, &force));
    if (status == UCS_OK) (void)settled(ucp_ep_close_nbx(second, &force));
    kill(two.pid, SIGKILL);
    waitpid(two.pid, NULL, 0);
    close(s);
    close_side(&A);
}

int main(void)
{
    const char *const both[] = {"y", "n"};
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            killed_and_restarted(both[i]);
            fflush(stdout);
            _exit(0);
        }
        int st;
        HOLDS(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 0);
    }
    return finish();
}
