/* A worker address of another UCX. usage: foreign write | read FILE
 * `write` puts the address of a worker into the file, `read` makes an endpoint of what it finds there. */
#include "capi.h"

int main(int argc, char **argv)
{
    HOLDS(argc == 3);
    open_side(&A);
    FILE *f = fopen(argv[2], argv[1][0] == 'w' ? "w" : "r");
    HOLDS(f);
    if (argv[1][0] == 'w') {
        HOLDS(fwrite(A.addr, 1, A.len, f) == A.len && fclose(f) == 0);
        return finish();
    }
    static char bytes[65536];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    HOLDS(n > 0);
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = (ucp_address_t *)bytes};
    ucs_status_t s = ucp_ep_create(A.w, &p, &A.ep);
    printf("endpoint: %s\n", name(s));
    A.ep = NULL;
    connect_to(&A, A.addr);
    B = A;
    still_works(); /* to itself: no harm was done */
    return finish();
}
