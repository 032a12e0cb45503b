/* A receive that is too short: {expected, unexpected} x sizes of each protocol x {contiguous, IOV,
 * generic} on both sides x receive length {0, n/2, n-1}. The receiver gets a truncation and nothing
 * past its length, the sender finishes, the next message matches, each start of a generic type is
 * finished once. The protocol follows from the size and from UCX_RNDV_THRESH. */
#include "datatypes.h"

static const size_t sizes[] = {2, 64, 3000, 40000, 600000, 3u << 20};

int main(int argc, char **argv)
{
    for (int loop = 0; loop < 2; loop++) {
        pair_open(loop);
        for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
            for (int kr = 0; kr < KINDS; kr++)
                for (int expected = 0; expected < 2; expected++) {
                    size_t n = sizes[z];
                    unsigned char *out = malloc(n), *in = malloc(n);
                    int right = 0, clean = 0, sender = 0, runs = 0, sync = 0;
                    starts = finishes = bad_calls = 0;
                    for (int ks = 0; ks < KINDS; ks++)
                        for (int part = 0; part < 3; part++, runs++) {
                            size_t room = part == 0 ? 0 : part == 1 ? n / 2 : n - 1;
                            struct buffer *s = view(ks, out, n), *r = view(kr, in, room);
                            ucs_status_ptr_t rs, rr;
                            ucp_tag_recv_info_t info;
                            fill(out, n, 7);
                            memset(in, 0xee, n);
                            sync = runs % 2;
                            if (expected) {
                                rr = recv_view(B.w, r, 5, ALL, &info);
                                rs = send_view(A.ep, s, 5, sync);
                            } else {
                                rs = send_view(A.ep, s, 5, sync);
                                let_it_arrive();
                                rr = recv_view(B.w, r, 5, ALL, &info);
                            }
                            ucs_status_t sr = finished(rr), ss = finished(rs);
                            if (sr == UCS_ERR_MESSAGE_TRUNCATED) right++;
                            else printf("  loop %d, %zu bytes, room %zu, from %s, sync %d: receive gave %s\n", loop, n, room, kinds[ks], sync, name(sr));
                            if (ss == UCS_OK) sender++;
                            else printf("  loop %d, %zu bytes, room %zu, from %s, sync %d: send gave %s\n", loop, n, room, kinds[ks], sync, name(ss));
                            clean += untouched(in + room, n - room, 0xee);
                            still_works();
                            drop(s);
                            drop(r);
                        }
                    let_it_arrive();
                    printf("%s, %zu bytes, %s, into %s: %d of %d truncated, %d sends fine, %d clean, starts and finishes %s, bad calls %d\n",
                           loop ? "loopback" : "two workers", n, expected ? "expected" : "unexpected", kinds[kr], right, runs, sender, clean,
                           starts == finishes ? "equal" : "DIFFER", bad_calls);
                    free(out);
                    free(in);
                }
        pair_close();
    }
    return finish();
}
