/* A client and a server of one connection by socket address, to be run on two hosts, or on one with odd interfaces:
 * messages both ways, small and large, then both close.
 * usage: far listen PORT | far connect IP PORT */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

#define LARGE (3 << 20)

static ucp_conn_request_h asked;

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    /* As when the other side closes first. */
    fprintf(stderr, "the endpoint has failed: %s\n", name(status));
}

static void transfer(int first, unsigned seed)
{
    static char out[LARGE], in[LARGE];
    static const size_t sizes[] = {8, 5000, 100000, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int turn = 0; turn < 2; turn++) {
            size_t n = sizes[i];
            if (turn == first) {
                memset(in, 0, n);
                MUST(finished(ucp_tag_recv_nbx(A.w, in, n, i, ALL, &plain)));
                HOLDS(same(in, n, !seed));
            } else {
                fill(out, n, seed);
                MUST(finished(ucp_tag_send_nbx(A.ep, out, n, i, &plain)));
            }
        }
}

int main(int argc, char **argv)
{
    HOLDS(argc > 2);
    int connects = !strcmp(argv[1], "connect");
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 1]))};
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler.cb = on_error};
    ucp_listener_h l = NULL;
    open_side(&A);
    fprintf(stderr, "a worker address of %zu bytes\n", A.len);
    if (connects) {
        HOLDS(inet_pton(AF_INET, argv[2], &at.sin_addr) == 1);
        p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
        p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        p.sockaddr.addr = (struct sockaddr *)&at;
        p.sockaddr.addrlen = sizeof at;
    } else {
        ucp_listener_params_t lp = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                    .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
        MUST(ucp_listener_create(A.w, &lp, &l));
        printf("listening\n");
        UNTIL(asked);
        p.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        p.conn_request = asked;
    }
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    transfer(connects, connects);
    finished(ucp_ep_close_nbx(A.ep, &plain));
    A.ep = NULL;
    if (l) ucp_listener_destroy(l);
    printf("all has arrived\n");
    return finish();
}
