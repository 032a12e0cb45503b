/* That AddressSanitizer sees what the library does with memory of the user: a message is received into 10 bytes, or
 * into memory that was freed. usage: asan_self [freed]. Must end by a report. */
#include "capi.h"

int main(int argc, char **argv)
{
    static char out[100];
    pair_open(0);
    char *in = malloc(10);
    if (argc > 1) free(in);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, 60, 1, ALL, &plain);
    MUST(finished(ucp_tag_send_nbx(A.ep, out, 60, 1, &plain)));
    MUST(finished(r));
    pair_close();
    return finish();
}
