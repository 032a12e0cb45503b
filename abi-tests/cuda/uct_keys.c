/* cuda_ipc through UCT: keys, packed by their owner, unpacked with and without
 * UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING by another process; the operations of an endpoint, lists
 * among them; and the endpoint for code on a device.
 *
 *     uct_keys */
#define _GNU_SOURCE
#include "two.h"
#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>
#include <ucs/async/async_fwd.h>
#include <ucs/sys/topo/base/topo.h>
#include <dlfcn.h>

enum { SIZE = 1 << 20, ROOM = 256 };

static unsigned char host[SIZE];
static uct_component_h component;
static uct_md_h md;

static void open_md(void)
{
    uct_component_h *all;
    unsigned n;
    MUST(uct_query_components(&all, &n));
    for (unsigned i = 0; i < n; i++) {
        uct_component_attr_t a = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
        MUST(uct_component_query(all[i], &a));
        if (!strcmp(a.name, "cuda_ipc")) component = all[i];
    }
    HOLDS(component);
    uct_md_config_t *config;
    MUST(uct_md_config_read(component, NULL, NULL, &config));
    MUST(uct_md_open(component, "cuda_ipc", config, &md));
    uct_config_release(config);
    uct_release_component_list(all);
}

static uct_rkey_bundle_t unpacked(const void *packed, uint64_t flags)
{
    uct_rkey_bundle_t key;
    uct_rkey_unpack_params_t p = {.field_mask = UCT_RKEY_UNPACK_FIELD_FLAGS, .flags = flags};
    MUST(uct_rkey_unpack_v2(component, packed, &p, &key));
    return key;
}

/* ---- an interface, and an endpoint to the other process's ---------------------------------------- */

enum { ADDRESS = 64 };

static ucs_async_context_t *async;
static uct_worker_h worker;
static uct_iface_h iface;
static uct_iface_attr_t attr;

static void open_iface(void)
{
    uct_iface_config_t *config;
    uct_iface_params_t p = {.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE,
                            .open_mode = UCT_IFACE_OPEN_MODE_DEVICE};
    p.mode.device.tl_name = "cuda_ipc", p.mode.device.dev_name = "cuda";
    MUST(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
    MUST(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker));
    MUST(uct_md_iface_config_read(md, "cuda_ipc", NULL, NULL, &config));
    MUST(uct_iface_open(md, worker, &p, config, &iface));
    uct_config_release(config);
    MUST(uct_iface_query(iface, &attr));
    uct_iface_progress_enable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

static char theirs[2 * ADDRESS];

static uct_ep_h to_theirs(void)
{
    uct_ep_h ep;
    uct_ep_params_t p = {.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR,
                         .iface = iface, .dev_addr = (void *)theirs, .iface_addr = (void *)(theirs + ADDRESS)};
    MUST(uct_ep_create(&p, &ep));
    return ep;
}

static uct_ep_h connected(void)
{
    char mine[2 * ADDRESS] = {0};
    HOLDS(attr.device_addr_len <= ADDRESS && attr.iface_addr_len <= ADDRESS);
    MUST(uct_iface_get_device_address(iface, (void *)mine));
    MUST(uct_iface_get_address(iface, (void *)(mine + ADDRESS)));
    HOLDS(write(fd, mine, sizeof mine) == sizeof mine && read(fd, theirs, sizeof theirs) == sizeof theirs);
    HOLDS(uct_iface_is_reachable(iface, (void *)theirs, (void *)(theirs + ADDRESS)));
    return to_theirs();
}

static void close_iface(void)
{
    uct_iface_close(iface);
    uct_worker_destroy(worker);
    ucs_async_context_destroy(async);
}

static void done(uct_completion_t *comp) {}

/* Waits for what was posted with a completion, which is to come once. */
static ucs_status_t ended(ucs_status_t posted, uct_completion_t *comp)
{
    if (posted != UCS_INPROGRESS) return posted;
    for (double end = now() + 20; comp->count > 0;) {
        if (now() > end) DIE("a copy doesn't end");
        uct_worker_progress(worker);
    }
    return comp->status;
}

#define POSTED(call)                                                   \
    do {                                                               \
        uct_completion_t comp = {.func = done, .count = 1};            \
        MUST(ended(call, &comp));                                           \
    } while (0)

enum { PART = SIZE / 8 };

static void holds(CUdeviceptr at, size_t n, size_t first, unsigned seed)
{
    static unsigned char got[SIZE];
    CU(cuMemcpyDtoH_v2(got, at, n));
    for (size_t i = 0; i < n; i++)
        if (got[i] != pattern(seed, first + i)) DIE("byte %zu of %zu is wrong", i, n);
}

typedef ucs_status_t (*list_func)(uct_ep_h, void *const *, const size_t *, uct_mem_h const *, const uint64_t *,
                                  uct_rkey_t const *, const size_t *, const size_t *, size_t, uct_completion_t *);

/* Lists of pieces, of which one is empty and one is repeated. */
static void lists(uct_ep_h ep, CUdeviceptr mine, CUdeviceptr from, uct_rkey_t key)
{
    list_func get = (list_func)dlsym(RTLD_DEFAULT, "uct_ep_get_sgl_zcopy"); /* not in 1.22 */
    void *local[] = {(void *)mine, (void *)mine, (void *)(mine + 4 * PART)};
    uint64_t remote[] = {from, from, from + 4 * PART};
    size_t len[] = {PART, 0, 100}, counts[] = {1, 1, 3}, strides[] = {0, 0, PART};
    uct_rkey_t keys[] = {key, key, key};
    HOLDS(get);
    CU(cuMemsetD8_v2(mine, 0, SIZE));
    POSTED(get(ep, local, len, NULL, remote, keys, counts, strides, 3, &comp));
    holds(mine, PART, 0, 9);
    for (int i = 4; i < 7; i++) holds(mine + i * PART, 100, i * PART, 9);
    unsigned char next;
    CU(cuMemcpyDtoH_v2(&next, mine + 4 * PART + 100, 1));
    HOLDS(next == 0);
    fill(host, SIZE, 5);
    CU(cuMemcpyHtoD_v2(mine, host, SIZE));
    POSTED(uct_ep_put_sgl_zcopy(ep, local, len, NULL, remote, keys, counts, strides, 3, &comp));
    POSTED(uct_ep_flush(ep, 0, &comp));
    CU(cuMemsetD8_v2(mine, 0, SIZE));
    uct_iov_t v = {.buffer = (void *)mine, .length = SIZE, .count = 1};
    POSTED(uct_ep_get_zcopy(ep, &v, 1, from, key, &comp));
    holds(mine, PART, 0, 5);
    holds(mine + PART, 3 * PART, PART, 9);
    for (int i = 4; i < 7; i++) {
        holds(mine + i * PART, 100, i * PART, 5);
        holds(mine + i * PART + 100, PART - 100, i * PART + 100, 9);
    }
    /* Nothing, and what can't be. */
    uct_completion_t none = {.func = done, .count = 1};
    MUST(uct_ep_put_sgl_zcopy(ep, local, len, NULL, remote, keys, NULL, NULL, 0, &none));
    HOLDS(uct_ep_put_sgl_zcopy(ep, local, NULL, NULL, remote, keys, NULL, NULL, 1, &none) == UCS_ERR_INVALID_PARAM);
    remote[2] = from + SIZE - 10;
    HOLDS(UCS_STATUS_IS_ERR(get(ep, local, len, NULL, remote, keys, NULL, NULL, 3, &none)));
    HOLDS(none.count == 1);
}

static void operations(const char *packed, CUdeviceptr theirs_at)
{
    CUdeviceptr mine;
    uct_device_ep_h device_ep, again;
    CU(cuMemAlloc_v2(&mine, SIZE));
    size_t before = free_memory();
    uct_ep_h ep = connected();
    uct_rkey_bundle_t key = unpacked(packed, UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING);

    /* What it says it can is what it can. */
    uct_iface_attr_v2_t v2 = {.field_mask = UCT_IFACE_ATTR_FIELD_CAP_FLAGS | UCT_IFACE_ATTR_FIELD_MAX_PUT_SGL_ZCOPY_COUNT};
    MUST(uct_iface_query_v2(iface, &v2));
    HOLDS(v2.cap.flags == UCT_IFACE_FLAG_V2_PUT_SGL_ZCOPY && v2.max_put_sgl_zcopy_count == SIZE_MAX);
    uint64_t can = UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_DEVICE_EP;
    HOLDS((attr.cap.flags & can) == can);
    HOLDS(!(attr.cap.flags & (UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_GET_BCOPY)));
    lists(ep, mine, theirs_at, key.rkey);
    is_open(1);

    /* One endpoint for the device, in its memory, as long as the endpoint. */
    MUST(uct_ep_get_device_ep(ep, &device_ep));
    MUST(uct_ep_get_device_ep(ep, &again));
    HOLDS(device_ep == again && (!cudasim_open || free_memory() < before));
    unsigned char kind;
    CU(cuMemcpyDtoH_v2(&kind, (CUdeviceptr)device_ep, 1));
    HOLDS(kind == 1);
    MUST(uct_rkey_release(component, &key));
    uct_ep_destroy(ep);
    is_open(0);
    HOLDS(free_memory() == before);
    /* As it was. */
    key = unpacked(packed, UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING);
    ep = to_theirs();
    fill(host, SIZE, 9);
    CU(cuMemcpyHtoD_v2(mine, host, SIZE));
    uct_iov_t v = {.buffer = (void *)mine, .length = SIZE, .count = 1};
    POSTED(uct_ep_put_zcopy(ep, &v, 1, theirs_at, key.rkey, &comp));
    MUST(uct_rkey_release(component, &key));
    uct_ep_destroy(ep);
    CU(cuMemFree_v2(mine));
}

/* Keys are for the device that is named, where one is: the owner's memory is on the first, which the second
 * reaches or not. */
static void by_device(const char *packed)
{
    int reaches, devices;
    CUcontext second;
    CU(cuDeviceGetCount(&devices));
    if (devices < 2) return;
    CU(cuDeviceCanAccessPeer(&reaches, 1, 0));
    for (int d = 0; d < 2; d++) {
        ucs_sys_bus_id_t place = {.domain = 0};
        ucs_sys_device_t number;
        uct_rkey_bundle_t key;
        int bus;
        CU(cuDeviceGetAttribute(&bus, 33, d));
        place.bus = bus;
        MUST(ucs_topo_find_device_by_bus_id(&place, &number));
        uct_rkey_unpack_params_t p = {.field_mask = UCT_RKEY_UNPACK_FIELD_SYS_DEVICE, .sys_device = number};
        /* A device that the program doesn't use is not used. */
        if (d == 1) {
            HOLDS(uct_rkey_unpack_v2(component, packed, &p, &key) == UCS_ERR_UNREACHABLE);
            CU(cuDevicePrimaryCtxRetain(&second, d));
        }
        /* The driver is asked once, and again if it had no answer. */
        if (cudasim_fail) cudasim_fail("cuDeviceCanAccessPeer", 1, 999);
        ucs_status_t s = uct_rkey_unpack_v2(component, packed, &p, &key);
        if (cudasim_fail && !cudasim_heal()) {
            HOLDS(s == UCS_ERR_IO_ERROR);
            s = uct_rkey_unpack_v2(component, packed, &p, &key);
        }
        if (s != (d == 0 || reaches ? UCS_OK : UCS_ERR_UNREACHABLE)) DIE("device %d: %s", d, name(s));
        if (s == UCS_OK) MUST(uct_rkey_release(component, &key));
    }
    CU(cuDevicePrimaryCtxRelease_v2(1));
    is_open(0);
}

/* Each call of the driver fails once, from an interface's first copy to its end. */
static void failing(const char *packed, CUdeviceptr from)
{
    static const char *const kinds[] = {"streams", "events", "retained", "device"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    uint64_t before[KINDS], nth, errors = 0;
    CUdeviceptr mine;
    CU(cuMemAlloc_v2(&mine, SIZE));
    close_iface();
    for (int i = 0; i < KINDS; i++) before[i] = cudasim_open(kinds[i]);
    for (nth = 1;; nth++) {
        uct_device_ep_h device_ep;
        CU(cuMemsetD8_v2(mine, 0, SIZE));
        cudasim_fail("*!", nth, 999);
        open_iface();
        uct_ep_h ep = to_theirs();
        uct_rkey_bundle_t key;
        uct_rkey_unpack_params_t p = {.field_mask = UCT_RKEY_UNPACK_FIELD_FLAGS, .flags = UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING};
        uct_iov_t v = {.buffer = (void *)mine, .length = SIZE, .count = 1};
        uct_completion_t comp = {.func = done, .count = 1};
        ucs_status_t s = uct_rkey_unpack_v2(component, packed, &p, &key);
        if (s == UCS_OK) {
            s = ended(uct_ep_get_zcopy(ep, &v, 1, from, key.rkey, &comp), &comp);
            MUST(uct_rkey_release(component, &key));
        }
        ucs_status_t t = uct_ep_get_device_ep(ep, &device_ep);
        uct_ep_destroy(ep);
        close_iface();
        int left = cudasim_heal() != 0;
        errors += s != UCS_OK || t != UCS_OK;
        if (s == UCS_OK) holds(mine, SIZE, 0, 9);
        is_open(0);
        for (int i = 0; i < KINDS; i++)
            if (cudasim_open(kinds[i]) != before[i])
                DIE("call %lu fails: %ld more %s", (unsigned long)nth, (long)(cudasim_open(kinds[i]) - before[i]), kinds[i]);
        if (left && (s != UCS_OK || t != UCS_OK)) DIE("nothing fails, but: %s, %s", name(s), name(t));
        if (left) break;
    }
    printf("%lu calls failed, %lu errors\n", (unsigned long)nth - 1, (unsigned long)errors);
    HOLDS(nth > 15 && errors > 5);
    CU(cuMemFree_v2(mine));
    open_iface();
}

static void owner(void)
{
    CUdeviceptr at;
    uct_mem_h memh;
    char packed[ROOM];
    meet();
    size_t before = free_memory();
    CU(cuMemAlloc_v2(&at, SIZE));
    fill(host, SIZE, 9);
    CU(cuMemcpyHtoD_v2(at, host, SIZE));
    uct_md_attr_v2_t a = {.field_mask = UCT_MD_ATTR_FIELD_RKEY_PACKED_SIZE};
    MUST(uct_md_query_v2(md, &a));
    HOLDS(a.rkey_packed_size <= ROOM);
    MUST(uct_md_mem_reg(md, (void *)at, SIZE, UCT_MD_MEM_ACCESS_ALL, &memh));
    MUST(uct_md_mkey_pack(md, memh, packed));
    HOLDS(write(fd, &at, sizeof at) == sizeof at && write(fd, packed, ROOM) == ROOM);
    /* Of our own memory: there is nothing to open. */
    void *p;
    uct_rkey_bundle_t key = unpacked(packed, UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING);
    MUST(uct_rkey_ptr(component, &key, at + 7, &p));
    HOLDS((CUdeviceptr)p == at + 7);
    is_open(0);
    MUST(uct_rkey_release(component, &key));
    uct_ep_h ep = connected();
    meet();
    uct_ep_destroy(ep);
    MUST(uct_md_mem_dereg(md, memh));
    CU(cuMemFree_v2(at));
    say_free(before);
    meet();
}

static void reader(void)
{
    char packed[ROOM];
    CUdeviceptr at;
    void *p;
    meet();
    HOLDS(read(fd, &at, sizeof at) == sizeof at && read(fd, packed, ROOM) == ROOM);
    uint64_t flag = UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING;

    /* Never mapped. */
    uct_rkey_bundle_t key = unpacked(packed, flag);
    MUST(uct_rkey_release(component, &key));
    is_open(0);

    /* Mapped, by pointer and as a memory element. */
    key = unpacked(packed, flag);
    MUST(uct_rkey_ptr(component, &key, at + 16, &p));
    CU(cuMemcpyDtoH_v2(host, (CUdeviceptr)p - 16, SIZE));
    HOLDS(same(host, SIZE, 9));
    int64_t distance;
    MUST(uct_md_mem_elem_pack(md, NULL, key.rkey, (void *)&distance));
    HOLDS(at + 16 + distance == (CUdeviceptr)p);
    is_open(1);
    MUST(uct_rkey_release(component, &key));
    is_open(0);

    /* Without the flag it stays, until a key with the flag has gone. */
    key = unpacked(packed, 0);
    MUST(uct_rkey_ptr(component, &key, at, &p));
    MUST(uct_rkey_release(component, &key));
    is_open(1);
    key = unpacked(packed, flag);
    MUST(uct_rkey_ptr(component, &key, at, &p));
    MUST(uct_rkey_release(component, &key));
    is_open(0);

    /* Damaged, and outside. */
    packed[20] ^= 1;
    uct_rkey_unpack_params_t none = {.field_mask = 0};
    HOLDS(uct_rkey_unpack_v2(component, packed, &none, &key) == UCS_ERR_INVALID_PARAM);
    packed[20] ^= 1;
    key = unpacked(packed, flag);
    HOLDS(uct_rkey_ptr(component, &key, at + (64 << 20), &p) == UCS_ERR_INVALID_ADDR);
    MUST(uct_rkey_release(component, &key));
    is_open(0);
    by_device(packed);
    operations(packed, at);
    if (cudasim_fail) failing(packed, at);
    meet();
    meet();
}

int main(void)
{
    split();
    use_device(0);
    open_md();
    open_iface();
    if (child) owner();
    else reader();
    close_iface();
    uct_md_close(md);
    end_both();
    return finish();
}
