/* An MPI program with buffers on devices, for an MPI that knows nothing of devices and hands them to
 * UCX, and that opens UCX itself beside it for keys.
 *
 *     under_mpi buffers
 *     under_mpi get|ptr|never BYTES ROUNDS      what is done with a key, as in leak.c
 *
 * Rank r works on device r, of as many as there are. */
#include "check.h"
#include "driver.h"
#include <sched.h>
#include <time.h>
#include <ucp/api/ucp.h>

#ifdef REAL
enum { REAL_DRIVER = 1 };
#else
enum { REAL_DRIVER = 0 };
#endif
enum { LOOKED_AT = 1 << 16, MOST = 3 << 20 };

static unsigned char *host;

static void store(CUdeviceptr at, size_t n, unsigned seed)
{
    fill(host, n, seed);
    CU(cuMemcpyHtoD_v2(at, host, n));
}

static void look(CUdeviceptr at, size_t n, unsigned seed, const char *what)
{
    CU(cuMemcpyDtoH_v2(host, at, n));
    verify(host, n, seed, what);
}

/* It may return early where UCX has seen nothing of this context. */
static void wipe(CUdeviceptr at, size_t n)
{
    CU(cuMemsetD8_v2(at, 0, n));
    CU(cuCtxSynchronize());
}

static void messages(CUdeviceptr out, CUdeviceptr in, size_t n, unsigned lap)
{
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Status st;
    int got;
    store(out, n, 10 * rank + lap);
    wipe(in, n);
    MPI_Sendrecv((void *)out, (int)n, MPI_BYTE, next, 1, (void *)in, MOST, MPI_BYTE, previous, 1, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_BYTE, &got);
    EXPECT(got == (int)n);
    look(in, n, 10 * previous + lap, "sendrecv");
    /* Unexpected, and several at once. */
    MPI_Request r[4];
    wipe(in, n);
    size_t half = n / 2;
    MPI_Isend((void *)out, (int)half, MPI_BYTE, next, 2, MPI_COMM_WORLD, &r[0]);
    MPI_Isend((void *)(out + half), (int)(n - half), MPI_BYTE, next, 3, MPI_COMM_WORLD, &r[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irecv((void *)(in + half), (int)(n - half), MPI_BYTE, previous, 3, MPI_COMM_WORLD, &r[2]);
    MPI_Irecv((void *)in, (int)half, MPI_BYTE, previous, 2, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    look(in, n, 10 * previous + lap, "isend and irecv");
    /* From a device to the host, and back. */
    unsigned char *mine = memory(n);
    MPI_Sendrecv((void *)out, (int)n, MPI_BYTE, next, 4, mine, (int)n, MPI_BYTE, previous, 4, MPI_COMM_WORLD, &st);
    verify(mine, n, 10 * previous + lap, "device to host");
    wipe(in, n);
    MPI_Sendrecv(mine, (int)n, MPI_BYTE, previous, 5, (void *)in, (int)n, MPI_BYTE, next, 5, MPI_COMM_WORLD, &st);
    look(in, n, 10 * rank + lap, "host to device");
    free(mine);
}

static void buffers(void)
{
    static const size_t sizes[] = {8, 1000, 8192, 70001, 1 << 20, MOST};
    CUdeviceptr out, in;
    for (unsigned lap = 0; lap < 3; lap++) {
        /* Anew each time: at the same addresses. */
        CU(cuMemAlloc_v2(&out, MOST));
        CU(cuMemAlloc_v2(&in, MOST));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) messages(out, in, sizes[i], lap);
        MPI_Barrier(MPI_COMM_WORLD);
        CU(cuMemFree_v2(out));
        CU(cuMemFree_v2(in));
    }
    passed("buffers");
}

/* ---- UCX beside MPI ------------------------------------------------------------------------------ */

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h ep;
static const ucp_request_param_t plain;

struct offer {
    uint64_t at;
    size_t len;
    char key[1024];
};

#define MUST(call)                                                                  \
    do {                                                                            \
        ucs_status_t s_ = (call);                                                   \
        if (s_ != UCS_OK) DIE("%s gave %s", #call, ucs_status_string(s_));          \
    } while (0)

static void settled(ucs_status_ptr_t r)
{
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS)
        if (!ucp_worker_progress(worker)) sched_yield();
    MUST(UCS_PTR_IS_PTR(r) ? ucp_request_check_status(r) : UCS_PTR_STATUS(r));
    if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
}

/* The other end of an MPI operation may need our progress. */
static void wait_for(MPI_Request r)
{
    for (int done = 0; !done;) {
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        if (!ucp_worker_progress(worker)) sched_yield();
    }
}

static void meet(void)
{
    MPI_Request r;
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    wait_for(r);
}

static void open_ucx(void)
{
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_TAG};
    ucp_worker_params_t wp = {.field_mask = 0};
    ucp_address_t *mine;
    size_t n;
    char room[2][4096];
    MUST(ucp_init(&p, NULL, &context));
    MUST(ucp_worker_create(context, &wp, &worker));
    MUST(ucp_worker_get_address(worker, &mine, &n));
    EXPECT(n <= sizeof room[0]);
    memcpy(room[0], mine, n);
    MPI_Sendrecv(room[0], sizeof room[0], MPI_BYTE, 1 - rank, 9, room[1], sizeof room[1], MPI_BYTE, 1 - rank, 9,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ucp_worker_release_address(worker, mine);
    ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = (void *)room[1]};
    MUST(ucp_ep_create(worker, &ep_params, &ep));
}

static void close_ucx(void)
{
    settled(ucp_ep_close_nbx(ep, &plain));
    meet();
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
}

/* What a real driver makes for the first copies is no memory that was lost: one round is not counted. */
enum { FIRST = REAL_DRIVER ? -1 : 0, LITTLE = 2 * LOOKED_AT };

static void owner(size_t most, int rounds)
{
    meet();
    size_t before = 0, lost = 0;
    CUdeviceptr first = 0;
    for (int i = FIRST; i < rounds; i++) {
        CUdeviceptr at;
        size_t n = i < 0 ? LITTLE : most;
        if (i <= 0) before = free_memory();
        CU(cuMemAlloc_v2(&at, n));
        if (i <= 0) first = at;
        EXPECT(at == first);
        store(at, LOOKED_AT, i);
        store(at + n - LOOKED_AT, LOOKED_AT, i + 1);
        ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                  .address = (void *)at, .length = n};
        ucp_mem_h m;
        MUST(ucp_mem_map(context, &p, &m));
        struct offer o = {.at = at};
        void *key;
        MUST(ucp_rkey_pack(context, m, &key, &o.len));
        EXPECT(o.len <= sizeof o.key);
        memcpy(o.key, key, o.len);
        ucp_rkey_buffer_release(key);
        MPI_Send(&o, sizeof o, MPI_BYTE, 1, 8, MPI_COMM_WORLD);
        meet();
        MUST(ucp_mem_unmap(context, m));
        CU(cuMemFree_v2(at));
        if (i >= 0 && free_memory() != before && !lost) {
            lost = before - free_memory();
            printf("round %d: %zu bytes of memory less\n", i, lost);
        }
    }
    if (!lost) printf("free memory: as before\n");
    fflush(stdout);
    meet();
}

static void reader(const char *how, size_t most, int rounds)
{
    CUdeviceptr to;
    CU(cuMemAlloc_v2(&to, most));
    meet();
    for (int i = FIRST; i < rounds; i++) {
        struct offer o;
        MPI_Request r;
        size_t n = i < 0 ? LITTLE : most;
        MPI_Irecv(&o, sizeof o, MPI_BYTE, 0, 8, MPI_COMM_WORLD, &r);
        wait_for(r);
        ucp_rkey_h key;
        MUST(ucp_ep_rkey_unpack(ep, o.key, &key));
        void *p = (void *)to;
        if (!strcmp(how, "get")) settled(ucp_get_nbx(ep, p, n, o.at, key, &plain));
        if (!strcmp(how, "ptr")) MUST(ucp_rkey_ptr(key, o.at, &p));
        if (strcmp(how, "never")) {
            look((CUdeviceptr)p, LOOKED_AT, i, how);
            look((CUdeviceptr)p + n - LOOKED_AT, LOOKED_AT, i + 1, how);
        }
        ucp_rkey_destroy(key);
        meet();
    }
    meet();
    CU(cuMemFree_v2(to));
}

int main(int argc, char **argv)
{
    int devices;
    start(&argc, &argv);
    CU(cuInit(0));
    CU(cuDeviceGetCount(&devices));
    use_device(rank % devices);
    host = memory(MOST);
    if (argc < 4) {
        buffers();
    } else {
        EXPECT(ranks == 2);
        size_t n = strtoull(argv[2], NULL, 0);
        open_ucx();
        if (rank == 0) owner(n, atoi(argv[3]));
        else reader(argv[1], n, atoi(argv[3]));
        close_ucx();
    }
    finish();
    return 0;
}
