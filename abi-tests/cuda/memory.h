/* Device memory of every kind that the driver gives: alloc, managed, descriptor and fabric (mapped, and
 * shared by such handles), pool. And what a test asks of the simulated driver. */
#ifndef MEMORY_H
#define MEMORY_H
#include "driver.h"
#include <string.h>

/* Only the simulated driver has these; elsewhere they are null. */
#ifdef REAL
static uint64_t (*const cudasim_open)(const char *kind), (*const cudasim_calls)(const char *name), (*const cudasim_heal)(void);
static void (*const cudasim_fail)(const char *name, uint64_t nth, int code);
#else
uint64_t cudasim_open(const char *kind) __attribute__((weak));
uint64_t cudasim_calls(const char *name) __attribute__((weak));
void cudasim_fail(const char *name, uint64_t nth, int code) __attribute__((weak));
uint64_t cudasim_heal(void) __attribute__((weak));
#endif

struct memory {
    const char *kind;
    CUdeviceptr at;
    size_t len;
    uint64_t handle;
};

static CUpool pool __attribute__((unused)); /* of all memory of that kind */

__attribute__((unused)) static int is_mapped_kind(const char *kind)
{
    return !strcmp(kind, "descriptor") || !strcmp(kind, "fabric");
}

/* Gives memory an address, for the first device. */
__attribute__((unused)) static CUdeviceptr map_at_device(uint64_t handle, size_t len)
{
    CUdeviceptr at;
    CUaccess access = {{1, 0}, 3};
    CU(cuMemAddressReserve(&at, len, 0, 0, 0));
    CU(cuMemMap(at, len, 0, handle, 0));
    CU(cuMemSetAccess(at, len, &access, 1));
    return at;
}

__attribute__((unused)) static void unmap_from_device(CUdeviceptr at, size_t len)
{
    CU(cuMemUnmap(at, len));
    CU(cuMemAddressFree(at, len));
}

/* At least `len` bytes. A context is current. */
__attribute__((unused)) static struct memory new_memory(const char *kind, size_t len)
{
    struct memory m = {.kind = kind, .len = len};
    CUlocation here = {1, 0};
    if (!strcmp(kind, "alloc")) {
        CU(cuMemAlloc_v2(&m.at, len));
    } else if (!strcmp(kind, "managed")) {
        CU(cuMemAllocManaged(&m.at, len, 1));
    } else if (!strcmp(kind, "pool")) {
        CUpoolprops props = {.type = 1, .handle_types = FABRIC, .location = here};
        if (!pool) CU(cuMemPoolCreate(&pool, &props));
        CU(cuMemAllocFromPoolAsync(&m.at, len, pool, NULL));
        CU(cuCtxSynchronize());
    } else {
        int type = !strcmp(kind, "fabric") ? FABRIC : FILE_DESCRIPTOR;
        CUprop prop = {.type = 1, .handle_types = type, .location = here};
        m.len = (len + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1);
        CU(cuMemCreate(&m.handle, m.len, &prop, 0));
        m.at = map_at_device(m.handle, m.len);
    }
    return m;
}

__attribute__((unused)) static void give_memory_back(const struct memory *m)
{
    if (is_mapped_kind(m->kind)) {
        unmap_from_device(m->at, m->len);
        CU(cuMemRelease(m->handle));
    } else if (!strcmp(m->kind, "pool")) {
        CU(cuMemFreeAsync(m->at, NULL));
        CU(cuCtxSynchronize());
    } else {
        CU(cuMemFree_v2(m->at));
    }
}

__attribute__((unused)) static void end_pool(void)
{
    if (pool) CU(cuMemPoolDestroy(pool));
}

/* What belongs to others, and is open here. */
__attribute__((unused)) static uint64_t open_now(void)
{
    return cudasim_open ? cudasim_open("opened") + cudasim_open("mapped") + cudasim_open("imported") : 0;
}
#endif
