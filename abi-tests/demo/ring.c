/*
 * A plain MPI program that knows nothing of UCX: a message goes around a ring and grows, every rank
 * checks and changes it; then the first two ranks measure the latency. At its end rank 0 prints
 * which files with UCX's names it has mapped.
 *
 *   ring [-l]      -l: measure latencies
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, size_t size, int rank)
{
    fprintf(stderr, "rank %d: %s with %zu bytes\n", rank, what, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Byte i of the message after `hops` hops. */
static unsigned char pattern(size_t i, size_t size, int hops)
{
    return (unsigned char)(i * 7 + size + hops);
}

static void ring(unsigned char *buffer, size_t size, int rank, int ranks)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Status status;
    int received;
    size_t i;

    if (rank == 0) {
        for (i = 0; i < size; ++i) {
            buffer[i] = pattern(i, size, 0);
        }
        MPI_Send(buffer, (int)size, MPI_BYTE, to, 42, MPI_COMM_WORLD);
        memset(buffer, 0, size);
    }

    MPI_Recv(buffer, (int)size, MPI_BYTE, from, 42, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &received);
    if ((size_t)received != size) {
        fail("wrong length", size, rank);
    }
    for (i = 0; i < size; ++i) {
        if (buffer[i] != pattern(i, size, (rank == 0) ? ranks - 1 : rank - 1)) {
            fail("wrong data", size, rank);
        }
        buffer[i]++;
    }
    if (rank != 0) {
        MPI_Send(buffer, (int)size, MPI_BYTE, to, 42, MPI_COMM_WORLD);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Half a round trip in microseconds: the median of 11 batches. */
static double latency(unsigned char *buffer, int size, int rank)
{
    int batch = (size <= 8192) ? 500 : (size <= 65536) ? 100 : 20, i, n;
    double took[11], start;

    for (n = 0; n < 11; ++n) {
        start = MPI_Wtime();
        for (i = 0; i < batch; ++i) {
            if (rank == 0) {
                MPI_Send(buffer, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(buffer, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(buffer, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(buffer, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            }
        }
        took[n] = (MPI_Wtime() - start) / batch / 2 * 1e6;
    }
    qsort(took, 11, sizeof(took[0]), compare);
    return took[5];
}

static void print_mapped_libraries(void)
{
    char line[4096], last[4096] = "", *path;
    FILE *maps = fopen("/proc/self/maps", "r");

    if (maps == NULL) {
        return;
    }
    while (fgets(line, sizeof(line), maps) != NULL) {
        path = strchr(line, '/');
        if ((path != NULL) && (strstr(path, "/libuc") != NULL) && strcmp(path, last)) {
            strcpy(last, path);
            printf("mapped %s", path);
        }
    }
    fclose(maps);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 1024, 8192, 65536, 1 << 20};
    size_t size, largest = 4 << 20;
    unsigned char *buffer;
    int rank, ranks, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    buffer = malloc(largest);
    if (buffer == NULL) {
        fail("no memory", largest, rank);
    }

    ring(buffer, 0, rank, ranks);
    for (size = 1; size <= largest; size *= 2) {
        ring(buffer, size, rank, ranks);
        ring(buffer, size - 1, rank, ranks);
    }
    if (rank == 0) {
        printf("ring of %d ranks: every byte right, from 0 bytes to %zu\n", ranks, largest);
    }

    if ((argc > 1) && !strcmp(argv[1], "-l") && (rank < 2)) {
        for (n = 0; n < (int)(sizeof(sizes) / sizeof(sizes[0])); ++n) {
            double us = latency(buffer, sizes[n], rank);

            if (rank == 0) {
                printf("latency %d %.3f\n", sizes[n], us);
            }
        }
    }

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        print_mapped_libraries();
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
