/* Memory that is mapped, sent, unmapped and mapped anew at the same address: what arrives is always
 * what is there now, whatever is remembered of registrations: remap [ROUNDS [BYTES]] */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    EXPECT(ranks == 2);
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, again = 0;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 0) : 1 << 20;
    void *last = NULL;
    for (int i = 0; i < rounds; i++) {
        size_t n = i % 2 ? bytes : bytes / 4;
        unsigned char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(p != MAP_FAILED);
        again += p == last;
        last = p;
        /* In turn one sends to the other, so that both have sent from and received into it. */
        if (i % 4 / 2 == rank) {
            fill(p, n, i);
            EXPECT(MPI_Send(p, n, MPI_BYTE, !rank, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        } else {
            EXPECT(MPI_Recv(p, n, MPI_BYTE, !rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            verify(p, n, i, "memory mapped anew");
        }
        EXPECT(munmap(p, bytes) == 0);
    }
    /* Otherwise nothing was shown. */
    EXPECT(again > rounds / 2);
    finish();
    return 0;
}
