/* One context under the settings in the environment, and what it says; for the cases about
 * configuration. Prints the status of ucp_config_read, of ucp_init, of a worker and of an endpoint to itself. */
#include "capi.h"

int main(int argc, char **argv)
{
    ucp_config_t *c;
    ucs_status_t s = ucp_config_read(NULL, NULL, &c);
    printf("read %s\n", name(s));
    if (s != UCS_OK) return 0;
    if (argc > 2) printf("modify %s\n", name(ucp_config_modify(c, argv[1], argv[2])));
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    s = ucp_init(&p, c, &A.ctx);
    ucp_config_release(c);
    printf("init %s\n", name(s));
    if (s != UCS_OK) return 0;
    ucp_worker_params_t wp = {0};
    s = ucp_worker_create(A.ctx, &wp, &A.w);
    printf("worker %s\n", name(s));
    if (s != UCS_OK) {
        ucp_cleanup(A.ctx);
        return 0;
    }
    MUST(ucp_worker_get_address(A.w, &A.addr, &A.len));
    ucp_ep_params_t ep_p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = A.addr};
    s = ucp_ep_create(A.w, &ep_p, &A.ep);
    printf("endpoint %s\n", name(s));
    B = A;
    if (s == UCS_OK) {
        still_works();
        printf("works\n");
        close_side(&A);
    }
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    return finish();
}
