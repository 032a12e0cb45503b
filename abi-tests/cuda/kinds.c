/* What buffers may be: memory of devices without a current context, vectors of several kinds of
 * memory, types that the caller says, memory that UCX allocates, addresses that change their kind.
 * Atomic operations on device memory are refused. */
#define _GNU_SOURCE
#include "capi.h"
#include "driver.h"
#include <sys/mman.h>

enum { N = 200000 };

static unsigned char *host, *back;
static CUcontext context;

static CUdeviceptr device_memory(size_t n)
{
    CUdeviceptr at;
    CU(cuCtxPushCurrent_v2(context));
    CU(cuMemAlloc_v2(&at, n));
    CU(cuCtxPopCurrent_v2(&(CUcontext){0}));
    return at;
}

static void put_there(CUdeviceptr at, size_t n, unsigned seed)
{
    fill(back, n, seed);
    CU(cuCtxPushCurrent_v2(context));
    CU(cuMemcpyHtoD_v2(at, back, n));
    CU(cuCtxPopCurrent_v2(&(CUcontext){0}));
}

static int is_there(CUdeviceptr at, size_t n, unsigned seed)
{
    CU(cuCtxPushCurrent_v2(context));
    CU(cuMemcpyDtoH_v2(back, at, n));
    CU(cuCtxPopCurrent_v2(&(CUcontext){0}));
    return same(back, n, seed);
}

static void release(CUdeviceptr at)
{
    CU(cuCtxPushCurrent_v2(context));
    CU(cuMemFree_v2(at));
    CU(cuCtxPopCurrent_v2(&(CUcontext){0}));
}

static void none_is_current(void)
{
    CUcontext now_current = (CUcontext)1;
    CU(cuCtxGetCurrent(&now_current));
    HOLDS(now_current == NULL);
}

static void message(const void *from, size_t n, void *to, size_t m, const ucp_request_param_t *p)
{
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, to, m, 7, ALL, p);
    MUST(finished(ucp_tag_send_nbx(A.ep, from, n, 7, p)));
    MUST(finished(r));
}

static void without_context(void)
{
    CUdeviceptr one = device_memory(N), other = device_memory(N);
    for (int size = 10; size <= N; size *= 20) {
        put_there(one, size, size);
        message((void *)one, size, (void *)other, size, &plain);
        none_is_current();
        HOLDS(is_there(other, size, size));
    }
    release(one), release(other);
    printf("no context is needed, and none left\n");
}

static void vectors(void)
{
    CUdeviceptr one = device_memory(N), other = device_memory(N);
    static const size_t lengths[] = {100, 3, 5000, 90000};
    for (unsigned count = 2; count <= 4; count++) {
        ucp_dt_iov_t from[4], to[4];
        size_t at = 0;
        fill(host, 2 * N, 0);
        for (unsigned i = 0; i < count; i++) {
            from[i] = (ucp_dt_iov_t){i % 2 ? (char *)one + at : (char *)host + at, lengths[i]};
            to[i] = (ucp_dt_iov_t){i % 2 ? (char *)host + N + at : (char *)other + at, lengths[i]};
            if (i % 2) put_there(one + at, lengths[i], i);
            else fill(host + at, lengths[i], i);
            at += lengths[i];
        }
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_iov()};
        message(from, count, to, count, &p);
        for (unsigned i = 0; i < count; i++)
            HOLDS(i % 2 ? same(to[i].buffer, lengths[i], i) : is_there((CUdeviceptr)to[i].buffer, lengths[i], i));
    }
    release(one), release(other);
    printf("vectors of host and device memory\n");
}

static void said_types(void)
{
    CUdeviceptr one = device_memory(N);
    ucp_request_param_t cuda = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE, .memory_type = UCS_MEMORY_TYPE_CUDA};
    ucp_request_param_t here = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE, .memory_type = UCS_MEMORY_TYPE_HOST};
    put_there(one, N, 3);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, host, N, 7, ALL, &here);
    MUST(finished(ucp_tag_send_nbx(A.ep, (void *)one, N, 7, &cuda)));
    MUST(finished(r));
    HOLDS(same(host, N, 3));
    release(one);
    printf("types that the caller says\n");
}

static void allocated(ucs_memory_type_t type)
{
    ucp_mem_map_params_t mp = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .length = N, .flags = UCP_MEM_MAP_ALLOCATE, .memory_type = type};
    ucp_mem_h m;
    MUST(ucp_mem_map(B.ctx, &mp, &m));
    none_is_current();
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH | UCP_MEM_ATTR_FIELD_MEM_TYPE};
    MUST(ucp_mem_query(m, &a));
    HOLDS(a.mem_type == type && a.length >= N);
    void *bytes;
    size_t len;
    ucp_rkey_h key;
    MUST(ucp_rkey_pack(B.ctx, m, &bytes, &len));
    MUST(ucp_ep_rkey_unpack(A.ep, bytes, &key));
    ucp_rkey_buffer_release(bytes);
    uint64_t at = (uintptr_t)a.address, value = 5;
    fill(host, N, 9);
    MUST(finished(ucp_put_nbx(A.ep, host, N, at, key, &plain)));
    MUST(finished(ucp_ep_flush_nbx(A.ep, &plain)));
    HOLDS(is_there(at, N, 9));
    memset(host, 0, N);
    MUST(finished(ucp_get_nbx(A.ep, host, N, at, key, &plain)));
    HOLDS(same(host, N, 9));
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
    ucs_status_t s = finished(ucp_atomic_op_nbx(A.ep, UCP_ATOMIC_OP_ADD, &value, 1, at, key, &p));
    HOLDS(s == UCS_ERR_UNSUPPORTED);
    HOLDS(is_there(at, N, 9));
    ucp_rkey_destroy(key);
    MUST(ucp_mem_unmap(B.ctx, m));
    none_is_current();
    printf("memory of type %d that UCX allocates\n", type);
}

/* An address that was a device's becomes the host's, and a device's again. */
static void changing(void)
{
    size_t n = 1 << 20;
    for (int i = 0; i < 5; i++) {
        CUdeviceptr one = device_memory(n);
        put_there(one, N, i);
        message((void *)one, N, host, N, &plain);
        HOLDS(same(host, N, i));
        release(one);
        void *map = mmap((void *)one, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (map == MAP_FAILED) continue;
        HOLDS(map == (void *)one);
        fill(map, N, i + 100);
        message(map, N, host, N, &plain);
        HOLDS(same(host, N, i + 100));
        munmap(map, n);
    }
    printf("addresses that change their kind\n");
}

int main(void)
{
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    host = malloc(2 * N), back = malloc(N);
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    pair_open(0);
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    MUST(ucp_context_query(A.ctx, &attr));
    HOLDS(attr.memory_types == (1 << UCS_MEMORY_TYPE_HOST | 1 << UCS_MEMORY_TYPE_CUDA | 1 << UCS_MEMORY_TYPE_CUDA_MANAGED));
    without_context();
    vectors();
    said_types();
    allocated(UCS_MEMORY_TYPE_CUDA);
    allocated(UCS_MEMORY_TYPE_CUDA_MANAGED);
    changing();
    pair_close();
    CU(cuDevicePrimaryCtxRelease_v2(0));
    return finish();
}
