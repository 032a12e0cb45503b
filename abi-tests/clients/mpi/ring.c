/* A ring: each message travels once around all ranks, each of which checks and forwards it.
 * usage: ring [largest size in bytes [file]]: with a file again and again, until that is there */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : 4u << 20;
    int next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;
    unsigned char *buf = memory(max + 16);

    for (int over = 0; !over;) {
        for (size_t n = 0; n <= max; n = n < 16 ? n + 1 : n * 2 + (n & 64 ? 1 : 0)) {
            for (unsigned lap = 0; lap < 3; lap++) {
                MPI_Status st;
                int got;
                if (rank == 0) {
                    fill(buf, n, lap);
                    MPI_Send(buf, (int)n, MPI_BYTE, next, (int)lap, MPI_COMM_WORLD);
                }
                memset(buf, 0xee, n + 16);
                MPI_Recv(buf, (int)n + 16, MPI_BYTE, prev, (int)lap, MPI_COMM_WORLD, &st);
                MPI_Get_count(&st, MPI_BYTE, &got);
                EXPECT(got == (int)n && st.MPI_SOURCE == prev && st.MPI_TAG == (int)lap);
                verify(buf, n, lap, "ring");
                untouched(buf + n, 16, 0xee, "after the message");
                if (rank != 0) MPI_Send(buf, (int)n, MPI_BYTE, next, (int)lap, MPI_COMM_WORLD);
            }
        }
        over = argc < 3 || access(argv[2], F_OK) == 0;
        if (argc > 2) MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    passed("ring");
    free(buf);
    finish();
    return 0;
}
