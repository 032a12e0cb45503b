/* Whether a mapping of another process's device memory goes with the key that it was made for.
 *
 *     leak BYTES ROUNDS get|ptr|never [DEVICE]
 *
 * The parent allocates device memory and sends its key; the child unpacks the key, reads by get or
 * through a pointer or not at all, and destroys the key; the parent frees. Then as much memory must
 * be free as before. The child works on DEVICE (0). */
#define _GNU_SOURCE
#include "pair.h"
#include "driver.h"
#include <sys/wait.h>

enum { LOOKED_AT = 1 << 16 };

struct offer {
    uint64_t at;
    size_t len;
    char key[1024];
};

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

/* Progress until the other process says that it is there. */
static void serve(void)
{
    char c;
    take_either(fd, &c, 1, 1);
    give(&c, 1);
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
        ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                  .address = (void *)at, .length = n};
        ucp_mem_h m;
        MUST(ucp_mem_map(A.ctx, &p, &m));
        void *key;
        struct offer o = {.at = at};
        MUST(ucp_rkey_pack(A.ctx, m, &key, &o.len));
        HOLDS(o.len <= sizeof o.key);
        memcpy(o.key, key, o.len);
        ucp_rkey_buffer_release(key);
        give(&o, sizeof o);
        serve();
        MUST(ucp_mem_unmap(A.ctx, m));
        CU(cuMemFree_v2(at));
    }
    size_t after = free_memory();
    printf("rounds at the same address: %s\n", again == rounds - 1 ? "all" : "some");
    if (after == before) printf("free memory: as before\n");
    else printf("free memory: %zu of %zu bytes less\n", before - after, n);
    serve();
}

static void reader(size_t n, int rounds, const char *how)
{
    CUdeviceptr to;
    CU(cuMemAlloc_v2(&to, n));
    meet();
    for (int i = 0; i < rounds; i++) {
        struct offer o;
        take_either(fd, &o, sizeof o, 1);
        ucp_rkey_h key;
        MUST(ucp_ep_rkey_unpack(A.ep, o.key, &key));
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
    int rounds = atoi(argv[2]), device = argc > 4 ? atoi(argv[4]) : 0, two[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0);
    pid_t child = fork();
    fd = two[child == 0];
    close(two[child != 0]);
    use_device(child ? 0 : device);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    open_side(&A);
    char other[4096];
    HOLDS(A.len <= sizeof other);
    memcpy(other, A.addr, A.len);
    give(other, sizeof other);
    take(other, sizeof other);
    connect_to(&A, (ucp_address_t *)other);
    if (child) owner(n, rounds);
    else reader(n, rounds, argv[3]);
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain);
    MUST(settled(r));
    /* Both are in progress until both have closed. */
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    if (!child) _exit(0);
    int status;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    return finish();
}
