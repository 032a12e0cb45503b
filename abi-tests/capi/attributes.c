/* What objects say about themselves, and parameters that only steer: addresses and their queries,
 * flags and versions, names, user data, CPU sets, estimates of endpoints and processes, threads. */
#define _GNU_SOURCE
#include "capi.h"
#include <sched.h>

static uint64_t uid_of(ucp_address_t *a)
{
    ucp_worker_address_attr_t attr = {.field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID};
    MUST(ucp_worker_address_query(a, &attr));
    return attr.worker_uid;
}

static ucp_address_t *address_of(ucp_worker_h w, unsigned flags, size_t *len)
{
    ucp_worker_attr_t wa = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS, .address_flags = flags};
    MUST(ucp_worker_query(w, &wa));
    *len = wa.address_length;
    return wa.address;
}

static void addresses(void)
{
    size_t all_len, net_len;
    pair_open(0);
    ucp_address_t *all = address_of(B.w, 0, &all_len), *net = address_of(B.w, UCP_WORKER_ADDRESS_FLAG_NET_ONLY, &net_len);
    printf("one worker, one id: %d %d; another differs: %d\n", uid_of(all) == uid_of(B.addr), uid_of(net) == uid_of(B.addr), uid_of(A.addr) != uid_of(B.addr));
    ucp_worker_address_attr_t nothing = {.field_mask = 0, .worker_uid = 77};
    printf("asked for nothing: %s %d\n", name(ucp_worker_address_query(all, &nothing)), (int)nothing.worker_uid);
    int with_net = strstr(getenv("UCX_TLS"), "tcp") != NULL;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = net};
    ucp_ep_h ep = NULL;
    ucs_status_t s = ucp_ep_create(A.w, &p, &ep);
    printf("an endpoint by the network only: %s\n", with_net == (s == UCS_OK) ? "as there is one" : "WRONG");
    if (s == UCS_OK) {
        ucp_ep_h keep = A.ep;
        A.ep = ep;
        still_works();
        close_side(&A);
        A.ep = keep;
    }
    ucp_worker_release_address(B.w, all);
    ucp_worker_release_address(B.w, net);
    pair_close();
    for (int i = 0; i < 4; i++) {
        setenv("UCX_ADDRESS_VERSION", i & 1 ? "v2" : "v1", 1);
        open_side(&A);
        setenv("UCX_ADDRESS_VERSION", i & 2 ? "v2" : "v1", 1);
        open_side(&B);
        connect_to(&A, B.addr);
        connect_to(&B, A.addr);
        still_works();
        printf("address versions v%d and v%d: works\n", 1 + (i & 1), 1 + (i >> 1));
        pair_close();
    }
    unsetenv("UCX_ADDRESS_VERSION");
}

static void parameters(void)
{
    /* A worker with every parameter that there is. */
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_NAME |
                                    UCP_PARAM_FIELD_TAG_SENDER_MASK | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
                      .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP, .estimated_num_eps = 1000, .estimated_num_ppn = 64, .name = "the-context",
                      .tag_sender_mask = 0xff, .mt_workers_shared = 1};
    MUST(ucp_init(&p, NULL, &A.ctx));
    ucp_context_attr_t ca = {.field_mask = UCP_ATTR_FIELD_NAME | UCP_ATTR_FIELD_THREAD_MODE};
    MUST(ucp_context_query(A.ctx, &ca));
    printf("context: %s, threads %d\n", ca.name, ca.thread_mode);
    ucp_worker_params_t wp = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_CPU_MASK | UCP_WORKER_PARAM_FIELD_EVENTS | UCP_WORKER_PARAM_FIELD_USER_DATA |
                                            UCP_WORKER_PARAM_FIELD_NAME | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT | UCP_WORKER_PARAM_FIELD_CLIENT_ID,
                              .thread_mode = UCS_THREAD_MODE_SERIALIZED, .events = UCP_WAKEUP_TX | UCP_WAKEUP_RX, .user_data = &wp, .name = "the-worker", .am_alignment = 64, .client_id = 5};
    UCS_CPU_ZERO(&wp.cpu_mask);
    UCS_CPU_SET(0, &wp.cpu_mask);
    cpu_set_t before, after;
    HOLDS(sched_getaffinity(0, sizeof before, &before) == 0);
    MUST(ucp_worker_create(A.ctx, &wp, &A.w));
    HOLDS(sched_getaffinity(0, sizeof after, &after) == 0);
    ucp_worker_attr_t wa = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE | UCP_WORKER_ATTR_FIELD_NAME};
    MUST(ucp_worker_query(A.w, &wa));
    printf("worker: %s, threads %d, the caller's processors %s\n", wa.name, wa.thread_mode, CPU_EQUAL(&before, &after) ? "untouched" : "CHANGED");
    MUST(ucp_worker_get_address(A.w, &A.addr, &A.len));
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_NAME | UCP_EP_PARAM_FIELD_USER_DATA;
    extra_ep_params.name = "the-endpoint";
    extra_ep_params.user_data = &A;
    connect_to(&A, A.addr);
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    B = A;
    still_works();
    ucp_ep_attr_t ea = {.field_mask = UCP_EP_ATTR_FIELD_USER_DATA};
    MUST(ucp_ep_query(A.ep, &ea));
    printf("endpoint: user data %s\n", ea.user_data == &A ? "right" : "WRONG");
    ea.field_mask = UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR;
    printf("socket address of an endpoint by worker address: %s\n", name(ucp_ep_query(A.ep, &ea)));
    /* What a living endpoint can have changed. */
    ucp_ep_params_t change = {.field_mask = UCP_EP_PARAM_FIELD_USER_DATA, .user_data = &B};
    printf("changed: %s", name(UCS_PTR_STATUS(ucp_ep_modify_nb(A.ep, &change))));
    ea.field_mask = UCP_EP_ATTR_FIELD_USER_DATA;
    MUST(ucp_ep_query(A.ep, &ea));
    printf(", user data %s\n", ea.user_data == &B ? "right" : "WRONG");
    change.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    change.address = A.addr;
    printf("another address: %s\n", name(UCS_PTR_STATUS(ucp_ep_modify_nb(A.ep, &change))));
    change.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    printf("another mode: %s\n", name(UCS_PTR_STATUS(ucp_ep_modify_nb(A.ep, &change))));
    still_works();
    pair_close();
}

/* The estimated time of a large message to another process's worker, by a shared device. */
static double estimated(size_t ppn, size_t eps)
{
    extra_params.field_mask = UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    extra_params.estimated_num_ppn = ppn;
    extra_params.estimated_num_eps = eps;
    pair_open(0);
    ucp_ep_evaluate_perf_param_t p = {.field_mask = UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE, .message_size = 64 << 20};
    ucp_ep_evaluate_perf_attr_t attr = {.field_mask = UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME};
    MUST(ucp_ep_evaluate_perf(A.ep, &p, &attr));
    pair_close();
    memset(&extra_params, 0, sizeof extra_params);
    return attr.estimated_time;
}

static void estimates(void)
{
    double one = estimated(1, 1), many = estimated(16, 1), full = estimated(1, 100000);
    printf("64 MiB among 16 processes of a host: %s\n", many > 4 * one ? "takes longer" : many >= one * 0.99 ? "takes as long" : "WRONG");
    /* No transport here gets slower by its number of endpoints, which UCX would reckon with. */
    printf("among 100,000 endpoints: %s\n", full > 0.99 * one && full < 1.01 * one ? "takes as long" : "ANOTHER TIME");
}

static void library(void)
{
    ucp_lib_attr_t la = {.field_mask = UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL};
    ucs_status_t s = ucp_lib_query(&la);
    printf("library: %s, threads %d\n", name(s), la.max_thread_level);
    memset(&la, 0xee, sizeof la);
    la.field_mask = 0;
    printf("asked for nothing: %s %s\n", name(ucp_lib_query(&la)), untouched((char *)&la.max_thread_level, sizeof la.max_thread_level, 0xee) ? "untouched" : "WRONG");
}

int main(void)
{
    addresses();
    parameters();
    estimates();
    library();
    return finish();
}
