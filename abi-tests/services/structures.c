/* Pools, page tables, strided objects, piecewise functions and registration caches, through UCS's
 * public functions. What it prints is the same on any UCX. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the macros of array.h use, and no installed header defines. */
#define ucs_assert(...)
#define ucs_assertv(...)

#include <ucm/api/ucm.h>
#include <ucs/datastruct/array.h>
#include <ucs/datastruct/linear_func.h>
#include <ucs/datastruct/mpool.h>
#include <ucs/datastruct/mpool_set.h>
#include <ucs/datastruct/pgtable.h>
#include <ucs/datastruct/piecewise_func.h>
#include <ucs/datastruct/strided_alloc.h>
#include <ucs/memory/rcache.h>
#include <ucs/sys/sock.h>

static const char *name(ucs_status_t status)
{
    return ucs_status_string(status);
}

/* ---- pools ---- */

static int inits, cleanups, chunks_now;

static ucs_status_t chunk_alloc(ucs_mpool_t *mp, size_t *size, void **chunk)
{
    chunks_now++;
    *size += 100;
    *chunk = malloc(*size);
    return UCS_OK;
}

static void chunk_release(ucs_mpool_t *mp, void *chunk)
{
    chunks_now--;
    free(chunk);
}

static void obj_init(ucs_mpool_t *mp, void *obj, void *chunk)
{
    inits++;
    memset(obj, 0x5a, 24);
}

static void obj_cleanup(ucs_mpool_t *mp, void *obj)
{
    cleanups++;
}

static void pools(void)
{
    static ucs_mpool_ops_t ops = {chunk_alloc, chunk_release, obj_init, obj_cleanup, NULL};
    ucs_mpool_params_t params;
    ucs_mpool_t mp;
    unsigned char *all[64];
    int i, k, same;

    memset(&params, 0xff, sizeof params);
    ucs_mpool_params_reset(&params);
    printf("defaults: %zu %zu %zu %zu %d %u %zu %u %.2f %p '%s'\n", params.priv_size, params.elem_size, params.align_offset,
           params.alignment, params.malloc_safe, params.elems_per_chunk, params.max_chunk_size, params.max_elems,
           params.grow_factor, (void *)params.ops, params.name);
    printf("nothing asked for: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.ops = &ops;
    printf("no size: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.elem_size = 24;
    params.alignment = 48;
    printf("odd alignment: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.alignment = 64;
    params.align_offset = 25;
    printf("offset outside: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.align_offset = 8;
    params.elems_per_chunk = 5;
    params.max_elems = 4;
    printf("more in a chunk than at all: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.max_elems = 30;
    params.max_chunk_size = 50;
    printf("no room in a chunk: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.max_chunk_size = 1 << 20;
    params.grow_factor = 0.5;
    printf("shrinks: %s\n", name(ucs_mpool_init(&params, &mp)));
    params.grow_factor = 2;
    params.priv_size = 16;
    params.name = "things";
    printf("right: %s\n", name(ucs_mpool_init(&params, &mp)));
    printf("name %s, empty %d\n", ucs_mpool_name(&mp), ucs_mpool_is_empty(&mp));
    memset(ucs_mpool_priv(&mp), 7, 16);
    for (i = 0; i < 64; i++) {
        all[i] = ucs_mpool_get(&mp);
        if (all[i] == NULL) break;
        if ((uintptr_t)(all[i] + 8) % 64) printf("object %d is not aligned\n", i);
        for (k = 0; k < 24; k++) if (all[i][k] != 0x5a) printf("object %d is not initialised\n", i);
        for (k = 0; k < i; k++) if (labs(all[i] - all[k]) < 24) printf("objects %d and %d overlap\n", i, k);
    }
    printf("%d objects of %d in %d chunks, empty %d\n", i, inits, chunks_now, ucs_mpool_is_empty(&mp));
    ucs_mpool_put(all[3]);
    ucs_mpool_put(all[9]);
    same = ucs_mpool_get(&mp) == all[9];
    same += ucs_mpool_get(&mp) == all[3];
    printf("the last one comes first: %d\n", same);
    while (i > 0) ucs_mpool_put(all[--i]);
    ucs_mpool_cleanup(&mp, 1);
    printf("%d cleaned up, %d chunks left\n", cleanups, chunks_now);
    for (i = 0; i < 3; i++) {
        static ucs_mpool_ops_t made[] = {{ucs_mpool_chunk_malloc, ucs_mpool_chunk_free},
                                         {ucs_mpool_chunk_mmap, ucs_mpool_chunk_munmap},
                                         {ucs_mpool_hugetlb_malloc, ucs_mpool_hugetlb_free}};
        ucs_mpool_params_reset(&params);
        params.elem_size = 1000;
        params.ops       = &made[i];
        params.name      = "made";
        printf("kind %d: %s\n", i, name(ucs_mpool_init(&params, &mp)));
        ucs_mpool_grow(&mp, 3);
        for (k = 0; k < 20; k++) memset(all[k] = ucs_mpool_get(&mp), k, 1000);
        for (k = 0; k < 20; k++) if (all[k][0] != k || all[k][999] != k) printf("WRONG object %d\n", k);
        while (k > 0) ucs_mpool_put(all[--k]);
        ucs_mpool_cleanup(&mp, 1);
    }
}

static void sets(void)
{
    static ucs_mpool_ops_t ops = {ucs_mpool_chunk_malloc, ucs_mpool_chunk_free};
    size_t sizes[] = {64, 1024, 4096, 1 << 20}, odd[] = {48};
    ucs_mpool_set_t set;
    int i;

    printf("set of none: %s\n", name(ucs_mpool_set_init(&set, sizes, 0, 8192, 0, 0, 0, 8, 4, 100, &ops, "set")));
    printf("set of odd ones: %s\n", name(ucs_mpool_set_init(&set, odd, 1, 8192, 0, 0, 0, 8, 4, 100, &ops, "set")));
    printf("set up to nothing: %s\n", name(ucs_mpool_set_init(&set, sizes, 4, 0, 0, 0, 0, 8, 4, 100, &ops, "set")));
    printf("set: %s\n", name(ucs_mpool_set_init(&set, sizes, 4, 6000, 32, 16, 0, 8, 4, 100, &ops, "set")));
    printf("%s %x:", ucs_mpool_set_name(&set), set.bitmap);
    memset(ucs_mpool_set_priv(&set), 1, 32);
    for (i = 0; i < UCS_MPOOL_SET_SIZE; i++) printf(" %zu", set.map[i]->data->elem_size);
    printf("\n");
    for (i = 0; i < 10; i++) ucs_mpool_put(memset(ucs_mpool_get(set.map[21]), 1, 1024 + 16));
    ucs_mpool_set_cleanup(&set, 1);
}

/* ---- page tables ---- */

static int dirs;

static ucs_pgt_dir_t *dir_alloc(const ucs_pgtable_t *table)
{
    dirs++;
    return malloc(sizeof(ucs_pgt_dir_t));
}

static void dir_release(const ucs_pgtable_t *table, ucs_pgt_dir_t *dir)
{
    dirs--;
    free(dir);
}

static void found(const ucs_pgtable_t *table, ucs_pgt_region_t *region, void *arg)
{
    printf(" %lx-%lx", region->start, region->end);
}

static void tables(void)
{
    static ucs_pgt_region_t regions[] = {{0x1000, 0x2000}, {0x2000, 0x2010}, {0x10000000, 0x7fff12345670}, {0, 0x10},
                                         {0xfffffffffffff000, 0xfffffffffffffff0}, {0x1ff0, 0x2000}, {0x3008, 0x4000},
                                         {0x5000, 0x5000}, {0x800000000000, 0x800000000000 + (1ul << 40)}};
    static const unsigned long look[] = {0, 0xf, 0x10, 0xfff, 0x1000, 0x1fff, 0x2000, 0x200f, 0x2010, 0xfffffff, 0x10000000,
                                         0x7fff1234566f, 0x7fff12345670, 0x800000000000, 0x80ffffffffff, 0x810000000000,
                                         0xffffffffffffffe0, 0xfffffffffffffff0};
    enum { N = sizeof regions / sizeof *regions };
    ucs_pgtable_t table;
    int i;

    printf("table: %s\n", name(ucs_pgtable_init(&table, dir_alloc, dir_release)));
    for (i = 0; i < N; i++)
        printf("insert %lx-%lx: %s\n", regions[i].start, regions[i].end, name(ucs_pgtable_insert(&table, &regions[i])));
    printf("%u regions\n", ucs_pgtable_num_regions(&table));
    for (i = 0; i < sizeof look / sizeof *look; i++) {
        ucs_pgt_region_t *region = ucs_pgtable_lookup(&table, look[i]);
        printf("%lx:", look[i]);
        if (region) found(NULL, region, NULL);
        printf("\n");
    }
    printf("all:");
    ucs_pgtable_search_range(&table, 0, UCS_PGT_ADDR_MAX, found, NULL);
    printf("\nsome:");
    ucs_pgtable_search_range(&table, 0x1800, 0x20000000, found, NULL);
    printf("\nnone:");
    ucs_pgtable_search_range(&table, 0x3000, 0x4000, found, NULL);
    printf("\nremove another one: %s\n", name(ucs_pgtable_remove(&table, &regions[5])));
    printf("remove: %s\n", name(ucs_pgtable_remove(&table, &regions[0])));
    printf("again: %s\n", name(ucs_pgtable_remove(&table, &regions[0])));
    printf("%u regions, 0x1000 is in one: %d\n", ucs_pgtable_num_regions(&table), ucs_pgtable_lookup(&table, 0x1000) != NULL);
    printf("insert again: %s\n", name(ucs_pgtable_insert(&table, &regions[0])));
    printf("purged:");
    ucs_pgtable_purge(&table, found, NULL);
    printf("\n%u regions, %d directories\n", ucs_pgtable_num_regions(&table), dirs);
    ucs_pgtable_cleanup(&table);
}

/* ---- objects in strides, functions in pieces ---- */

static void strides(void)
{
    ucs_strided_alloc_t sa;
    char *all[1000];
    int i, k, wrong = 0;

    ucs_strided_alloc_init(&sa, 400, 3);
    for (i = 0; i < 1000; i++) {
        all[i] = ucs_strided_alloc_get(&sa, "test");
        for (k = 0; k < 3; k++) memset(all[i] + k * UCS_STRIDED_ALLOC_STRIDE, i + k, 400);
    }
    for (i = 0; i < 1000; i++)
        for (k = 0; k < 3; k++) {
            char *at = all[i] + k * UCS_STRIDED_ALLOC_STRIDE;
            wrong += at[0] != (char)(i + k) || at[399] != (char)(i + k);
        }
    printf("strides: %u in use, %d wrong\n", ucs_strided_alloc_inuse_count(&sa), wrong);
    ucs_strided_alloc_put(&sa, all[5]);
    printf("the last one comes first: %d\n", ucs_strided_alloc_get(&sa, "test") == all[5]);
    for (i = 0; i < 1000; i++) ucs_strided_alloc_put(&sa, all[i]);
    printf("strides: %u in use\n", ucs_strided_alloc_inuse_count(&sa));
    ucs_strided_alloc_cleanup(&sa);
}

static void values(const char *what, const ucs_piecewise_func_t *f)
{
    static const size_t x[] = {0, 1, 99, 100, 101, 150, 199, 200, 201, 1000, 5000, SIZE_MAX};
    int i;

    printf("%s:", what);
    for (i = 0; i < sizeof x / sizeof *x; i++) printf(" %g", ucs_piecewise_func_apply(f, x[i]));
    printf("\n");
}

static void pieces(void)
{
    ucs_linear_func_t one = {.c = 1, .m = 0}, slope = {.c = 0, .m = 2};
    ucs_piecewise_func_t f, g;

    printf("pieces: %s %s\n", name(ucs_piecewise_func_init(&f)), name(ucs_piecewise_func_init(&g)));
    values("zero", &f);
    printf("%s\n", name(ucs_piecewise_func_add_range(&f, 100, 199, one)));
    values("one range", &f);
    printf("%s\n", name(ucs_piecewise_func_add_range(&f, 150, 1000, slope)));
    values("two", &f);
    printf("%s\n", name(ucs_piecewise_func_add_range(&f, 0, SIZE_MAX, one)));
    values("all", &f);
    ucs_piecewise_func_add_range(&g, 1, 100, slope);
    ucs_piecewise_func_add_range(&g, 201, SIZE_MAX, one);
    printf("%s\n", name(ucs_piecewise_func_add_inplace(&f, &g)));
    values("sum", &f);
    ucs_piecewise_func_cleanup(&f);
    ucs_piecewise_func_cleanup(&g);
}

/* ---- registrations ---- */

typedef struct {
    ucs_rcache_region_t super;
    unsigned            mark;
} region_t;

static unsigned registered, deregistered, refused;
static int forbidden;

static ucs_status_t mem_reg(void *context, ucs_rcache_t *cache, void *arg, ucs_rcache_region_t *region, uint16_t flags)
{
    if (context != &registered || (region->prot & forbidden)) {
        refused++;
        return UCS_ERR_IO_ERROR;
    }
    registered++;
    ((region_t *)region)->mark = *(unsigned *)arg;
    return UCS_OK;
}

static void mem_dereg(void *context, ucs_rcache_t *cache, ucs_rcache_region_t *region)
{
    deregistered++;
}

static void merge(void *context, ucs_rcache_t *cache, void *arg, ucs_rcache_region_t *region)
{
}

static void dump(void *context, ucs_rcache_t *cache, ucs_rcache_region_t *region, char *text, size_t max)
{
    snprintf(text, max, "-");
}

static int gone;

static void is_gone(void *arg)
{
    gone++;
}

static void *map(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static region_t *get(ucs_rcache_t *cache, void *at, size_t length, size_t align, int prot, unsigned mark)
{
    ucs_rcache_region_t *region = NULL;
    ucs_status_t status         = ucs_rcache_get(cache, at, length, align, prot, &mark, &region);
    printf("get: %s", name(status));
    /* What else is let go where a registration fails is free to differ. */
    if (!forbidden) printf(", registered %u, deregistered %u", registered, deregistered);
    if (status != UCS_OK) {
        printf("\n");
        return NULL;
    }
    printf(", from %+ld to %+ld, mark %u, prot %d\n", (long)(region->super.start - (uintptr_t)at),
           (long)(region->super.end - (uintptr_t)at), ((region_t *)region)->mark, region->prot);
    return (region_t *)region;
}

static void registrations(void)
{
    static const ucs_rcache_ops_t ops = {mem_reg, mem_dereg, merge, dump};
    const int both = PROT_READ | PROT_WRITE;
    ucs_rcache_params_t params;
    ucs_rcache_t *cache;
    region_t *a, *b;
    char *at, *other;
    int i;

    memset(&params, 0xff, sizeof params);
    ucs_rcache_set_default_params(&params);
    printf("defaults: %d %d %d %p %d %lx %zx %zx\n", params.region_struct_size == sizeof(ucs_rcache_region_t), params.ucm_events,
           params.ucm_event_priority, params.context, params.flags, params.max_regions, params.max_size, params.max_unreleased);
    params.ops                = &ops;
    params.region_struct_size = 8;
    printf("too short: %s\n", name(ucs_rcache_create(&params, "test", NULL, &cache)));
    params.region_struct_size = sizeof(region_t);
    params.ucm_events         = UCM_EVENT_VM_UNMAPPED;
    params.context            = &registered;
    printf("create: %s\n", name(ucs_rcache_create(&params, "test", NULL, &cache)));
    at = map(1 << 20);
    a  = get(cache, at, 4096, 16, both, 1);
    b  = get(cache, at, 4096, 16, both, 2);
    printf("same: %d\n", a == b);
    ucs_rcache_region_put(cache, &b->super);
    b = get(cache, at + 100, 50, 16, PROT_READ, 3);
    printf("same: %d\n", a == b);
    ucs_rcache_region_hold(cache, &b->super);
    ucs_rcache_region_put(cache, &b->super);
    ucs_rcache_region_put(cache, &b->super);
    ucs_rcache_region_put(cache, &a->super);
    /* One that overlaps takes its place. */
    a = get(cache, at + 2048, 4096, 16, both, 4);
    ucs_rcache_region_put(cache, &a->super);
    /* Aligned to pages. */
    a = get(cache, at + (512 << 10) + 5, 10, 4096, both, 5);
    ucs_rcache_region_put(cache, &a->super);
    /* Memory that goes while somebody holds it, and comes again. */
    a = get(cache, at, 1 << 20, 16, both, 6);
    munmap(at, 1 << 20);
    other = mmap(at, 1 << 20, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    b     = get(cache, other, 4096, 16, both, 7);
    printf("same: %d\n", a == b);
    ucs_rcache_region_put(cache, &a->super);
    /* Invalidated while it is held. */
    ucs_rcache_region_invalidate(cache, &b->super, is_gone, NULL);
    printf("gone %d\n", gone);
    a = get(cache, other, 4096, 16, both, 8);
    ucs_rcache_region_put(cache, &b->super);
    printf("gone %d\n", gone);
    ucs_rcache_region_put(cache, &a->super);
    /* What is refused. */
    forbidden = PROT_WRITE;
    get(cache, other + 65536, 4096, 16, both, 9);
    a = get(cache, other + 131072, 4096, 16, PROT_READ, 10);
    ucs_rcache_region_put(cache, &a->super);
    get(cache, other + 131072, 8192, 16, PROT_WRITE, 11);
    forbidden = 0;
    ucs_rcache_destroy(cache);
    printf("end: %d left\n", (int)(registered - deregistered));
    /* With a limit the oldest ones go. */
    params.max_regions = 4;
    params.flags       = UCS_RCACHE_FLAG_NEED_LRU_LOCK;
    printf("create: %s\n", name(ucs_rcache_create(&params, "test", NULL, &cache)));
    for (i = 0; i < 20; i++) {
        unsigned before = registered;
        ucs_rcache_region_t *region;
        ucs_rcache_get(cache, other + i * 16384, 4096, 16, both, &before, &region);
        ucs_rcache_region_put(cache, region);
        if (registered - deregistered > 5) printf("WRONG: %u registrations\n", registered - deregistered);
    }
    ucs_rcache_destroy(cache);
    printf("end: %d left, refused %d\n", (int)(registered - deregistered), refused > 0);
}

/* ---- arrays ---- */

typedef struct {
    uint64_t number;
    char more[24];
} element_t;

UCS_ARRAY_DECLARE_TYPE(elements_t, uint16_t, element_t);

static void arrays(void)
{
    elements_t array = UCS_ARRAY_DYNAMIC_INITIALIZER;
    element_t few[4], *element, *old = NULL;
    size_t last = 0, n, wrong = 0;

    for (n = 0; n < 70000; ++n) {
        element = ucs_array_append(&array, break);
        element->number = n;
        if (ucs_array_capacity(&array) != last) {
            last = ucs_array_capacity(&array);
            printf("array of %zu has room for %zu\n", n + 1, last);
        }
    }
    printf("array ends at %zu\n", n);
    n = 0;
    ucs_array_for_each(element, &array) {
        wrong += element->number != n++;
    }
    printf("array: %zu wrong\n", wrong);
    ucs_array_cleanup_dynamic(&array);

    ucs_array_init_fixed(&array, few, 4);
    printf("fixed array: room for 4 %s, for 5 %s\n", name(ucs_array_reserve(&array, 4)), name(ucs_array_reserve(&array, 5)));
    ucs_array_init_dynamic(&array);
    printf("reserve %s", name(ucs_array_reserve(&array, 100)));
    printf(", %u", (unsigned)ucs_array_capacity(&array));
    ucs_array_append(&array, )->number = 5;
    printf(", %s", name(ucs_array_reserve_safe(&array, 1000, &old)));
    printf(", the old storage holds %d, %u\n", (old == NULL) ? -1 : (int)old->number, (unsigned)ucs_array_capacity(&array));
    ucs_array_buffer_free(old);
    ucs_array_cleanup_dynamic(&array);
}

/* ---- network interfaces ---- */

static void bound_to(int family, const void *address, socklen_t length)
{
    int fd        = socket(family, SOCK_STREAM, 0);
    char text[64] = "";
    ucs_status_t status;

    if ((fd < 0) || bind(fd, address, length)) {
        printf("can't be bound\n");
    } else {
        status = ucs_sockaddr_get_ifname(fd, text, sizeof text);
        printf("interface: %s '%s'\n", name(status), text);
        status = ucs_sockaddr_get_ifname(fd, text, 2);
        printf("interface: %s '%s'\n", name(status), text);
    }
    close(fd);
}

static void interfaces(void)
{
    struct sockaddr_in in4   = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in any   = {.sin_family = AF_INET};
    struct sockaddr_in6 in6  = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    char path[256]           = "";
    ucs_status_t status;

    bound_to(AF_INET, &in4, sizeof in4);
    bound_to(AF_INET, &any, sizeof any);
    bound_to(AF_INET6, &in6, sizeof in6);
    printf("no socket: %s\n", name(ucs_sockaddr_get_ifname(-1, path, sizeof path)));
    printf("a file: %s\n", name(ucs_sockaddr_get_ifname(0, path, sizeof path)));
    status = ucs_netif_get_lowest_device_path("lo", path, sizeof path);
    printf("device: %s %s\n", name(status), path);
    status = ucs_netif_get_lowest_device_path("none", path, sizeof path);
    printf("device: %s %s\n", name(status), path);
}

int main(void)
{
    pools();
    sets();
    tables();
    strides();
    pieces();
    registrations();
    arrays();
    interfaces();
    printf("end\n");
    return 0;
}
