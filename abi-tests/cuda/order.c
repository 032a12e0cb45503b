/* What a program does in memory of a device by calls that return before they are done is done before
 * UCX reads the memory, as it is before a copy of the program's own.
 *
 *     order KIND...      kinds of memory.h */
#define _GNU_SOURCE
#include "capi.h"
#include "memory.h"

enum { SIZE = 1 << 20, ROUNDS = 10 };

static unsigned char *host;

static void arrives(const char *what, const struct memory *m, unsigned char value)
{
    memset(host, 0, SIZE);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, host, SIZE, 7, ALL, &plain);
    MUST(finished(ucp_tag_send_nbx(A.ep, (void *)m->at, SIZE, 7, &plain)));
    MUST(finished(r));
    if (!untouched(host, SIZE, value)) DIE("%s, %s: what was there before was sent", m->kind, what);
}

static void with(const char *kind)
{
    struct memory one = new_memory(kind, SIZE), other = new_memory(kind, SIZE);
    /* UCX has seen the memory. */
    CU(cuMemsetD8_v2(one.at, 200, SIZE));
    CU(cuCtxSynchronize());
    arrives("at first", &one, 200);
    for (int i = 1; i <= ROUNDS; i++) {
        CU(cuMemsetD8_v2(one.at, i, SIZE));
        arrives("filled", &one, i);
        CU(cuMemsetD8_v2(other.at, i + 100, SIZE));
        CU(cuMemcpyDtoD_v2(one.at, other.at, SIZE));
        arrives("copied", &one, i + 100);
    }
    give_memory_back(&one);
    give_memory_back(&other);
    printf("%s: in order\n", kind);
}

int main(int argc, char **argv)
{
    host = malloc(SIZE);
    use_device(0);
    features = UCP_FEATURE_TAG;
    pair_open(0);
    for (int i = 1; i < argc; i++) with(argv[i]);
    pair_close();
    end_pool();
    return finish();
}
