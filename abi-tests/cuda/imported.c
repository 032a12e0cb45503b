/* Memory of another process that the program opens itself, and pointers of ucp_rkey_ptr, as buffers
 * of messages and of put and get: they are memory of a device.
 *
 *     imported alloc|descriptor|fabric|pool|pointer [known]
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

static int is(const char *other) { return !strcmp(kind, other); }

/* ---- a descriptor from process to process -------------------------------------------------------- */

union control {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
};

static void give_descriptor(int which)
{
    char byte = 0;
    union control c = {{0}};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(sizeof which);
    memcpy(CMSG_DATA(h), &which, sizeof which);
    HOLDS(sendmsg(fd, &m, 0) == 1);
}

static int take_descriptor(void)
{
    int which;
    char byte;
    union control c;
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
    HOLDS(recvmsg(fd, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
    memcpy(&which, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof which);
    return which;
}

/* ---- the owner ---------------------------------------------------------------------------------- */

/* Tells the other process how to open the memory. */
static void show(const struct memory *m)
{
    CUtoken tokens[2];
    if (is("descriptor")) {
        int which;
        CU(cuMemExportToShareableHandle(&which, m->handle, FILE_DESCRIPTOR, 0));
        give_descriptor(which);
        close(which);
        return;
    }
    if (is("pool")) {
        CU(cuMemPoolExportToShareableHandle(&tokens[0], pool, FABRIC, 0));
        CU(cuMemPoolExportPointer(&tokens[1], m->at));
    } else if (is("fabric")) {
        CU(cuMemExportToShareableHandle(&tokens[0], m->handle, FABRIC, 0));
    } else {
        CU(cuIpcGetMemHandle(&tokens[0], m->at));
    }
    give(tokens, sizeof tokens);
}

static void receive(CUdeviceptr to, size_t n)
{
    MUST(settled(ucp_tag_recv_nbx(A.w, (void *)to, n, TAG, ALL, &plain)));
}

static void owner(void)
{
    serve();
    before = free_memory();
    struct memory theirs = new_memory(is("pointer") ? "alloc" : kind, SIZE);
    CUdeviceptr at = theirs.at, mine;
    show(&theirs);
    store(at, SIZE, 1);
    CU(cuMemAlloc_v2(&mine, SIZE));
    ucp_mem_h m = map_memory(mine, SIZE), whole = NULL;
    send_key(m, mine);
    if (is("pointer")) {
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
    give_memory_back(&theirs);
    end_pool();
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
    if (is("descriptor")) {
        int got = take_descriptor();
        CU(cuMemImportFromShareableHandle(&their_handle, (void *)(long)got, FILE_DESCRIPTOR));
        close(got);
        return map_at_device(their_handle, SIZE);
    }
    take(tokens, sizeof tokens);
    if (is("pool")) {
        CU(cuMemPoolImportFromShareableHandle(&their_pool, &tokens[0], FABRIC, 0));
        CU(cuMemPoolImportPointer(&at, their_pool, &tokens[1]));
        return at;
    }
    if (is("fabric")) {
        CU(cuMemImportFromShareableHandle(&their_handle, &tokens[0], FABRIC));
        return map_at_device(their_handle, SIZE);
    }
    if (is("pointer")) return 0;
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
    if (is("alloc")) {
        CU(cuIpcCloseMemHandle(at));
    } else if (is("pool")) {
        CU(cuMemFreeAsync(at, NULL));
        CU(cuCtxSynchronize());
        CU(cuMemPoolDestroy(their_pool));
    } else if (is("pointer")) {
        ucp_rkey_destroy(pointer_key);
    } else {
        unmap_from_device(at, SIZE);
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
    if (!is("pointer")) is_open(0);
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
