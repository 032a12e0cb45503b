/* Every kind of operation between two processes, with memory of devices at one end or both: all
 * bytes arrive.
 *
 *     buffers KIND,KIND [DEVICE]      kinds of sender and receiver: cuda, managed, host
 *
 * The parent sends, puts and gets; the child works on DEVICE (0). */
#define _GNU_SOURCE
#include "two.h"

static const size_t sizes[] = {1, 100, 8192, 65536, 1000003, 5 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 5 << 20, AM = 3 };

static char *mine; /* the buffer of this side */
static const char *kind;
static unsigned char *host;

static char *memory(void)
{
    CUdeviceptr at;
    if (!strcmp(kind, "host")) return malloc(MOST);
    if (!strcmp(kind, "managed")) CU(cuMemAllocManaged(&at, MOST, 1));
    else CU(cuMemAlloc_v2(&at, MOST));
    return (char *)at;
}

static void store(size_t n, unsigned seed)
{
    fill(host, n, seed);
    if (strcmp(kind, "cuda")) memcpy(mine, host, n);
    else CU(cuMemcpyHtoD_v2((CUdeviceptr)mine, host, n));
}

static void wipe(void)
{
    if (strcmp(kind, "cuda")) memset(mine, 0, MOST);
    else CU(cuMemsetD8_v2((CUdeviceptr)mine, 0, MOST));
}

static void check(const char *what, size_t n, unsigned seed)
{
    if (strcmp(kind, "cuda")) memcpy(host, mine, n);
    else CU(cuMemcpyDtoH_v2(host, (CUdeviceptr)mine, n));
    if (!same(host, n, seed)) DIE("%s of %zu bytes: wrong contents", what, n);
}

static ucs_status_t got_am;
static size_t am_length;
static int am_here;
static ucs_status_ptr_t am_request;

static ucs_status_t on_am(void *arg, const void *header, size_t n, void *data, size_t length,
                          const ucp_am_recv_param_t *p)
{
    (void)arg, (void)header, (void)n;
    am_length = length;
    am_here = 1;
    if (p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        am_request = ucp_am_recv_data_nbx(A.w, data, mine, length, &plain);
        got_am = UCS_INPROGRESS;
        return UCS_OK;
    }
    if (strcmp(kind, "cuda")) memcpy(mine, data, length);
    else CU(cuMemcpyHtoD_v2((CUdeviceptr)mine, data, length));
    got_am = UCS_OK;
    return UCS_OK;
}

static void sender(void)
{
    struct offer o = take_offer();
    ucp_rkey_h key = unpack(&o);
    for (int i = 0; i < SIZES; i++) {
        size_t n = sizes[i];
        store(n, i);
        both();
        MUST(settled(ucp_tag_send_nbx(A.ep, mine, n, 7, &plain)));
        both();
        MUST(settled(ucp_stream_send_nbx(A.ep, mine, n, &plain)));
        both();
        MUST(settled(ucp_am_send_nbx(A.ep, AM, NULL, 0, mine, n, &plain)));
        both();
        MUST(settled(ucp_put_nbx(A.ep, mine, n, o.at, key, &plain)));
        MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
        both();
        both();
        wipe();
        MUST(settled(ucp_get_nbx(A.ep, mine, n, o.at, key, &plain)));
        MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
        check("get", n, i + 50);
        both();
    }
    ucp_rkey_destroy(key);
    both();
}

static void receiver(void)
{
    ucp_mem_h m = map_memory((uintptr_t)mine, MOST);
    send_key(m, (uintptr_t)mine);
    for (int i = 0; i < SIZES; i++) {
        size_t n = sizes[i], length = 0;
        wipe();
        both();
        MUST(settled(ucp_tag_recv_nbx(A.w, mine, MOST, 7, ALL, &plain)));
        check("tag", n, i);
        wipe();
        both();
        ucp_request_param_t all = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_STREAM_RECV_FLAG_WAITALL};
        MUST(settled(ucp_stream_recv_nbx(A.ep, mine, n, &length, &all)));
        check("stream", n, i);
        wipe();
        am_here = 0;
        both();
        double end = now() + 60;
        while (!am_here) {
            if (!ucp_worker_progress(A.w)) sched_yield();
            if (now() > end) DIE("no active message");
        }
        HOLDS(am_length == n);
        if (got_am == UCS_INPROGRESS) MUST(settled(am_request));
        check("am", n, i);
        wipe();
        both();
        both();
        check("put", n, i);
        store(n, i + 50);
        both();
        both();
    }
    both();
    MUST(ucp_mem_unmap(A.ctx, m));
}

int main(int argc, char **argv)
{
    if (argc < 2 || !strchr(argv[1], ',')) return 2;
    char *second = strchr(argv[1], ',');
    *second++ = 0;
    split();
    kind = child ? argv[1] : second;
    use_device(child || argc < 3 ? 0 : atoi(argv[2]));
    host = malloc(MOST);
    mine = memory();
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG | UCP_FEATURE_STREAM | UCP_FEATURE_AM;
    open_side(&A);
    ucp_am_handler_param_t h = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = AM, .cb = on_am};
    MUST(ucp_worker_set_am_recv_handler(A.w, &h));
    connect_both();
    if (child) sender();
    else receiver();
    close_both();
    ucp_cleanup(A.ctx);
    end_both();
    printf("tag, stream, am, put, get of %d sizes: all bytes arrived\n", SIZES);
    return finish();
}
