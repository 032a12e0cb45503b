/* Endpoints by worker address that are made, used and closed in order over and over, on one side or on both: what a closed
 * one leaves behind, which may still be answering, goes as soon as the peer knows of the close.
 * usage: close_again ROUNDS */
#include "capi.h"
#include <dirent.h>

enum how { ONE_WAY, BOTH_WAYS, CROSSING, HOWS };
static const char *const hows[] = {"one end", "both ends, one after the other", "both ends at once"};
static int told;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { told++; }

static int descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    HOLDS(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* The message needs an answer, so that the peer gets to know the sender's end. */
static void message(struct side *from, struct side *to)
{
    long v = 5, w = 0;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(to->w, &w, sizeof w, 3, ALL, &plain);
    MUST(finished(ucp_tag_send_sync_nbx(from->ep, &v, sizeof v, 3, &plain)));
    MUST(finished(r));
    HOLDS(v == w);
}

static void once(enum how how)
{
    connect_to(&A, B.addr);
    if (how != ONE_WAY) connect_to(&B, A.addr);
    message(&A, &B);
    if (how != ONE_WAY) message(&B, &A);
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain), s = NULL;
    if (how == CROSSING) s = ucp_ep_close_nbx(B.ep, &plain);
    MUST(finished(r));
    if (how == BOTH_WAYS) s = ucp_ep_close_nbx(B.ep, &plain);
    MUST(finished(s));
    A.ep = B.ep = NULL;
}

/* Few enough that it can't be one each time. */
static int settles(int before, int rounds)
{
    double end = now() + 20;
    while (descriptors() > before + rounds / 4 && now() < end) let_it_arrive();
    return descriptors() <= before + rounds / 4;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    for (int mode = UCP_ERR_HANDLING_MODE_NONE; mode <= UCP_ERR_HANDLING_MODE_PEER; mode++)
        for (enum how how = ONE_WAY; how < HOWS; how++) {
            memset(&extra_ep_params, 0, sizeof extra_ep_params);
            extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
            extra_ep_params.err_mode = mode;
            extra_ep_params.err_handler.cb = on_error;
            open_side(&A);
            open_side(&B);
            once(how);
            let_it_arrive();
            int before = descriptors();
            for (int i = 0; i < rounds; i++) once(how);
            int ok = settles(before, rounds);
            printf("%s: %s\n", hows[how], ok ? "nothing is left behind" : "WRONG, something is left behind");
            fprintf(stderr, "%d descriptors, then %d\n", before, descriptors());
            HOLDS(told == 0);
            pair_close();
        }
    return finish();
}
