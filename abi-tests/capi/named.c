/* Messages about a peer name it: where it is, or as it calls itself. Each case makes the library complain about one
 * peer, in a log of its own (UCX_LOG_FILE), and prints the name that every line about it must have.
 * On our libraries only.
 *
 *   named killed | called | refused | unreachable | modes */
#include "rma.h"
#include "pair.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>

static int asked, failed;
static ucp_conn_request_h request;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { failed++; }
static void on_request(ucp_conn_request_h r, void *arg) { request = r, asked++; }

/* A child with a worker of this name, that dies when it is told to. */
static void killed(const char *worker_name)
{
    int fds[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    fd = fds[pid == 0];
    close(fds[pid != 0]);
    if (pid == 0) {
        ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
        ucp_worker_params_t wp = {.field_mask = worker_name ? UCP_WORKER_PARAM_FIELD_NAME : 0, .name = worker_name};
        MUST(ucp_init(&p, NULL, &A.ctx));
        MUST(ucp_worker_create(A.ctx, &wp, &A.w));
        MUST(ucp_worker_get_address(A.w, &A.addr, &A.len));
        give(&A.len, sizeof A.len);
        give(A.addr, A.len);
        char c = 0;
        MUST(settled(ucp_tag_recv_nbx(A.w, &c, 1, 1, ALL, &plain)));
        pause();
    }
    open_side(&A);
    size_t n;
    take(&n, sizeof n);
    ucp_address_t *theirs = malloc(n);
    take(theirs, n);
    connect_to(&A, theirs);
    char c = 0;
    MUST(settled(ucp_tag_send_nbx(A.ep, &c, 1, 1, &plain)));
    ucp_worker_address_attr_t attr = {.field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID};
    MUST(ucp_worker_address_query(theirs, &attr));
    if (worker_name) printf("%s\n", worker_name);
    else if (strstr(getenv("UCX_TLS"), "tcp")) printf("worker 0x%lx (127.0.0.1:\n", (unsigned long)attr.worker_uid);
    else printf("worker 0x%lx (process %d)\n", (unsigned long)attr.worker_uid, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ucs_status_ptr_t r = ucp_tag_send_sync_nbx(A.ep, &c, 1, 2, &plain);
    HOLDS(settled(r) < 0);
    /* Where the post was refused, the endpoint's end is told by progress. */
    for (int i = 0; i < 100; i++) ucp_worker_progress(A.w);
}

/* Operations on memory that is no longer there for them: both sides complain. */
static void refused(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    static uint64_t word[8], one = 1, reply;
    pair_open(0);
    still_works();
    struct region r = map_region(&B, USER, sizeof word);
    ucp_rkey_h key = key_of(A.ep, r.packed);
    uint64_t at = (uint64_t)r.at;
    unmap_region(&B, &r);
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
    (void)finished(ucp_put_nbx(A.ep, word, 8, at, key, &plain));
    HOLDS(finished(ucp_ep_flush_nbx(A.ep, &plain)) < 0);
    HOLDS(finished(ucp_get_nbx(A.ep, word, 8, at, key, &plain)) < 0);
    (void)finished(ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, at, key, &q));
    (void)finished(ucp_ep_flush_nbx(A.ep, &plain));
    q.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    q.reply_buffer = &reply;
    HOLDS(finished(ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &one, 1, at, key, &q)) < 0);
    ucp_worker_address_attr_t attr = {.field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID};
    MUST(ucp_worker_address_query(A.addr, &attr));
    printf("worker 0x%lx", (unsigned long)attr.worker_uid);
    MUST(ucp_worker_address_query(B.addr, &attr));
    printf("|worker 0x%lx\n", (unsigned long)attr.worker_uid);
}

/* A worker of one kind of transport for one of another. */
static void unreachable(void)
{
    setenv("UCX_ADDRESS_DEBUG_INFO", "y", 1);
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t wp = {.field_mask = UCP_WORKER_PARAM_FIELD_NAME, .name = "far-away"};
    MUST(ucp_init(&p, NULL, &B.ctx));
    MUST(ucp_worker_create(B.ctx, &wp, &B.w));
    MUST(ucp_worker_get_address(B.w, &B.addr, &B.len));
    setenv("UCX_TLS", "self", 1);
    open_side(&A);
    ucp_ep_h ep;
    ucp_ep_params_t ep_p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = B.addr};
    HOLDS(ucp_ep_create(A.w, &ep_p, &ep) == UCS_ERR_UNREACHABLE);
    printf("far-away\n");
}

static struct sockaddr_in at = {.sin_family = AF_INET};
static ucp_ep_h client(void)
{
    ucp_ep_h ep;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER};
    p.err_handler.cb = on_error;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    MUST(ucp_ep_create(A.w, &p, &ep));
    return ep;
}

/* A client whose error handling mode the server does not want. */
static void modes(void)
{
    open_side(&A);
    open_side(&B);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ucp_listener_params_t lp = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER};
    lp.sockaddr.addr = (struct sockaddr *)&at;
    lp.sockaddr.addrlen = sizeof at;
    lp.conn_handler.cb = on_request;
    ucp_listener_h l;
    MUST(ucp_listener_create(B.w, &lp, &l));
    ucp_listener_attr_t la = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(l, &la));
    at = *(struct sockaddr_in *)&la.sockaddr;
    (void)client();
    UNTIL(asked);
    ucp_conn_request_attr_t ra = {.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};
    MUST(ucp_conn_request_query(request, &ra));
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, .conn_request = request, .err_mode = UCP_ERR_HANDLING_MODE_NONE};
    HOLDS(ucp_ep_create(B.w, &p, &B.ep) < 0);
    printf("127.0.0.1:%d\n", ntohs(((struct sockaddr_in *)&ra.client_address)->sin_port));
}

int main(int argc, char **argv)
{
    HOLDS(argc == 2);
    features = UCP_FEATURE_TAG;
    say_maps();
    if (!strcmp(argv[1], "killed")) killed(NULL);
    else if (!strcmp(argv[1], "called")) setenv("UCX_ADDRESS_DEBUG_INFO", "y", 1), killed("the-other-worker");
    else if (!strcmp(argv[1], "refused")) refused();
    else if (!strcmp(argv[1], "unreachable")) unreachable();
    else modes();
    printf("end\n");
    fflush(stdout);
    _exit(0); /* what is left would complain of its own */
}
