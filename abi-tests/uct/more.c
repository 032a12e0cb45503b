/* What else `uct.h` and `uct_v2.h` offer, used as it is meant to be: questions about domains, memory,
 * keys, interfaces and endpoints, memory of several origins, keys for ranges, connections by lengths
 * of addresses. Prints the answers, the same on ours and on genuine UCX: more TRANSPORT DEVICE */
#include "pair.h"

#include <math.h>
#include <sys/mman.h>
#include <uct/api/v2/uct_v2.h>

#define SAYS(expr) printf("%s: %s\n", #expr, name((ucs_status_t)(expr)))

/* ---- components and configurations ---------------------------------------------------------- */

static void components(const char *tl)
{
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_FLAGS |
                                               UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT};
    uct_iface_config_t *iface;
    uct_md_config_t *md;
    char value[64] = "";

    MUST(uct_component_query(domain.component, &attr));
    printf("component %s: %u domains, flags %lx\n", attr.name, attr.md_resource_count, (unsigned long)attr.flags);
    MUST(uct_md_config_read(domain.component, NULL, NULL, &md));
    MUST(uct_md_iface_config_read(domain.md, tl, NULL, NULL, &iface));
    SAYS(uct_config_get(md, "NOTHING", value, sizeof value));
    SAYS(uct_config_modify(iface, "NOTHING", "1"));
    SAYS(uct_config_modify(iface, "MAX_NUM_EPS", "many"));
    SAYS(uct_config_modify(iface, "MAX_NUM_EPS", "77"));
    uct_config_release(md);
    uct_config_release(iface);
}

/* ---- domains and memory ---------------------------------------------------------------------- */

static void the_domain(void)
{
    uct_md_attr_v2_t attr;
    memset(&attr, 0xee, sizeof attr);
    attr.field_mask = UCT_MD_ATTR_FIELD_COMPONENT_NAME | UCT_MD_ATTR_FIELD_FLAGS | UCT_MD_ATTR_FIELD_REG_MEM_TYPES |
                      UCT_MD_ATTR_FIELD_REG_NONBLOCK_MEM_TYPES | UCT_MD_ATTR_FIELD_CACHE_MEM_TYPES |
                      UCT_MD_ATTR_FIELD_DETECT_MEM_TYPES | UCT_MD_ATTR_FIELD_ALLOC_MEM_TYPES |
                      UCT_MD_ATTR_FIELD_ACCESS_MEM_TYPES | UCT_MD_ATTR_FIELD_DMABUF_MEM_TYPES |
                      UCT_MD_ATTR_FIELD_GVA_MEM_TYPES | UCT_MD_ATTR_FIELD_EXPORTED_MKEY_PACKED_SIZE |
                      UCT_MD_ATTR_FIELD_RKEY_PACKED_SIZE | UCT_MD_ATTR_FIELD_REG_COST | UCT_MD_ATTR_FIELD_REG_ALIGNMENT;
    MUST(uct_md_query_v2(domain.md, &attr));
    printf("domain of %s: flags %lx, types reg %lx nonblock %lx cache %lx detect %lx alloc %lx access %lx dmabuf %lx gva %lx\n",
           attr.component_name, (unsigned long)attr.flags, (unsigned long)attr.reg_mem_types,
           (unsigned long)attr.reg_nonblock_mem_types, (unsigned long)attr.cache_mem_types,
           (unsigned long)attr.detect_mem_types, (unsigned long)attr.alloc_mem_types, (unsigned long)attr.access_mem_types,
           (unsigned long)attr.dmabuf_mem_types, (unsigned long)attr.gva_mem_types);
    printf("exported keys %zu, alignment %zu, a key has the same size %d, cost %d\n", attr.exported_mkey_packed_size,
           attr.reg_alignment, attr.rkey_packed_size == domain.md_attr.rkey_packed_size, attr.reg_cost.c >= 0 && attr.reg_cost.m >= 0);
    HOLDS(attr.max_alloc == 0xeeeeeeeeeeeeeeeeul && attr.max_reg == (size_t)0xeeeeeeeeeeeeeeeeul);
    attr.field_mask = UCT_MD_ATTR_FIELD_MAX_ALLOC | UCT_MD_ATTR_FIELD_MAX_REG | UCT_MD_ATTR_FIELD_LOCAL_CPUS;
    MUST(uct_md_query_v2(domain.md, &attr));
    /* How much could be allocated changes with what others allocate. */
    HOLDS(attr.max_alloc != 0xeeeeeeeeeeeeeeeeul);
    printf("the same limit of registrations %d, the same processors %d\n",
           attr.max_reg == domain.md_attr.cap.max_reg,
           !memcmp(&attr.local_cpus, &domain.md_attr.local_cpus, sizeof attr.local_cpus));
}

static void what_memory_is(void)
{
    static char memory[8192];
    ucs_memory_type_t type = UCS_MEMORY_TYPE_UNKNOWN;
    uct_md_mem_attr_t attr = {.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE | UCT_MD_MEM_ATTR_FIELD_SYS_DEV};
    uct_md_mem_attr_v2_t attr2 = {.field_mask = UCT_MD_MEM_ATTR_V2_FIELD_MEM_TYPE};

    SAYS(uct_md_detect_memory_type(domain.md, memory, sizeof memory, &type));
    SAYS(uct_md_mem_query(domain.md, memory, sizeof memory, &attr));
    SAYS(uct_md_mem_query_v2(domain.md, memory, sizeof memory, &attr2));
}

/* Memory by each way of allocating it, and at an address that the program chose. */
static void allocations(void)
{
    static const struct { uct_alloc_method_t method; const char *name; } ways[] = {
        {UCT_ALLOC_METHOD_HEAP, "heap"}, {UCT_ALLOC_METHOD_MMAP, "mmap"}, {UCT_ALLOC_METHOD_MD, "domain"},
    };
    uct_mem_alloc_params_t params = {
        .field_mask = UCT_MEM_ALLOC_PARAM_FIELD_FLAGS | UCT_MEM_ALLOC_PARAM_FIELD_MDS | UCT_MEM_ALLOC_PARAM_FIELD_NAME |
                      UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE | UCT_MEM_ALLOC_PARAM_FIELD_ADDRESS,
        .flags = UCT_MD_MEM_ACCESS_ALL,
        .address = NULL,
        .mem_type = UCS_MEMORY_TYPE_HOST,
        .mds = {.mds = &domain.md, .count = 1},
        .name = "more",
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        uct_allocated_memory_t mem;
        uct_alloc_method_t method = ways[i].method;
        ucs_status_t s = uct_mem_alloc(100000, &method, 1, &params, &mem);
        printf("memory by %s: %s", ways[i].name, name(s));
        if (s == UCS_OK) {
            memset(mem.address, 0x5a, mem.length);
            printf(", method %d, enough %d, type %d, with a handle %d, its domain %d", mem.method == method, mem.length >= 100000,
                   mem.mem_type, mem.memh != UCT_MEM_HANDLE_NULL, mem.md == domain.md);
            MUST(uct_mem_free(&mem));
        }
        printf("\n");
    }
    uct_alloc_method_t both[] = {UCT_ALLOC_METHOD_MD, UCT_ALLOC_METHOD_MMAP};
    uct_allocated_memory_t mem;
    char *free_place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(free_place != MAP_FAILED && !munmap(free_place, 1 << 20));
    params.flags |= UCT_MD_MEM_FLAG_FIXED;
    params.address = free_place;
    MUST(uct_mem_alloc(1 << 20, both, 2, &params, &mem));
    printf("at the address asked for: %d\n", mem.address == free_place);
    memset(mem.address, 1, 1 << 20);
    MUST(uct_mem_free(&mem));
    params.mem_type = UCS_MEMORY_TYPE_CUDA;
    params.flags = UCT_MD_MEM_ACCESS_ALL;
    params.address = NULL;
    SAYS(uct_mem_alloc(4096, both, 2, &params, &mem));
}

/* Registered by v1 and v2, keys for all of it and for a range. */
static void registrations(void)
{
    static char memory[65536];
    uct_md_mem_reg_params_t reg = {.field_mask = UCT_MD_MEM_REG_FIELD_FLAGS, .flags = UCT_MD_MEM_ACCESS_ALL};
    uct_md_mem_dereg_params_t dereg = {.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH | UCT_MD_MEM_DEREG_FIELD_FLAGS};
    uct_mem_h memh, other;

    if (!(domain.md_attr.cap.flags & UCT_MD_FLAG_REG)) return;
    MUST(uct_md_mem_reg(domain.md, memory, sizeof memory, UCT_MD_MEM_ACCESS_ALL, &memh));
    MUST(uct_md_mem_reg_v2(domain.md, memory, sizeof memory, &reg, &other));
    MUST(uct_md_mem_dereg(domain.md, memh));
    dereg.memh = other;
    MUST(uct_md_mem_dereg_v2(domain.md, &dereg));
    printf("registration: ok\n");
}

static void keys(void)
{
    uct_md_mkey_pack_params_t how = {.field_mask = UCT_MD_MKEY_PACK_FIELD_FLAGS};
    uct_rkey_unpack_params_t unpack_how = {.field_mask = 0};
    uct_rkey_compare_params_t compare = {.field_mask = 0};
    unsigned char whole[1024] = {0}, part[1024] = {0};
    uct_allocated_memory_t mem;
    uct_rkey_bundle_t one, two;
    int result = 7;
    void *at;

    if (!(domain.md_attr.cap.flags & UCT_MD_FLAG_ALLOC)) return;
    MUST(uct_iface_mem_alloc(a.iface, 65536, UCT_MD_MEM_ACCESS_ALL, "keys", &mem));
    MUST(uct_md_mkey_pack(domain.md, mem.memh, whole));
    MUST(uct_md_mkey_pack_v2(domain.md, mem.memh, (char *)mem.address + 4096, 4096, &how, part));
    MUST(uct_rkey_unpack(domain.component, whole, &one));
    MUST(uct_rkey_unpack_v2(domain.component, part, &unpack_how, &two));
    memcpy((char *)mem.address + 5000, "by either", 10);
    for (uct_rkey_bundle_t *key = &one; key; key = key == &one ? &two : NULL) {
        MUST(uct_rkey_ptr(domain.component, key, (uintptr_t)mem.address + 5000, &at));
        HOLDS(!memcmp(at, "by either", 10));
    }
    MUST(uct_rkey_compare(domain.component, one.rkey, one.rkey, &compare, &result));
    printf("keys: a key is itself %d", result == 0);
    int back = 0;
    MUST(uct_rkey_compare(domain.component, one.rkey, two.rkey, &compare, &result));
    MUST(uct_rkey_compare(domain.component, two.rkey, one.rkey, &compare, &back));
    printf(", an order %d\n", (result == 0 && back == 0) || (result < 0) != (back < 0));
    MUST(uct_rkey_release(domain.component, &one));
    MUST(uct_rkey_release(domain.component, &two));
    uct_iface_mem_free(&mem);
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static void no_trace(void *arg, uct_am_trace_type_t type, uint8_t id, const void *data, size_t length, char *buffer, size_t max)
{
    snprintf(buffer, max, "traced");
}

static int calls;

static unsigned count_call(void *arg)
{
    HOLDS(arg == &calls);
    calls++;
    return 1;
}

static void the_interface(const char *tl)
{
    uct_iface_attr_v2_t attr;
    memset(&attr, 0xee, sizeof attr);
    attr.field_mask = UCT_IFACE_ATTR_FIELD_MAX_PUT_SGL_ZCOPY_COUNT | UCT_IFACE_ATTR_FIELD_CAP_FLAGS;
    MUST(uct_iface_query_v2(a.iface, &attr));
    printf("interface: lists of %zu, further flags %lx\n", attr.max_put_sgl_zcopy_count, (unsigned long)attr.cap.flags);
    printf("attributes: iface addresses %d, device addresses %d, %u paths or more\n", a.attr.iface_addr_len > 0,
           a.attr.device_addr_len > 0, a.attr.dev_num_paths > 0);
    /* The processor's own copies end at once: what they tell of events is free. */
    uint64_t events = peer == &b && FLAG(AM_SHORT) ? a.attr.cap.event_flags : 0;
    printf("flags %lx, events %lx, atomics %lx %lx %lx %lx\n", (unsigned long)a.attr.cap.flags, (unsigned long)events,
           (unsigned long)a.attr.cap.atomic32.op_flags, (unsigned long)a.attr.cap.atomic32.fop_flags,
           (unsigned long)a.attr.cap.atomic64.op_flags, (unsigned long)a.attr.cap.atomic64.fop_flags);
    MUST(uct_iface_set_am_tracer(a.iface, no_trace, NULL));
    MUST(uct_iface_set_am_tracer(a.iface, NULL, NULL));
    uct_iface_progress_disable(a.iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    uct_iface_progress_enable(a.iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    uct_iface_progress(a.iface);

    uct_worker_cb_id_t id = UCS_CALLBACKQ_ID_NULL, once = UCS_CALLBACKQ_ID_NULL;
    uct_worker_progress_register_safe(a.worker, count_call, &calls, 0, &id);
    for (int i = 0; i < 5; i++) uct_worker_progress(a.worker);
    int many = calls;
    uct_worker_progress_unregister_safe(a.worker, &id);
    for (int i = 0; i < 5; i++) uct_worker_progress(a.worker);
    printf("called by progress %d, and not afterwards %d\n", many >= 4, calls == many);
    uct_worker_progress_register_safe(a.worker, count_call, &calls, UCS_CALLBACKQ_FLAG_ONESHOT, &once);
    for (int i = 0; i < 5; i++) uct_worker_progress(a.worker);
    printf("called once %d\n", calls == many + 1);
}

static void how_fast(void)
{
    static const struct { uct_ep_operation_t op; const char *name; } ops[] = {
        {UCT_EP_OP_AM_SHORT, "am_short"}, {UCT_EP_OP_AM_BCOPY, "am_bcopy"}, {UCT_EP_OP_AM_ZCOPY, "am_zcopy"},
        {UCT_EP_OP_PUT_SHORT, "put_short"}, {UCT_EP_OP_PUT_ZCOPY, "put_zcopy"}, {UCT_EP_OP_GET_ZCOPY, "get_zcopy"},
    };
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
        uct_perf_attr_t perf = {
            .field_mask = UCT_PERF_ATTR_FIELD_OPERATION | UCT_PERF_ATTR_FIELD_LOCAL_MEMORY_TYPE |
                          UCT_PERF_ATTR_FIELD_REMOTE_MEMORY_TYPE | UCT_PERF_ATTR_FIELD_LOCAL_SYS_DEVICE |
                          UCT_PERF_ATTR_FIELD_REMOTE_SYS_DEVICE | UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD |
                          UCT_PERF_ATTR_FIELD_SEND_POST_OVERHEAD | UCT_PERF_ATTR_FIELD_RECV_OVERHEAD |
                          UCT_PERF_ATTR_FIELD_BANDWIDTH | UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH | UCT_PERF_ATTR_FIELD_LATENCY |
                          UCT_PERF_ATTR_FIELD_MAX_INFLIGHT_EPS | UCT_PERF_ATTR_FIELD_FLAGS,
            .operation = ops[i].op,
            .local_memory_type = UCS_MEMORY_TYPE_HOST,
            .remote_memory_type = UCS_MEMORY_TYPE_HOST,
            .local_sys_device = UCS_SYS_DEVICE_ID_UNKNOWN,
            .remote_sys_device = UCS_SYS_DEVICE_ID_UNKNOWN,
            .send_pre_overhead = NAN, .send_post_overhead = NAN, .recv_overhead = NAN, .latency = {NAN, NAN},
        };
        MUST(uct_iface_estimate_perf(a.iface, &perf));
        HOLDS(perf.send_pre_overhead >= 0 && perf.send_post_overhead >= 0 && perf.recv_overhead >= 0);
        HOLDS(perf.bandwidth.dedicated + perf.bandwidth.shared > 0 && perf.latency.c >= 0 && perf.latency.m >= 0);
        printf("speed of %s: told, any number of endpoints %d\n", ops[i].name, perf.max_inflight_eps == SIZE_MAX);
    }
}

static int reaches(uint64_t more, uct_iface_reachability_scope_t scope, char *why, size_t room)
{
    uct_iface_is_reachable_params_t query = {
        .field_mask = UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR | UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR |
                      UCT_IFACE_IS_REACHABLE_FIELD_SCOPE | UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING |
                      UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING_LENGTH | more,
        .device_addr = peer->dev_addr, .iface_addr = peer->iface_addr,
        .info_string = why, .info_string_length = room, .scope = scope,
        .device_addr_length = peer->attr.device_addr_len, .iface_addr_length = peer->attr.iface_addr_len,
    };
    return uct_iface_is_reachable_v2(a.iface, &query);
}

static void reachability(void)
{
    char why[256] = "";
    uint64_t lengths = UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR_LENGTH | UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR_LENGTH;
    printf("reachable: %d on the device, %d on the network, %d with lengths\n",
           reaches(0, UCT_IFACE_REACHABILITY_SCOPE_DEVICE, why, sizeof why),
           reaches(0, UCT_IFACE_REACHABILITY_SCOPE_NETWORK, why, sizeof why),
           reaches(lengths, UCT_IFACE_REACHABILITY_SCOPE_NETWORK, why, sizeof why));
    printf("no reason against it: %d\n", why[0] == 0);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static void the_endpoint(void)
{
    uct_ep_is_connected_params_t to = {
        .field_mask = UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR | UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR,
        .device_addr = peer->dev_addr, .iface_addr = peer->iface_addr,
    };
    uct_device_ep_h device;

    printf("connected to the peer %d", uct_ep_is_connected(ep, &to));
    /* What copies between processes asks for the process, which is the same here. */
    if (peer == &b && FLAG(AM_SHORT)) {
        to.device_addr = a.dev_addr;
        to.iface_addr = a.iface_addr;
        printf(", to itself %d", uct_ep_is_connected(ep, &to));
    }
    printf("\n");
    SAYS(uct_ep_get_device_ep(ep, &device));
}

/* Addresses with their lengths, at both ends. */
static void connected_by_lengths(void)
{
    uct_ep_params_t params = {.field_mask = UCT_EP_PARAM_FIELD_IFACE, .iface = a.iface};
    uct_ep_connect_to_ep_params_t lengths = {
        .field_mask = UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH | UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH,
        .device_addr_length = a.attr.device_addr_len, .ep_addr_length = a.attr.ep_addr_len,
    };
    char addr_a[256], addr_b[256];
    uct_ep_h ea, eb;
    uint64_t header = 5;

    if (!FLAG(CONNECT_TO_EP) || peer == &a) return;
    MUST(uct_ep_create(&params, &ea));
    params.iface = b.iface;
    MUST(uct_ep_create(&params, &eb));
    MUST(uct_ep_get_address(ea, (void *)addr_a));
    MUST(uct_ep_get_address(eb, (void *)addr_b));
    MUST(uct_ep_connect_to_ep_v2(ea, b.dev_addr, (void *)addr_b, &lengths));
    MUST(uct_ep_connect_to_ep_v2(eb, a.dev_addr, (void *)addr_a, &lengths));
    HOLDS(POST("am_short", uct_ep_am_short(ea, ID, header, NULL, 0)) == UCS_OK);
    arrives("message", &header, sizeof header);
    WAIT_FOR("flush", uct_ep_flush(ea, 0, NULL) == UCS_OK, both());
    uct_ep_destroy(ea);
    uct_ep_destroy(eb);
    printf("connected by lengths: ok\n");
}

/* A completion keeps the first error. */
static void statuses(void)
{
    uct_completion_t comp = {.count = 1, .status = UCS_OK};
    uct_completion_update_status(&comp, UCS_OK);
    printf("status %s", name(comp.status));
    uct_completion_update_status(&comp, UCS_ERR_IO_ERROR);
    uct_completion_update_status(&comp, UCS_ERR_CANCELED);
    printf(", %s\n", name(comp.status));
}

/* A flush with a completion, in each form that it may come back. */
static void flushes(void)
{
    uct_completion_t comp = {.func = on_completion, .count = 1};
    long s;
    completed = 0;
    WAIT_FOR("flush", (s = uct_ep_flush(ep, 0, &comp)) != UCS_ERR_NO_RESOURCE, both());
    HOLDS(s == UCS_OK || s == UCS_INPROGRESS);
    if (s == UCS_INPROGRESS) WAIT_FOR("end of the flush", completed, both());
    /* Not called where the flush was over at once. */
    printf("flush: ok, told %d\n", s == UCS_OK ? !completed && comp.count == 1 : completed == 1 && completion_status == UCS_OK);
    if (FLAG(EP_CHECK)) {
        comp = (uct_completion_t){.func = on_completion, .count = 1};
        s = uct_ep_check(ep, 0, NULL);
        printf("check: %d\n", s == UCS_OK || s == UCS_INPROGRESS);
    }
}

static void pieces(void)
{
    static char text[] = "three pieces of one message";
    uct_iov_t iov[3] = {{.buffer = text, .length = 6, .count = 1},
                        {.buffer = text + 6, .length = 0, .count = 1},
                        {.buffer = text + 6, .length = sizeof text - 6, .count = 1}};
    HOLDS(POST("am_short_iov", uct_ep_am_short_iov(ep, ID, iov, 3)) == UCS_OK);
    arrives("message of pieces", text, sizeof text);
    printf("message of pieces: ok\n");
}

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: more TRANSPORT DEVICE");
    open_pair(argv[1], argv[2]);
    components(argv[1]);
    the_domain();
    what_memory_is();
    allocations();
    registrations();
    keys();
    the_interface(argv[1]);
    how_fast();
    reachability();
    the_endpoint();
    if (FLAG(AM_SHORT)) {
        MUST(uct_iface_set_am_handler(peer->iface, ID, on_am, &got_len, 0));
        pieces();
        connected_by_lengths();
    }
    flushes();
    statuses();
    close_pair();
    return finish();
}
