/* ucp_ep_evaluate_perf: an estimate that is positive, doesn't fall with the size, and grows with it. */
#include "capi.h"

static void estimates(const char *what, ucp_ep_h ep)
{
    double last = 0, small = 0, big = 0;
    int positive = 1, rising = 1;
    for (size_t n = 1; n <= (size_t)1 << 32; n *= 4) {
        ucp_ep_evaluate_perf_param_t p = {.field_mask = UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE, .message_size = n};
        ucp_ep_evaluate_perf_attr_t a = {.field_mask = UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME};
        MUST(ucp_ep_evaluate_perf(ep, &p, &a));
        positive &= a.estimated_time > 0 && a.estimated_time < 3600;
        rising &= a.estimated_time >= last;
        last = a.estimated_time;
        if (n == 1) small = last;
        big = last;
    }
    printf("%s: %s, %s, %s for 4 GiB\n", what, positive ? "seconds" : "NO SECONDS", rising ? "never less for more" : "FALLING",
           big > 100 * small ? "much more" : "NOT MORE");
    ucp_ep_evaluate_perf_param_t zero = {.field_mask = UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE, .message_size = 0};
    ucp_ep_evaluate_perf_param_t p = {.field_mask = 0};
    ucp_ep_evaluate_perf_attr_t a = {.field_mask = UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME};
    printf("no bytes: %s\n", name(ucp_ep_evaluate_perf(ep, &zero, &a)));
    printf("no size: %s\n", name(ucp_ep_evaluate_perf(ep, &p, &a)));
    a.field_mask = 0;
    printf("nothing asked for: %s\n", name(ucp_ep_evaluate_perf(ep, &zero, &a)));
}

int main(void)
{
    for (int loop = 0; loop < 2; loop++) {
        pair_open(loop);
        estimates(loop ? "to itself" : "to another", A.ep);
        still_works();
        estimates("afterwards", A.ep);
        pair_close();
    }
    return finish();
}
