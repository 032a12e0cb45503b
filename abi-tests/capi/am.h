/* What the programs about active messages share. */
#ifndef AM_H
#define AM_H
#include "datatypes.h"

#ifdef HEADERS_1_13_1
#define UCP_AM_SEND_FLAG_COPY_HEADER (1u << 3) /* younger than these headers */
#endif

#define AM_DATA UCP_AM_RECV_ATTR_FLAG_DATA
#define AM_RNDV UCP_AM_RECV_ATTR_FLAG_RNDV
#define AM_REPLY UCP_AM_RECV_ATTR_FIELD_REPLY_EP

static ucs_status_t set_with(ucp_worker_h w, unsigned id, ucp_am_recv_callback_t cb, void *arg, uint32_t flags)
{
    ucp_am_handler_param_t p = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                              UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
                                .id = id,
                                .cb = cb,
                                .arg = arg,
                                .flags = flags};
    return ucp_worker_set_am_recv_handler(w, &p);
}

static void set(ucp_worker_h w, unsigned id, ucp_am_recv_callback_t cb, void *arg) { MUST(set_with(w, id, cb, arg, 0)); }

static ucs_status_ptr_t am_send(ucp_ep_h ep, unsigned id, const void *header, size_t header_len, const void *buf, size_t n, uint32_t flags)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = flags};
    return ucp_am_send_nbx(ep, id, header, header_len, buf, n, &p);
}

static int is_pending(ucs_status_ptr_t r) { return UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS; }

static long resident_kib(void)
{
    long kib = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmRSS: %ld", &kib);
    if (f) fclose(f);
    return kib;
}
#endif
