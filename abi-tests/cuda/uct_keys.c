/* Keys of cuda_ipc through UCT: packed by their owner, unpacked with and without
 * UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING by another process.
 *
 *     uct_keys */
#define _GNU_SOURCE
#include "two.h"
#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>

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
    meet();
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
    meet();
    meet();
}

int main(void)
{
    split();
    use_device(0);
    open_md();
    if (child) owner();
    else reader();
    uct_md_close(md);
    end_both();
    return finish();
}
