/* Everybody to everybody, through collectives and through non-blocking sends and receives.
 * usage: alltoall [largest block in bytes] */
#include "check.h"

static unsigned seed(int from, int to) { return (unsigned)(from * 31 + to); }

static void collective(size_t n)
{
    unsigned char *out = memory(n * ranks), *in = memory(n * ranks);
    for (int r = 0; r < ranks; r++) fill(out + r * n, n, seed(rank, r));
    memset(in, 0, n * ranks);
    MPI_Alltoall(out, (int)n, MPI_BYTE, in, (int)n, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) verify(in + r * n, n, seed(r, rank), "alltoall");

    /* Rank i sends n * (i + 1) / ranks bytes to each. */
    int *counts = memory(sizeof(int) * ranks * 4), *displs = counts + ranks;
    int *rcounts = displs + ranks, *rdispls = rcounts + ranks;
    for (int r = 0; r < ranks; r++) {
        counts[r] = (int)(n * (rank + 1) / ranks);
        rcounts[r] = (int)(n * (r + 1) / ranks);
        displs[r] = rdispls[r] = (int)(n * r);
    }
    memset(in, 0xee, n * ranks);
    MPI_Alltoallv(out, counts, displs, MPI_BYTE, in, rcounts, rdispls, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        verify(in + r * n, rcounts[r], seed(r, rank), "alltoallv");
        untouched(in + r * n + rcounts[r], n - rcounts[r], 0xee, "after the block");
    }
    free(counts);
    free(out);
    free(in);
}

/* Bursts in flight at once, received in the reverse order of their posting. */
static void crossed(size_t n, int burst)
{
    int total = ranks * burst;
    unsigned char *out = memory(n * total), *in = memory(n * total);
    MPI_Request *req = memory(sizeof *req * total * 2);
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < burst; k++) fill(out + (r * burst + k) * n, n, seed(rank, r) + k);
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < burst; k++)
            MPI_Isend(out + (r * burst + k) * n, (int)n, MPI_BYTE, r, k, MPI_COMM_WORLD, &req[r * burst + k]);
    for (int r = ranks - 1; r >= 0; r--)
        for (int k = burst - 1; k >= 0; k--)
            MPI_Irecv(in + (r * burst + k) * n, (int)n, MPI_BYTE, r, k, MPI_COMM_WORLD,
                      &req[total + r * burst + k]);
    MPI_Waitall(total * 2, req, MPI_STATUSES_IGNORE);
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < burst; k++)
            verify(in + (r * burst + k) * n, n, seed(r, rank) + k, "crossed");
    free(req);
    free(out);
    free(in);
}

/* Sums whose result every rank knows. */
static void reductions(void)
{
    for (int n = 1; n <= 100000; n *= 10) {
        long *a = memory(sizeof *a * n), *b = memory(sizeof *b * n);
        for (int i = 0; i < n; i++) a[i] = (long)i * (rank + 1);
        MPI_Allreduce(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++) EXPECT(b[i] == (long)i * ranks * (ranks + 1) / 2);
        if (rank == n % ranks) memset(b, 0x5a, sizeof *b * n);
        else memset(b, 0, sizeof *b * n);
        MPI_Bcast(b, n, MPI_LONG, n % ranks, MPI_COMM_WORLD);
        untouched(b, sizeof *b * n, 0x5a, "bcast");
        free(a);
        free(b);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : 2u << 20;
    for (size_t n = 0; n <= max; n = n ? n * 4 : 1) collective(n);
    passed("alltoall");
    for (size_t n = 0; n <= max / 2; n = n ? n * 8 : 1) crossed(n, n > 65536 ? 3 : 24);
    passed("crossed");
    reductions();
    passed("reductions");
    finish();
    return 0;
}
