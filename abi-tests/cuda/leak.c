/* Whether a mapping of another process's device memory goes with the key that it was made for.
 *
 *     leak BYTES ROUNDS get|ptr|never [DEVICE]
 *
 * The parent allocates device memory and sends its key; the child unpacks the key, reads by get or
 * through a pointer or not at all, and destroys the key; the parent frees. Then as much memory must
 * be free as before. The child works on DEVICE (0). */
#define _GNU_SOURCE
#include "two.h"

enum { LOOKED_AT = 1 << 16 };

static unsigned char host[LOOKED_AT];

static void put_pattern(CUdeviceptr at, size_t n, unsigned seed)
{
    fill(host, LOOKED_AT, seed);
    CU(cuMemcpyHtoD_v2(at, host, LOOKED_AT));
    CU(cuMemcpyHtoD_v2(at + n - LOOKED_AT, host, LOOKED_AT));
}

static void look_for_pattern(CUdeviceptr at, size_t n, unsigned seed)
{
    CU(cuMemcpyDtoH_v2(host, at, LOOKED_AT));
    if (!same(host, LOOKED_AT, seed)) DIE("round %u: wrong contents", seed);
    CU(cuMemcpyDtoH_v2(host, at + n - LOOKED_AT, LOOKED_AT));
    if (!same(host, LOOKED_AT, seed)) DIE("round %u: wrong contents at the end", seed);
}

static void owner(size_t n, int rounds)
{
    meet(); /* the reader has its own memory */
    size_t before = free_memory(), first = 0;
    int again = 0;
    for (int i = 0; i < rounds; i++) {
        CUdeviceptr at;
        CU(cuMemAlloc_v2(&at, n));
        again += at == first;
        first = i == 0 ? at : first;
        put_pattern(at, n, i);
        ucp_mem_h m = map_memory(at, n);
        send_key(m, at);
        serve();
        MUST(ucp_mem_unmap(A.ctx, m));
        CU(cuMemFree_v2(at));
    }
    printf("rounds at the same address: %s\n", again == rounds - 1 ? "all" : "some");
    say_free(before);
    serve();
}

static void reader(size_t n, int rounds, const char *how)
{
    CUdeviceptr to;
    CU(cuMemAlloc_v2(&to, n));
    meet();
    for (int i = 0; i < rounds; i++) {
        struct offer o = take_offer();
        ucp_rkey_h key = unpack(&o);
        if (!strcmp(how, "get")) {
            MUST(settled(ucp_get_nbx(A.ep, (void *)to, n, o.at, key, &plain)));
            look_for_pattern(to, n, i);
        } else if (!strcmp(how, "ptr")) {
            void *p = NULL;
            MUST(ucp_rkey_ptr(key, o.at, &p));
            look_for_pattern((CUdeviceptr)p, n, i);
        }
        ucp_rkey_destroy(key);
        meet();
    }
    meet();
    CU(cuMemFree_v2(to));
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    size_t n = strtoull(argv[1], NULL, 0);
    int rounds = atoi(argv[2]), device = argc > 4 ? atoi(argv[4]) : 0;
    split();
    use_device(child ? 0 : device);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    open_side(&A);
    connect_both();
    warm_up();
    if (child) owner(n, rounds);
    else reader(n, rounds, argv[3]);
    close_both();
    ucp_cleanup(A.ctx);
    end_both();
    return finish();
}
