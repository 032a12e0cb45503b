/* The first rank gives up the request of a large send and goes to MPI_Finalize; the other one receives meanwhile, which
 * MPI allows. (MPICH hangs here over genuine UCX's TCP: closing waits for nothing there, and then nobody calls
 * progress.) */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { SIZE = 4 << 20 };
    start(&argc, &argv);
    EXPECT(ranks == 2);
    unsigned char *buf = memory(SIZE);
    if (rank == 0) {
        MPI_Request r;
        fill(buf, SIZE, 5);
        MPI_Isend(buf, SIZE, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &r);
        MPI_Request_free(&r);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        usleep(500000);
        MPI_Recv(buf, SIZE, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(buf, SIZE, 5, "what was sent before the end");
    }
    MPI_Finalize();
    if (rank == 0) printf("ok end\n");
    return 0;
}
