/* What UCT must refuse, with the right status and without a crash. */
#include "uct.h"

#include <uct/api/v2/uct_v2.h>

static int wrong;

static void check(const char *what, long got, long want)
{
    int ok = got == want;
    wrong += !ok;
    printf("%s %s: %s\n", ok ? "ok" : "WRONG", what, got <= 0 && got > -90 ? name((ucs_status_t)got) : "a value");
}

#define REFUSED(expr, status) check(#expr, (long)(expr), UCS_ERR_##status)

static ucs_status_t on_am(void *arg, void *data, size_t length, unsigned flags) { return UCS_OK; }

static size_t pack_none(void *dest, void *arg) { return 0; }

static void components(void)
{
    uct_component_h *list;
    unsigned n;
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
    uct_md_config_t *config;
    uct_md_h md;
    char value[32];
    REFUSED(uct_query_components(NULL, &n), INVALID_PARAM);
    MUST(uct_query_components(&list, &n));
    REFUSED(uct_component_query(NULL, &attr), INVALID_PARAM);
    REFUSED(uct_component_query((uct_component_h)&attr, &attr), INVALID_PARAM);
    REFUSED(uct_component_query(list[0], NULL), INVALID_PARAM);
    REFUSED(uct_md_config_read(list[0], NULL, NULL, NULL), INVALID_PARAM);
    REFUSED(uct_md_config_read(NULL, NULL, NULL, &config), INVALID_PARAM);
    MUST(uct_md_config_read(list[0], NULL, NULL, &config));
    REFUSED(uct_config_get(config, "NOTHING", value, sizeof value), NO_ELEM);
    REFUSED(uct_config_get(NULL, "NUM_DEVICES", value, sizeof value), INVALID_PARAM);
    check("uct_config_get", uct_config_get(config, "NUM_DEVICES", value, sizeof value), UCS_OK);
    REFUSED(uct_config_modify(config, "NOTHING", "1"), NO_ELEM);
    REFUSED(uct_config_modify(config, "NUM_DEVICES", "many"), INVALID_PARAM);
    check("uct_config_modify", uct_config_modify(config, "NUM_DEVICES", "2"), UCS_OK);
    MUST(uct_config_get(config, "NUM_DEVICES", value, sizeof value));
    check("the new value", strcmp(value, "2"), 0);
    REFUSED(uct_md_open(list[0], "nobody", config, &md), NO_DEVICE);
    REFUSED(uct_md_open(list[0], NULL, config, &md), INVALID_PARAM);
    REFUSED(uct_md_open(NULL, "self", config, &md), INVALID_PARAM);
    uct_config_release(config);
    uct_config_release(NULL);
    uct_release_component_list(list);
}

static void memory(domain_t *d)
{
    uct_allocated_memory_t mem;
    uct_alloc_method_t methods[] = {UCT_ALLOC_METHOD_HEAP, UCT_ALLOC_METHOD_MMAP, 99};
    uct_mem_alloc_params_t params = {.field_mask = 0};
    uct_rkey_bundle_t rkey;
    uct_mem_h memh;
    unsigned char packed[1024] = {0};
    size_t size = d->md_attr.rkey_packed_size;
    REFUSED(uct_mem_alloc(0, methods, 2, &params, &mem), INVALID_PARAM);
    REFUSED(uct_mem_alloc(100, NULL, 2, &params, &mem), INVALID_PARAM);
    REFUSED(uct_mem_alloc(100, methods, 2, NULL, &mem), INVALID_PARAM);
    REFUSED(uct_mem_alloc(100, methods + 2, 1, &params, &mem), INVALID_PARAM);
    REFUSED(uct_mem_alloc((size_t)-1, methods, 2, &params, &mem), NO_MEMORY);
    params.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_FLAGS;
    params.flags = UCT_MD_MEM_FLAG_FIXED;
    REFUSED(uct_mem_alloc(100, methods, 2, &params, &mem), INVALID_PARAM);
    REFUSED(uct_mem_free(NULL), INVALID_PARAM);
    REFUSED(uct_md_mem_reg(NULL, packed, 1, 0, &memh), INVALID_PARAM);
    REFUSED(uct_md_mem_reg(d->md, packed, 0, 0, &memh), INVALID_PARAM);
    REFUSED(uct_md_mkey_pack(d->md, NULL, packed), INVALID_PARAM);
    REFUSED(uct_md_query(d->md, NULL), INVALID_PARAM);
    REFUSED(uct_md_query(NULL, &d->md_attr), INVALID_PARAM);
    REFUSED(uct_rkey_unpack(d->component, packed, NULL), INVALID_PARAM);
    if (!size) return;
    REFUSED(uct_rkey_unpack(d->component, NULL, &rkey), INVALID_PARAM);
    REFUSED(uct_rkey_unpack(d->component, packed, &rkey), INVALID_PARAM);
    /* A key of which a bit has turned over. */
    methods[0] = UCT_ALLOC_METHOD_MD;
    params.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_MDS;
    params.mds.mds = &d->md;
    params.mds.count = 1;
    MUST(uct_mem_alloc(100, methods, 1, &params, &mem));
    MUST(uct_md_mkey_pack(d->md, mem.memh, packed));
    int accepted = 0;
    for (size_t bit = 0; bit < size * 8; bit++) {
        packed[bit / 8] ^= 1 << (bit % 8);
        if (uct_rkey_unpack(d->component, packed, &rkey) != UCS_ERR_INVALID_PARAM) accepted++;
        packed[bit / 8] ^= 1 << (bit % 8);
    }
    check("damaged keys that are accepted", accepted, 0);
    MUST(uct_rkey_unpack(d->component, packed, &rkey));
    void *at;
    REFUSED(uct_rkey_ptr(d->component, &rkey, (uint64_t)(uintptr_t)mem.address + (1 << 20), &at), INVALID_ADDR);
    REFUSED(uct_rkey_ptr(d->component, NULL, 0, &at), INVALID_PARAM);
    MUST(uct_mem_free(&mem));
    MUST(uct_rkey_release(d->component, &rkey));
    /* Its memory is gone. */
    REFUSED(uct_rkey_unpack(d->component, packed, &rkey), UNREACHABLE);
}

static void interfaces(domain_t *d, end_t *a, const char *tl)
{
    uct_iface_params_t params = {.field_mask = 0};
    uct_iface_config_t *config;
    uct_iface_h iface;
    uct_ep_h ep;
    uct_ep_params_t ep_params = {.field_mask = UCT_EP_PARAM_FIELD_IFACE, .iface = a->iface};
    char junk[256];
    memset(junk, 0xa5, sizeof junk);
    REFUSED(uct_md_iface_config_read(d->md, "nobody", NULL, NULL, &config), NO_DEVICE);
    REFUSED(uct_iface_open(d->md, a->worker, &params, NULL, &iface), INVALID_PARAM);
    REFUSED(uct_iface_open(d->md, a->worker, NULL, NULL, &iface), INVALID_PARAM);
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
    params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name = tl;
    params.mode.device.dev_name = "nowhere";
    REFUSED(uct_iface_open(d->md, a->worker, &params, NULL, &iface), NO_DEVICE);
    REFUSED(uct_iface_query(a->iface, NULL), INVALID_PARAM);
    REFUSED(uct_iface_query(NULL, &a->attr), INVALID_PARAM);
    REFUSED(uct_iface_get_address(a->iface, NULL), INVALID_PARAM);
    REFUSED(uct_iface_set_am_handler(a->iface, UCT_AM_ID_MAX, on_am, NULL, 0), INVALID_PARAM);
    REFUSED(uct_iface_set_am_handler(a->iface, 1, on_am, NULL, 1 << 20), INVALID_PARAM);
    check("reachable junk", uct_iface_is_reachable(a->iface, (void *)junk, (void *)junk), 0);
    char why[64] = "";
    uct_iface_is_reachable_params_t query = {
        .field_mask = UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR | UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR |
                      UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING | UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING_LENGTH,
        .device_addr = (void *)junk,
        .iface_addr = (void *)junk,
        .info_string = why,
        .info_string_length = sizeof why,
    };
    check("reachable junk, v2", uct_iface_is_reachable_v2(a->iface, &query), 0);
    check("a reason is given", why[0] != 0 && strlen(why) < sizeof why, 1);
    REFUSED(uct_ep_create(NULL, &ep), INVALID_PARAM);
    REFUSED(uct_ep_create(&ep_params, NULL), INVALID_PARAM);
    ep_params.field_mask |= UCT_EP_PARAM_FIELD_IFACE_ADDR;
    ep_params.iface_addr = (void *)junk;
    REFUSED(uct_ep_create(&ep_params, &ep), INVALID_PARAM);
    ep_params.field_mask |= UCT_EP_PARAM_FIELD_DEV_ADDR;
    ep_params.dev_addr = (void *)junk;
    check("endpoint to junk", uct_ep_create(&ep_params, &ep) < 0, 1);
    REFUSED(uct_iface_flush(a->iface, 0, (uct_completion_t *)junk), UNSUPPORTED);
}

static void operations(end_t *a, uct_ep_h ep)
{
    static char data[1 << 20];
    uct_iov_t iov[200];
    uct_completion_t comp = {.count = 1};
    uint64_t word;
    for (int i = 0; i < 200; i++) iov[i] = (uct_iov_t){.buffer = data, .length = 1, .count = 1};
    uint64_t flags = a->attr.cap.flags;
    if (flags & UCT_IFACE_FLAG_AM_SHORT) {
        size_t limit = a->attr.cap.am.max_short;
        REFUSED(uct_ep_am_short(ep, 1, 0, data, limit - 7), INVALID_PARAM);
        REFUSED(uct_ep_am_short(ep, UCT_AM_ID_MAX, 0, data, 1), INVALID_PARAM);
        REFUSED(uct_ep_am_short(ep, 1, 0, NULL, 1), INVALID_PARAM);
        REFUSED(uct_ep_am_bcopy(ep, 200, pack_none, NULL, 0), INVALID_PARAM);
        REFUSED(uct_ep_am_bcopy(ep, 1, NULL, NULL, 0), INVALID_PARAM);
        iov[0].length = limit + 1;
        REFUSED(uct_ep_am_short_iov(ep, 1, iov, 1), INVALID_PARAM);
        REFUSED(uct_ep_am_short_iov(ep, 1, NULL, 1), INVALID_PARAM);
        iov[0].length = 1;
    } else {
        REFUSED(uct_ep_am_short(ep, 1, 0, data, 0), UNSUPPORTED);
        REFUSED(uct_ep_am_bcopy(ep, 1, pack_none, NULL, 0), UNSUPPORTED);
    }
    if (flags & UCT_IFACE_FLAG_AM_ZCOPY) {
        REFUSED(uct_ep_am_zcopy(ep, 1, data, a->attr.cap.am.max_hdr + 1, iov, 1, 0, &comp), INVALID_PARAM);
        REFUSED(uct_ep_am_zcopy(ep, 1, data, 1, iov, a->attr.cap.am.max_iov + 1, 0, &comp), INVALID_PARAM);
        REFUSED(uct_ep_am_zcopy(ep, 1, NULL, 1, iov, 1, 0, &comp), INVALID_PARAM);
        REFUSED(uct_ep_am_zcopy(ep, 1, data, 1, NULL, 1, 0, &comp), INVALID_PARAM);
    } else {
        REFUSED(uct_ep_am_zcopy(ep, 1, data, 1, iov, 1, 0, &comp), UNSUPPORTED);
    }
    if (flags & UCT_IFACE_FLAG_PUT_ZCOPY) {
        REFUSED(uct_ep_put_zcopy(ep, iov, a->attr.cap.put.max_iov + 1, 0, 0, &comp), INVALID_PARAM);
    } else {
        REFUSED(uct_ep_put_zcopy(ep, iov, 1, 0, 0, &comp), UNSUPPORTED);
    }
    if (flags & UCT_IFACE_FLAG_GET_ZCOPY) {
        REFUSED(uct_ep_get_zcopy(ep, iov, a->attr.cap.get.max_iov + 1, 0, 0, &comp), INVALID_PARAM);
    } else {
        REFUSED(uct_ep_get_zcopy(ep, iov, 1, 0, 0, &comp), UNSUPPORTED);
    }
    if (flags & UCT_IFACE_FLAG_ATOMIC_CPU) {
        REFUSED(uct_ep_atomic64_post(ep, UCT_ATOMIC_OP_SWAP, 1, (uintptr_t)&word, 0), UNSUPPORTED);
        REFUSED(uct_ep_atomic64_fetch(ep, 77, 1, &word, (uintptr_t)&word, 0, NULL), UNSUPPORTED);
        REFUSED(uct_ep_atomic64_fetch(ep, UCT_ATOMIC_OP_ADD, 1, NULL, (uintptr_t)&word, 0, NULL), INVALID_PARAM);
        REFUSED(uct_ep_put_short(ep, NULL, 1, (uintptr_t)&word, 0), INVALID_PARAM);
    } else {
        REFUSED(uct_ep_atomic64_post(ep, UCT_ATOMIC_OP_ADD, 1, (uintptr_t)&word, 0), UNSUPPORTED);
        REFUSED(uct_ep_put_short(ep, data, 1, (uintptr_t)&word, 0), UNSUPPORTED);
        REFUSED(uct_ep_get_bcopy(ep, NULL, NULL, 1, 0, 0, NULL), UNSUPPORTED);
    }
    REFUSED(uct_ep_get_short(ep, data, 1, (uintptr_t)&word, 0), UNSUPPORTED);
    REFUSED(uct_ep_tag_eager_short(ep, 1, data, 1), UNSUPPORTED);
    REFUSED(uct_ep_pending_add(ep, NULL, 0), INVALID_PARAM);
    REFUSED(uct_ep_disconnect(ep, 0), UNSUPPORTED);
    check("a completion was touched", comp.count, 1);
}

/* Enumerators that nobody has heard of, and calls without an object. */
static void unknown(domain_t *d, end_t *a, uct_ep_h ep)
{
    uct_worker_h worker;
    uct_iface_h iface;
    uct_alloc_method_t heap = UCT_ALLOC_METHOD_HEAP;
    uct_allocated_memory_t mem;
    uct_mem_alloc_params_t alloc = {.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE, .mem_type = 77};
    uct_iface_params_t params = {.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE, .open_mode = 1 << 20};
    uct_perf_attr_t perf = {.field_mask = UCT_PERF_ATTR_FIELD_OPERATION | UCT_PERF_ATTR_FIELD_LATENCY, .operation = 99};
    REFUSED(uct_worker_create(async, 99, &worker), INVALID_PARAM);
    REFUSED(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, NULL), INVALID_PARAM);
    REFUSED(uct_iface_open(d->md, a->worker, &params, NULL, &iface), INVALID_PARAM);
    params.open_mode = UCT_IFACE_OPEN_MODE_SOCKADDR_SERVER;
    check("an interface that listens", uct_iface_open(d->md, a->worker, &params, NULL, &iface) < 0, 1);
    check("memory of type 77", uct_mem_alloc(100, &heap, 1, &alloc, &mem) < 0, 1);
    check("estimate of operation 99", uct_iface_estimate_perf(a->iface, &perf) <= 0, 1);
    REFUSED(uct_iface_estimate_perf(a->iface, NULL), INVALID_PARAM);
    REFUSED(uct_iface_estimate_perf(NULL, &perf), INVALID_PARAM);
    uct_iface_progress_enable(a->iface, 1u << 30);
    uct_iface_progress_disable(a->iface, 1u << 30);
    check("flush with a flag unknown", uct_ep_flush(ep, 1u << 20, NULL) >= 0, 1);
    REFUSED(uct_ep_check(NULL, 0, NULL), INVALID_PARAM);
    REFUSED(uct_ep_get_address(NULL, NULL), INVALID_PARAM);
    REFUSED(uct_ep_connect_to_ep(NULL, NULL, NULL), INVALID_PARAM);
    REFUSED(uct_iface_event_fd_get(NULL, NULL), INVALID_PARAM);
    REFUSED(uct_iface_event_arm(NULL, 0), INVALID_PARAM);
    REFUSED(uct_iface_get_device_address(NULL, NULL), INVALID_PARAM);
    REFUSED(uct_iface_set_am_handler(NULL, 1, on_am, NULL, 0), INVALID_PARAM);
    REFUSED(uct_iface_set_am_tracer(NULL, NULL, NULL), INVALID_PARAM);
    REFUSED(uct_iface_mem_alloc(NULL, 100, 0, "x", &mem), INVALID_PARAM);
    REFUSED(uct_iface_mem_alloc(a->iface, 0, 0, "x", &mem), INVALID_PARAM);
    REFUSED(uct_md_mem_advise(d->md, NULL, NULL, 0, 99), INVALID_PARAM);
    REFUSED(uct_md_mem_advise(d->md, NULL, &perf, sizeof perf, 99), UNSUPPORTED);
    ucs_memory_type_t type;
    REFUSED(uct_md_detect_memory_type(d->md, &perf, sizeof perf, &type), UNSUPPORTED);
    REFUSED(uct_md_detect_memory_type(d->md, &perf, 0, &type), INVALID_PARAM);
    REFUSED(uct_iface_query_v2(a->iface, NULL), INVALID_PARAM);
    REFUSED(uct_ep_query(ep, NULL), INVALID_PARAM);
    REFUSED(uct_ep_invalidate(ep, NULL), INVALID_PARAM);
    REFUSED(uct_md_query_v2(d->md, NULL), INVALID_PARAM);
    REFUSED(uct_md_mem_attach(d->md, NULL, NULL, NULL), INVALID_PARAM);
    uct_iface_is_reachable_params_t query = {.field_mask = UCT_IFACE_IS_REACHABLE_FIELD_SCOPE, .scope = 99};
    check("reachable without addresses", uct_iface_is_reachable_v2(a->iface, &query), 0);
    uct_iface_close(NULL);
    uct_worker_destroy(NULL);
    uct_md_close(NULL);
    uct_iface_mem_free(NULL);
}

/* Addresses that are cut off at each byte, or are other bytes. */
static void addresses(end_t *a, const char *tl)
{
    unsigned char device[512] = {0}, iface[512] = {0};
    uct_ep_params_t params = {
        .field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR |
                      UCT_EP_PARAM_FIELD_DEV_ADDR_LENGTH | UCT_EP_PARAM_FIELD_IFACE_ADDR_LENGTH,
        .iface = a->iface, .dev_addr = (void *)device, .iface_addr = (void *)iface,
    };
    uct_ep_h ep;
    size_t d_len = a->attr.device_addr_len, i_len = a->attr.iface_addr_len;
    int accepted = 0;
    HOLDS(d_len <= sizeof device && i_len <= sizeof iface);
    memcpy(device, a->dev_addr, d_len);
    memcpy(iface, a->iface_addr, i_len);
    for (size_t n = 0; n < i_len; n++) {
        params.dev_addr_length = d_len;
        params.iface_addr_length = n;
        if (uct_ep_create(&params, &ep) == UCS_OK) accepted++, uct_ep_destroy(ep);
    }
    for (size_t n = 0; n < d_len; n++) {
        params.dev_addr_length = n;
        params.iface_addr_length = i_len;
        if (uct_ep_create(&params, &ep) == UCS_OK) accepted++, uct_ep_destroy(ep);
    }
    check("addresses cut off that are accepted", accepted, 0);
    /* Random ports belong to other programs of this machine. */
    if (!strcmp(tl, "tcp")) return;
    srand(1);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < i_len; i++) iface[i] = rand();
        params.dev_addr_length = d_len;
        params.iface_addr_length = i_len;
        int before = errors;
        if (uct_ep_create(&params, &ep) != UCS_OK) continue;
        uct_ep_am_short(ep, 1, 0, iface, 0);
        for (int i = 0; i < 20; i++) uct_worker_progress(a->worker);
        uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, NULL);
        uct_ep_destroy(ep);
        errors = before;
    }
}

static int calls;

static ucs_status_t count_call(uct_pending_req_t *self) { calls++; return UCS_OK; }

static void count_purge(uct_pending_req_t *self, void *arg) { calls++; }

/* An endpoint without a peer, connected twice, and failed. */
static void order(domain_t *d, end_t *a, const char *tl)
{
    uct_ep_params_t params = {.field_mask = UCT_EP_PARAM_FIELD_IFACE, .iface = a->iface};
    uct_ep_h ep;
    uct_iov_t iov = {.buffer = &params, .length = 1, .count = 1};
    uct_completion_t comp = {.count = 1};
    uint64_t word = 0;
    if (a->attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) {
        unsigned char own[256];
        MUST(uct_ep_create(&params, &ep));
        REFUSED(uct_ep_am_short(ep, 1, 0, NULL, 0), NOT_CONNECTED);
        REFUSED(uct_ep_am_bcopy(ep, 1, pack_none, NULL, 0), NOT_CONNECTED);
        REFUSED(uct_ep_am_zcopy(ep, 1, NULL, 0, &iov, 1, 0, &comp), NOT_CONNECTED);
        REFUSED(uct_ep_check(ep, 0, NULL), NOT_CONNECTED);
        check("flush of what was never connected", uct_ep_flush(ep, 0, NULL), UCS_OK);
        MUST(uct_ep_get_address(ep, (void *)own));
        REFUSED(uct_ep_connect_to_ep(ep, NULL, (void *)own), INVALID_PARAM);
        REFUSED(uct_ep_connect_to_ep(ep, a->dev_addr, NULL), INVALID_PARAM);
        check("connect", uct_ep_connect_to_ep(ep, a->dev_addr, (void *)own), UCS_OK);
        REFUSED(uct_ep_connect_to_ep(ep, a->dev_addr, (void *)own), ALREADY_EXISTS);
        uct_ep_destroy(ep);
    } else {
        REFUSED(uct_ep_create(&params, &ep), INVALID_PARAM);
    }
    uct_ep_invalidate_params_t plain = {0};
    ep = endpoint_to(a, a);
    int before = errors;
    check("invalidate", uct_ep_invalidate(ep, &plain), UCS_OK);
    WAIT_FOR("failure", errors > before, uct_worker_progress(a->worker));
    uct_pending_req_t request = {.func = count_call};
    check("am_short on a failed endpoint", uct_ep_am_short(ep, 1, 0, NULL, 0) < 0, 1);
    check("am_bcopy on a failed endpoint", uct_ep_am_bcopy(ep, 1, pack_none, NULL, 0) < 0, 1);
    check("am_zcopy on a failed endpoint", uct_ep_am_zcopy(ep, 1, NULL, 0, &iov, 1, 0, &comp) < 0, 1);
    check("put_short on a failed endpoint", uct_ep_put_short(ep, &word, 8, (uintptr_t)&word, 0) < 0, 1);
    check("put_zcopy on a failed endpoint", uct_ep_put_zcopy(ep, &iov, 1, (uintptr_t)&word, 0, &comp) < 0, 1);
    check("get_zcopy on a failed endpoint", uct_ep_get_zcopy(ep, &iov, 1, (uintptr_t)&word, 0, &comp) < 0, 1);
    check("atomic on a failed endpoint", uct_ep_atomic64_post(ep, UCT_ATOMIC_OP_ADD, 1, (uintptr_t)&word, 0) < 0, 1);
    check("flush of a failed endpoint", uct_ep_flush(ep, 0, NULL) < 0, 1);
    check("flush with cancel of a failed endpoint", uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, NULL) <= 0, 1);
    check("check of a failed endpoint", uct_ep_check(ep, 0, NULL) < 0, 1);
    check("pending on a failed endpoint", uct_ep_pending_add(ep, &request, 0) < 0, 1);
    check("invalidate again", uct_ep_invalidate(ep, &plain), UCS_OK);
    for (int i = 0; i < 10; i++) uct_worker_progress(a->worker);
    check("failures told", errors - before, 1);
    uct_ep_pending_purge(ep, count_purge, NULL);
    check("requests called or purged", calls, 0);
    check("a completion was touched, or memory", comp.count == 1 && word == 0, 1);
    check("flush of the interface", uct_iface_flush(a->iface, 0, NULL) >= 0, 1);
    uct_ep_destroy(ep);
}

/* An interface that is none: what isn't the program's own fails with the status it was opened with. */
static ucs_status_t own_flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp) { return UCS_ERR_BUSY; }

static void stubs(void)
{
    uct_iface_params_t params = {
        .field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE,
        .open_mode = UCT_IFACE_OPEN_MODE_STUB,
        .mode.stub.status = UCS_ERR_CANCELED,
    };
    uct_iface_h iface;
    uct_iface_attr_v2_t attr2 = {0};
    uct_perf_attr_t perf = {0};
    uct_ep_attr_t attr = {0};
    uct_ep_invalidate_params_t invalidate = {0};
    uct_ep_is_connected_params_t connected = {0};
    MUST(uct_iface_open(NULL, NULL, &params, NULL, &iface));
    uct_ep_t ep = {.iface = iface};
    iface->ops.ep_flush = own_flush;
    REFUSED(uct_ep_flush(&ep, 0, NULL), BUSY);
    REFUSED(uct_iface_query_v2(iface, &attr2), CANCELED);
    REFUSED(uct_iface_estimate_perf(iface, &perf), CANCELED);
    REFUSED(uct_ep_query(&ep, &attr), CANCELED);
    REFUSED(uct_ep_invalidate(&ep, &invalidate), CANCELED);
    check("connected", uct_ep_is_connected(&ep, &connected), 0);
    REFUSED(uct_iface_set_am_handler(iface, 1, on_am, NULL, 0), CANCELED);
    uct_iface_close(iface);
    params.mode.stub.status = UCS_OK;
    REFUSED(uct_iface_open(NULL, NULL, &params, NULL, &iface), INVALID_PARAM);
}

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: bad TRANSPORT DEVICE");
    MUST(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
    components();
    domain_t d = find(argv[1], argv[2]);
    memory(&d);
    end_t a = open_iface(&d, argv[1], argv[2]);
    interfaces(&d, &a, argv[1]);
    uct_ep_h ep = endpoint_to(&a, &a);
    operations(&a, ep);
    unknown(&d, &a, ep);
    uct_ep_destroy(ep);
    addresses(&a, argv[1]);
    order(&d, &a, argv[1]);
    stubs();
    uct_ep_destroy(NULL);
    close_iface(&a);
    uct_md_close(d.md);
    ucs_async_context_destroy(async);
    printf("%d wrong\n", wrong);
    return finish();
}
