/* What the programs about remote memory share. */
#ifndef RMA_H
#define RMA_H
#include "datatypes.h"
#include <sys/mman.h>

enum source { USER, ALLOCATED, FIXED, SOURCES };
static const char *const sources[] = {"registered", "allocated", "at a fixed address"};

struct region {
    ucp_mem_h memh;
    char *at;
    size_t len;
    void *mine; /* what was registered */
    void *packed;
    size_t packed_len;
};

static struct region map_region(struct side *s, enum source how, size_t len)
{
    struct region r = {.len = len};
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS, .length = len};
    if (how == USER) {
        HOLDS(posix_memalign(&r.mine, 64, len + 64) == 0);
        p.field_mask |= UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
        p.address = r.mine;
    } else {
        p.flags = UCP_MEM_MAP_ALLOCATE;
    }
    if (how == FIXED) {
        /* A place that is surely free: it was just ours. */
        void *place = mmap(NULL, len + (2 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HOLDS(place != MAP_FAILED);
        munmap(place, len + (2 << 20));
        p.field_mask |= UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
        p.address = place;
        p.flags |= UCP_MEM_MAP_FIXED;
    }
    MUST(ucp_mem_map(s->ctx, &p, &r.memh));
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH};
    MUST(ucp_mem_query(r.memh, &a));
    HOLDS(a.length >= len);
    if (how != ALLOCATED) HOLDS(a.address == p.address);
    r.at = a.address;
    memset(r.at, 0x5a, len);
    MUST(ucp_rkey_pack(s->ctx, r.memh, &r.packed, &r.packed_len));
    return r;
}

static void unmap_region(struct side *s, struct region *r)
{
    if (r->packed) ucp_rkey_buffer_release(r->packed);
    MUST(ucp_mem_unmap(s->ctx, r->memh));
    free(r->mine);
    memset(r, 0, sizeof *r);
}

static ucp_rkey_h key_of(ucp_ep_h ep, const void *packed)
{
    ucp_rkey_h k;
    MUST(ucp_ep_rkey_unpack(ep, packed, &k));
    return k;
}

static ucs_status_t flushed(ucp_ep_h ep) { return finished(ucp_ep_flush_nbx(ep, &plain)); }
#endif
