/* What cuda_copy's memory domain says of memory, and where it allocates; what UCP says of memory that is
 * mapped. The output is the same on every correct library, with the same settings.
 *
 *     uct_memory KIND...      kinds of memory.h
 *     uct_memory faults       on the simulated driver */
#define _GNU_SOURCE
#include "capi.h"
#include "memory.h"
#include <uct/api/uct.h>

static uct_md_h md;

static void open_md(void)
{
    uct_component_h *all, component = NULL;
    unsigned n;
    MUST(uct_query_components(&all, &n));
    for (unsigned i = 0; i < n; i++) {
        uct_component_attr_t a = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
        MUST(uct_component_query(all[i], &a));
        if (!strcmp(a.name, "cuda_cpy")) component = all[i];
    }
    HOLDS(component);
    uct_md_config_t *config;
    MUST(uct_md_config_read(component, NULL, NULL, &config));
    MUST(uct_md_open(component, "cuda_cpy", config, &md));
    uct_config_release(config);
    uct_release_component_list(all);
}

static void ask(const char *what, uint64_t base, size_t whole, uint64_t at, size_t n)
{
    uct_md_mem_attr_t a = {.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE | UCT_MD_MEM_ATTR_FIELD_BASE_ADDRESS |
                                         UCT_MD_MEM_ATTR_FIELD_ALLOC_LENGTH};
    ucs_memory_type_t type;
    ucs_status_t s = uct_md_mem_query(md, (void *)at, n, &a);
    ucs_status_t t = uct_md_detect_memory_type(md, (void *)at, n, &type);
    if (s != UCS_OK || t != UCS_OK) {
        printf("%s: %s\n", what, s != UCS_OK && t != UCS_OK ? "no memory of a device" : "ONE ERROR");
        return;
    }
    HOLDS(type == a.mem_type);
    int is_whole = (uint64_t)a.base_address == base && a.alloc_length == whole;
    int is_part = (uint64_t)a.base_address == at && a.alloc_length == n;
    printf("%s: type %d, %s\n", what, type, is_whole ? "whole" : is_part ? "part" : "SOMETHING");
}

static void by_ucp(const char *kind, uint64_t at, size_t n)
{
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                              .address = (void *)at, .length = n};
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH | UCP_MEM_ATTR_FIELD_MEM_TYPE};
    ucp_mem_h m;
    MUST(ucp_mem_map(A.ctx, &p, &m));
    MUST(ucp_mem_query(m, &a));
    /* UCX may take more than it was asked for. */
    HOLDS((uint64_t)a.address <= at && (uint64_t)a.address + a.length >= at + n);
    printf("%s, mapped: type %d\n", kind, a.mem_type);
    MUST(ucp_mem_unmap(A.ctx, m));
}

/* UCX asks with no context current, and with one. */
static void memory_of(const char *kind)
{
    char what[64];
    struct memory m = new_memory(kind, 4 << 20);
    snprintf(what, sizeof what, "%s, in the middle", kind);
    ask(what, m.at, m.len, m.at + 5000, 1000);
    snprintf(what, sizeof what, "%s, all", kind);
    ask(what, m.at, m.len, m.at, m.len);
    by_ucp(kind, m.at, m.len);
    by_ucp(kind, m.at + 5000, 1000);
    give_memory_back(&m);
}

static void allocate(const char *when, ucs_memory_type_t type)
{
    uct_allocated_memory_t got;
    uct_alloc_method_t method = UCT_ALLOC_METHOD_MD;
    uct_mem_alloc_params_t p = {.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_FLAGS | UCT_MEM_ALLOC_PARAM_FIELD_MDS |
                                              UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE,
                                .flags = UCT_MD_MEM_ACCESS_ALL, .mem_type = type, .mds = {&md, 1}};
    ucs_status_t s = uct_mem_alloc(1 << 20, &method, 1, &p, &got);
    printf("allocation, %s: %s\n", when, s == UCS_OK ? "OK" : "an error");
    if (s == UCS_OK) {
        HOLDS(got.mem_type == type && got.length >= 1 << 20);
        MUST(uct_mem_free(&got));
    }
}

static ucs_status_t is_asked(CUdeviceptr at)
{
    uct_md_mem_attr_t a = {.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE | UCT_MD_MEM_ATTR_FIELD_BASE_ADDRESS};
    return uct_md_mem_query(md, (void *)at, 100, &a);
}

static ucs_status_t is_registered(CUdeviceptr host)
{
    uct_mem_h memh;
    ucs_status_t s = uct_md_mem_reg(md, (void *)host, 1 << 20, UCT_MD_MEM_ACCESS_ALL, &memh);
    if (s == UCS_OK) uct_md_mem_dereg(md, memh);
    return s;
}

/* Each call for what is asked of memory, and for a registration of the host's, fails once. */
static void faults(void)
{
    void *host = malloc(1 << 20);
    uint64_t calls = 0, errors = 0;
    for (int of_host = 0; of_host < 2; of_host++) {
        for (uint64_t nth = 0;; nth++) {
            CUdeviceptr at; /* anew, so that nothing is known of it; all that is asked once is in the first round */
            CU(cuMemAlloc_v2(&at, 1 << 20));
            if (nth) cudasim_fail("*!", nth, 999);
            ucs_status_t s = of_host ? is_registered((CUdeviceptr)host) : is_asked(at);
            int left = cudasim_heal() != 0;
            errors += s != UCS_OK;
            if (cudasim_open("registered")) DIE("call %lu fails: memory is registered still", (unsigned long)nth);
            CU(cuMemFree_v2(at));
            if (left) break;
            calls += nth != 0;
        }
    }
    printf("%lu calls failed once, %lu errors\n", (unsigned long)calls, (unsigned long)errors);
    HOLDS(calls > 5 && errors > 2);
    free(host);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CU(cuInit(0));
    open_md();
    allocate("no context active", UCS_MEMORY_TYPE_CUDA);
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    allocate("a context active", UCS_MEMORY_TYPE_CUDA);
    CU(cuCtxPushCurrent_v2(context));
    allocate("a context current", UCS_MEMORY_TYPE_CUDA);
    allocate("managed", UCS_MEMORY_TYPE_CUDA_MANAGED);
    features = UCP_FEATURE_RMA;
    open_side(&A);
    if (argc == 2 && !strcmp(argv[1], "faults")) faults();
    else for (int i = 1; i < argc; i++) memory_of(argv[i]);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    ask("of the host", 0, 0, (uintptr_t)malloc(1 << 20), 1 << 20);
    ask("a driver's that is gone", 0, 0, 1 << 20, 1 << 20);
    end_pool();
    uct_md_close(md);
    CU(cuCtxPopCurrent_v2(&context));
    CU(cuDevicePrimaryCtxRelease_v2(0));
    return finish();
}
