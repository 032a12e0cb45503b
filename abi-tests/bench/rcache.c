/* Times lookups in the registration cache of UCS: "value NANOSECONDS" of one that is there. */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include <ucm/api/ucm.h>
#include <ucs/memory/rcache.h>

static ucs_status_t add(void *context, ucs_rcache_t *rcache, void *arg, ucs_rcache_region_t *region, uint16_t flags)
{
    return UCS_OK;
}

static void drop(void *context, ucs_rcache_t *rcache, ucs_rcache_region_t *region)
{
}

static void merge(void *context, ucs_rcache_t *rcache, void *arg, ucs_rcache_region_t *region)
{
}

static void dump(void *context, ucs_rcache_t *rcache, ucs_rcache_region_t *region, char *text, size_t max)
{
}

int main(void)
{
    static const ucs_rcache_ops_t ops = {add, drop, merge, dump};
    const int count = 1000000;
    ucs_rcache_params_t params;
    ucs_rcache_t *rcache;
    double best = 1e9;
    void *at;
    int run, i;

    ucs_rcache_set_default_params(&params);
    params.region_struct_size = sizeof(ucs_rcache_region_t);
    params.ucm_events         = UCM_EVENT_VM_UNMAPPED;
    params.ucm_event_priority = 1000;
    params.ops                = &ops;
    params.context            = NULL;
    if (ucs_rcache_create(&params, "bench", NULL, &rcache) != UCS_OK) {
        return 1;
    }
    at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (run = 0; run < 9; ++run) {
        struct timespec a, b;
        double time;

        clock_gettime(CLOCK_MONOTONIC, &a);
        for (i = 0; i < count; ++i) {
            ucs_rcache_region_t *region;

            if (ucs_rcache_get(rcache, at, 4096, 16, PROT_READ | PROT_WRITE, NULL, &region) != UCS_OK) {
                return 1;
            }
            ucs_rcache_region_put(rcache, region);
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        time = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / count;
        if (time < best) {
            best = time;
        }
    }
    printf("value %.2f\n", best);
    return 0;
}
