/* Memory of another process that the program opens itself, and pointers of ucp_rkey_ptr, as buffers
 * of messages and of put and get: they are memory of a device.
 *
 *     imported legacy|descriptor|fabric|pool|pointer [known]
 *
 * The parent owns the memory; the child opens it, and moves its contents by UCX. With `known` the
 * child says of which type its buffers are. */
#define _GNU_SOURCE
#include "two.h"

enum { SIZE = 4 << 20, HALF = SIZE / 2, TAG = 7 };

static const char *kind;
static size_t before;
static unsigned char *host;
static ucp_request_param_t how;
static CUlocation here = {1, 0};

static void store(CUdeviceptr at, size_t n, unsigned seed)
{
    fill(host, n, seed);
    CU(cuMemcpyHtoD_v2(at, host, n));
}

static void check(const char *what, CUdeviceptr at, size_t n, unsigned seed)
{
    CU(cuMemcpyDtoH_v2(host, at, n));
    if (!same(host, n, seed)) DIE("%s: wrong contents", what);
}

/* ---- the owner ---------------------------------------------------------------------------------- */

static CUpool pool;
static uint64_t handle;
static int handle_fd = -1;

static int handle_type(void) { return !strcmp(kind, "descriptor") ? FILE_DESCRIPTOR : FABRIC; }

static CUdeviceptr mapped(uint64_t of)
{
    CUdeviceptr at;
    CUaccess access = {here, 3};
    CU(cuMemAddressReserve(&at, SIZE, 0, 0, 0));
    CU(cuMemMap(at, SIZE, 0, of, 0));
    CU(cuMemSetAccess(at, SIZE, &access, 1));
    return at;
}

static void unmap(CUdeviceptr at)
{
    CU(cuMemUnmap(at, SIZE));
    CU(cuMemAddressFree(at, SIZE));
}

/* Allocates, and tells the other process how to open it. */
static CUdeviceptr allocate(void)
{
    CUdeviceptr at;
    CUtoken tokens[2];
    if (!strcmp(kind, "legacy") || !strcmp(kind, "pointer")) {
        CU(cuMemAlloc_v2(&at, SIZE));
        CU(cuIpcGetMemHandle(&tokens[0], at));
        give(tokens, sizeof tokens);
    } else if (!strcmp(kind, "pool")) {
        CUpoolprops props = {.type = 1, .handle_types = FABRIC, .location = here};
        CU(cuMemPoolCreate(&pool, &props));
        CU(cuMemAllocFromPoolAsync(&at, SIZE, pool, NULL));
        CU(cuCtxSynchronize());
        CU(cuMemPoolExportToShareableHandle(&tokens[0], pool, FABRIC, 0));
        CU(cuMemPoolExportPointer(&tokens[1], at));
        give(tokens, sizeof tokens);
    } else {
        CUprop prop = {.type = 1, .handle_types = handle_type(), .location = here};
        CU(cuMemCreate(&handle, SIZE, &prop, 0));
        at = mapped(handle);
        if (handle_type() == FABRIC) {
            CU(cuMemExportToShareableHandle(&tokens[0], handle, FABRIC, 0));
            give(tokens, sizeof tokens);
        } else {
            CU(cuMemExportToShareableHandle(&handle_fd, handle, FILE_DESCRIPTOR, 0));
            char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
            struct iovec v = {&byte, 1};
            struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
            struct cmsghdr *c = CMSG_FIRSTHDR(&m);
            c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(c), &handle_fd, sizeof(int));
            HOLDS(sendmsg(fd, &m, 0) == 1);
        }
    }
    return at;
}

static void release(CUdeviceptr at)
{
    if (!strcmp(kind, "legacy") || !strcmp(kind, "pointer")) {
        CU(cuMemFree_v2(at));
    } else if (!strcmp(kind, "pool")) {
        CU(cuMemFreeAsync(at, NULL));
        CU(cuCtxSynchronize());
        CU(cuMemPoolDestroy(pool));
    } else {
        unmap(at);
        CU(cuMemRelease(handle));
        if (handle_fd >= 0) close(handle_fd);
    }
}

static void receive(CUdeviceptr to, size_t n)
{
    MUST(settled(ucp_tag_recv_nbx(A.w, (void *)to, n, TAG, ALL, &plain)));
}

static void owner(void)
{
    serve();
    before = free_memory();
    CUdeviceptr at = allocate(), mine;
    store(at, SIZE, 1);
    CU(cuMemAlloc_v2(&mine, SIZE));
    ucp_mem_h m = map_memory(mine, SIZE), whole = NULL;
    send_key(m, mine);
    if (!strcmp(kind, "pointer")) {
        whole = map_memory(at, SIZE);
        send_key(whole, at);
    }
    /* What the other sends lies in our own memory. */
    receive(mine, 100);
    check("short message", mine, 100, 1);
    receive(mine, SIZE);
    check("message", mine, SIZE, 1);
    receive(mine, HALF);
    CU(cuMemcpyDtoH_v2(host, mine, HALF));
    for (size_t i = 0; i < HALF; i++)
        if (host[i] != pattern(1, HALF + i)) DIE("message from the middle: wrong contents");
    store(mine, SIZE, 2);
    MUST(settled(ucp_tag_send_nbx(A.ep, (void *)mine, SIZE, TAG, &plain)));
    both();
    check("received by the other", at, SIZE, 2);
    store(at, SIZE, 3);
    both();
    both();
    check("put", mine, SIZE, 3);
    store(mine, SIZE, 4);
    both();
    both();
    check("get", at, SIZE, 4);
    if (whole) MUST(ucp_mem_unmap(A.ctx, whole));
    MUST(ucp_mem_unmap(A.ctx, m));
    release(at);
    CU(cuMemFree_v2(mine));
    both();
    serve();
}

/* ---- who opens it ------------------------------------------------------------------------------- */

static CUpool their_pool;
static uint64_t their_handle;
static ucp_rkey_h pointer_key;

static CUdeviceptr opened(void)
{
    CUdeviceptr at;
    CUtoken tokens[2];
    if (!strcmp(kind, "descriptor")) {
        char byte, room[CMSG_SPACE(sizeof(int))];
        struct iovec v = {&byte, 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
        HOLDS(recvmsg(fd, &m, 0) == 1);
        int got;
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof got);
        CU(cuMemImportFromShareableHandle(&their_handle, (void *)(long)got, FILE_DESCRIPTOR));
        close(got);
        return mapped(their_handle);
    }
    take(tokens, sizeof tokens);
    if (!strcmp(kind, "pool")) {
        CU(cuMemPoolImportFromShareableHandle(&their_pool, &tokens[0], FABRIC, 0));
        CU(cuMemPoolImportPointer(&at, their_pool, &tokens[1]));
        return at;
    }
    if (!strcmp(kind, "fabric")) {
        CU(cuMemImportFromShareableHandle(&their_handle, &tokens[0], FABRIC));
        return mapped(their_handle);
    }
    if (!strcmp(kind, "pointer")) return 0;
    /* Twice: it is open until it has been closed twice. */
    CUdeviceptr again;
    CU(cuIpcOpenMemHandle_v2(&at, tokens[0], 1));
    CU(cuIpcOpenMemHandle_v2(&again, tokens[0], 1));
    HOLDS(at == again);
    CU(cuIpcCloseMemHandle(again));
    return at;
}

static void close_opened(CUdeviceptr at)
{
    if (!strcmp(kind, "legacy")) {
        CU(cuIpcCloseMemHandle(at));
    } else if (!strcmp(kind, "pool")) {
        CU(cuMemFreeAsync(at, NULL));
        CU(cuCtxSynchronize());
        CU(cuMemPoolDestroy(their_pool));
    } else if (!strcmp(kind, "pointer")) {
        ucp_rkey_destroy(pointer_key);
    } else {
        unmap(at);
        CU(cuMemRelease(their_handle));
    }
}

static void send_all(CUdeviceptr from, size_t n) { MUST(settled(ucp_tag_send_nbx(A.ep, (void *)from, n, TAG, &how))); }

static void user(void)
{
    meet();
    CUdeviceptr at = opened();
    struct offer o = take_offer();
    ucp_rkey_h key = unpack(&o);
    if (!at) {
        struct offer theirs = take_offer();
        pointer_key = unpack(&theirs);
        MUST(ucp_rkey_ptr(pointer_key, theirs.at, (void **)&at));
    }
    send_all(at, 100);
    send_all(at, SIZE);
    send_all(at + HALF, HALF);
    MUST(settled(ucp_tag_recv_nbx(A.w, (void *)at, SIZE, TAG, ALL, &how)));
    both();
    both();
    MUST(settled(ucp_put_nbx(A.ep, (void *)at, SIZE, o.at, key, &how)));
    MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
    both();
    both();
    MUST(settled(ucp_get_nbx(A.ep, (void *)at, SIZE, o.at, key, &how)));
    both();
    ucp_rkey_destroy(key);
    close_opened(at);
    /* What lies at the address now is the host's: nobody takes it for the device's. */
    if (strcmp(kind, "pointer")) is_open(0);
    both();
    meet();
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    kind = argv[1];
    if (argc > 2) {
        how.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
        how.memory_type = UCS_MEMORY_TYPE_CUDA;
    }
    host = malloc(SIZE);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    run_two(owner, user);
    /* A rendezvous keeps what it opened until the endpoint is closed. */
    say_free(before);
    return finish();
}
