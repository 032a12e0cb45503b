/* What a process pays before its first message: from ucp_config_read to the arrival of one tagged
 * message on a loopback endpoint. Prints "value MILLISECONDS" and "rss KILOBYTES". */
#include "resident.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(void)
{
    double start = now_ms();
    ucp_config_t *config;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t length;
    ucp_ep_h ep;
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM};
    ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_request_param_t plain = {.op_attr_mask = 0};
    if (ucp_config_read(NULL, NULL, &config) || ucp_init(&params, config, &context)) return 1;
    ucp_config_release(config);
    if (ucp_worker_create(context, &worker_params, &worker)) return 1;
    if (ucp_worker_get_address(worker, &address, &length)) return 1;
    ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    if (ucp_ep_create(worker, &ep_params, &ep)) return 1;
    long out = 42, in = 0;
    void *send = ucp_tag_send_nbx(ep, &out, sizeof out, 7, &plain);
    void *recv = ucp_tag_recv_nbx(worker, &in, sizeof in, 7, ~(ucp_tag_t)0, &plain);
    if (UCS_PTR_IS_ERR(send) || UCS_PTR_IS_ERR(recv)) return 1;
    while ((send && ucp_request_check_status(send) == UCS_INPROGRESS) ||
           (recv && ucp_request_check_status(recv) == UCS_INPROGRESS))
        ucp_worker_progress(worker);
    double end = now_ms();
    long kb = resident_kb();
    if (send) ucp_request_free(send);
    if (recv) ucp_request_free(recv);
    if (in != 42) return 1;
    printf("value %.3f\nrss %ld\n", end - start, kb);
    void *close = ucp_ep_close_nbx(ep, &plain);
    while (UCS_PTR_IS_PTR(close) && ucp_request_check_status(close) == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    if (UCS_PTR_IS_PTR(close)) ucp_request_free(close);
    ucp_worker_release_address(worker, address);
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
    return 0;
}
