/* Workers in a narrow range of ports, and a listener whose port is taken.
 * usage: ports FIRST COUNT: makes workers in UCX_TCP_PORT_RANGE until one fails, with port FIRST + 1 taken. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    HOLDS(argc == 3);
    int first = atoi(argv[1]), count = atoi(argv[2]), made = 0;
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(first + 1);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof at) == 0 && listen(s, 1) == 0);
    ucp_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_PARAM_FIELD_FEATURES;
    p.features = UCP_FEATURE_TAG;
    MUST(ucp_init(&p, NULL, &A.ctx));
    ucp_worker_params_t wp;
    memset(&wp, 0, sizeof wp);
    ucp_worker_h w[64];
    ucs_status_t status = UCS_OK;
    while (made < 64 && (status = ucp_worker_create(A.ctx, &wp, &w[made])) == UCS_OK) made++;
    printf("%d workers in %d ports of which one is taken, then %s\n", made, count, status < 0 ? "an error" : "OK");
    /* Those there are work, and what they leave can be had again. */
    A.w = w[0];
    B.w = w[made - 1];
    ucp_address_t *to;
    size_t len;
    MUST(ucp_worker_get_address(B.w, &to, &len));
    connect_to(&A, to);
    still_works();
    close_side(&A);
    ucp_worker_release_address(B.w, to);
    for (int i = 0; i < made; i++) ucp_worker_destroy(w[i]);
    A.w = B.w = NULL;
    for (int i = 0; i < made; i++) MUST(ucp_worker_create(A.ctx, &wp, &w[i]));
    for (int i = 0; i < made; i++) ucp_worker_destroy(w[i]);
    ucp_cleanup(A.ctx);
    return finish();
}
