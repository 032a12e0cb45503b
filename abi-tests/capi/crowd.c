/* Many clients at one listener. usage: crowd PROCESSES CLIENTS ROUNDS
 * PROCESSES children with CLIENTS endpoints each connect at once, send a message over each and get one
 * back, and close; ROUNDS times, after which nothing must be left: no descriptor, no memory to speak of.
 * The rate of connections goes to stderr as `value N`. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { MOST = 1024 };

static ucp_conn_request_h asked[MOST];
static ucp_ep_h eps[MOST];
static int n_asked, n_failed;

static void on_request(ucp_conn_request_h request, void *arg)
{
    (void)arg;
    HOLDS(n_asked < MOST);
    asked[n_asked++] = request;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    (void)ep;
    (void)status;
    n_failed++;
}

static long resident(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    HOLDS(f && fscanf(f, "%ld %ld", &size, &pages) == 2);
    fclose(f);
    return pages * 4;
}

static ucs_status_ptr_t close_start(ucp_ep_h ep)
{
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = UCP_EP_CLOSE_FLAG_FORCE;
    return ucp_ep_close_nbx(ep, &p);
}

static void close_all(int n)
{
    static ucs_status_ptr_t r[MOST];
    for (int i = 0; i < n; i++) r[i] = close_start(eps[i]);
    for (int i = 0; i < n; i++) (void)finished(r[i]);
}

/* ---- a child ------------------------------------------------------------------------------------ */

static void round_of_client(const struct sockaddr_in *to, int n)
{
    static long out[MOST], in[MOST];
    static ucs_status_ptr_t s[MOST], r[MOST];
    n_failed = 0;
    for (int i = 0; i < n; i++) {
        ucp_ep_params_t p;
        memset(&p, 0, sizeof p);
        p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                       UCP_EP_PARAM_FIELD_FLAGS;
        p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        p.err_handler.cb = on_error;
        p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        p.sockaddr.addr = (const struct sockaddr *)to;
        p.sockaddr.addrlen = sizeof *to;
        MUST(ucp_ep_create(A.w, &p, &eps[i]));
    }
    for (int i = 0; i < n; i++) {
        out[i] = i;
        r[i] = ucp_tag_recv_nbx(A.w, &in[i], sizeof in[i], 2, ALL, &plain);
        s[i] = ucp_tag_send_nbx(eps[i], &out[i], sizeof out[i], 1, &plain);
    }
    for (int i = 0; i < n; i++) {
        ucs_status_t sent = finished(s[i]), got = finished(r[i]);
        if (sent != UCS_OK || got != UCS_OK || in[i] != 77) DIE("client %d: %s, %s", i, name(sent), name(got));
    }
    if (n_failed) DIE("%d of %d clients failed", n_failed, n);
    close_all(n);
}

static int client(const struct sockaddr_in *to, int n, int rounds, int go, int done)
{
    char c;
    open_side(&A);
    int fds = 0;
    long kib = 0;
    for (int i = 0; i < rounds; i++) {
        while (poll(&(struct pollfd){go, POLLIN, 0}, 1, 0) == 0) progress();
        HOLDS(read(go, &c, 1) == 1);
        round_of_client(to, n);
        HOLDS(write(done, &c, 1) == 1);
        if (i == rounds / 2) fds = descriptors(), kib = resident();
    }
    for (double end = now() + 0.2; now() < end;) progress();
    if (rounds > 2 && descriptors() > fds) DIE("a client has %d descriptors, %d before", descriptors(), fds);
    if (rounds > 2 && resident() > kib + 2048) DIE("a client has %ld KiB, %ld before", resident(), kib);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    return 0;
}

/* ---- the server --------------------------------------------------------------------------------- */

static void round_of_server(int n)
{
    static long in[MOST], out[MOST];
    static ucs_status_ptr_t s[MOST], r[MOST];
    int made = 0;
    n_asked = n_failed = 0;
    for (int i = 0; i < n; i++) r[i] = ucp_tag_recv_nbx(A.w, &in[i], sizeof in[i], 1, ALL, &plain);
    double end = now() + 60;
    while (made < n) {
        progress();
        for (; made < n_asked; made++) {
            ucp_ep_params_t p;
            memset(&p, 0, sizeof p);
            p.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLER;
            p.conn_request = asked[made];
            p.err_handler.cb = on_error;
            MUST(ucp_ep_create(A.w, &p, &eps[made]));
        }
        if (now() > end) DIE("%d of %d clients came", made, n);
    }
    for (int i = 0; i < n; i++) {
        out[i] = 77;
        s[i] = ucp_tag_send_nbx(eps[i], &out[i], sizeof out[i], 2, &plain);
    }
    for (int i = 0; i < n; i++) {
        ucs_status_t got = finished(r[i]);
        (void)finished(s[i]); /* a client that has all it wants may have gone */
        if (got != UCS_OK) DIE("message %d: %s", i, name(got));
    }
    UNTIL(n_failed == n);
    close_all(n);
}

int main(int argc, char **argv)
{
    if (argc == 6) {
        struct sockaddr_in to;
        memset(&to, 0, sizeof to);
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = atoi(argv[3]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return client(&to, atoi(argv[1]), atoi(argv[2]), atoi(argv[4]), atoi(argv[5]));
    }
    HOLDS(argc == 4);
    int processes = atoi(argv[1]), n = atoi(argv[2]), rounds = atoi(argv[3]);
    HOLDS(processes > 0 && n > 0 && processes * n <= MOST);
    open_side(&A);
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ucp_listener_h l;
    ucp_listener_params_t lp;
    memset(&lp, 0, sizeof lp);
    lp.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    lp.sockaddr.addr = (struct sockaddr *)&at;
    lp.sockaddr.addrlen = sizeof at;
    lp.conn_handler.cb = on_request;
    MUST(ucp_listener_create(A.w, &lp, &l));
    ucp_listener_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    MUST(ucp_listener_query(l, &attr));
    at.sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    int go[2], done[2], fds = 0;
    long kib = 0;
    char many[64] = {0};
    HOLDS(pipe(go) == 0 && pipe(done) == 0);
    /* Children are programs of their own: what was opened here is not theirs. */
    char port[16], in_fd[16], out_fd[16];
    snprintf(port, sizeof port, "%d", at.sin_port);
    snprintf(in_fd, sizeof in_fd, "%d", go[0]);
    snprintf(out_fd, sizeof out_fd, "%d", done[1]);
    HOLDS(processes <= (int)sizeof many);
    for (int i = 0; i < processes; i++) {
        if (fork() == 0) {
            close(go[1]);
            close(done[0]);
            execl("/proc/self/exe", "crowd", argv[2], argv[3], port, in_fd, out_fd, NULL);
            _exit(9);
        }
    }
    double start = 0;
    for (int i = 0; i < rounds; i++) {
        HOLDS(write(go[1], many, processes) == processes);
        round_of_server(processes * n);
        for (int k = 0; k < processes; k++) HOLDS(read(done[0], many, 1) == 1);
        if (i == 0) start = now(); /* the first round is for warming up */
        if (i == rounds / 2) fds = descriptors(), kib = resident();
    }
    double took = now() - start;
    if (rounds > 1) fprintf(stderr, "value %.0f\n", (rounds - 1) * (double)processes * n / took);
    for (double end = now() + 0.2; now() < end;) progress();
    if (rounds > 2 && descriptors() > fds) DIE("%d descriptors, %d before", descriptors(), fds);
    if (rounds > 2 && resident() > kib + 4096) DIE("%ld KiB, %ld before", resident(), kib);
    for (int i = 0; i < processes; i++) {
        int status;
        HOLDS(wait(&status) > 0);
        if (status) DIE("a client ended with %x", status);
    }
    ucp_listener_destroy(l);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    printf("%d processes with %d clients each, %d times\n", processes, n, rounds);
    return finish();
}
