/* Point-to-point loops in the manner of the OSU benchmarks, on two ranks: latency (half a round
 * trip, microseconds) and windowed bandwidth (MB/s). usage: pairs SIZE ITERATIONS LATENCY|BANDWIDTH
 * Rank 0 pins itself to the first core that the process may use, rank 1 to the last. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 64 };

static void pin(int rank)
{
    cpu_set_t set;
    int nproc = (int)sysconf(_SC_NPROCESSORS_ONLN);
    CPU_ZERO(&set);
    CPU_SET(rank == 0 ? 0 : nproc - 1, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static double latency(int rank, char *buf, int size, int count, double *times)
{
    for (int i = 0; i < count; i++) {
        double start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(buf, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(buf, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buf, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buf, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
        times[i] = (MPI_Wtime() - start) / 2;
    }
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2] * 1e6;
}

static double bandwidth(int rank, char *buf, int size, int count)
{
    MPI_Request requests[WINDOW];
    double start = MPI_Wtime();
    for (int i = 0; i < count; i += WINDOW) {
        for (int k = 0; k < WINDOW; k++) {
            if (rank == 0) MPI_Isend(buf, size, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[k]);
            else MPI_Irecv(buf, size, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[k]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) MPI_Recv(buf, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(buf, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    }
    int rounds = (count + WINDOW - 1) / WINDOW;
    return (double)size * rounds * WINDOW / (MPI_Wtime() - start) / 1e6;
}

int main(int argc, char **argv)
{
    int rank, size, count;
    if (argc != 4) return 2;
    size = atoi(argv[1]);
    count = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(rank);
    char *buf = malloc(size + 1);
    double *times = malloc(count * sizeof *times);
    memset(buf, rank, size + 1);
    latency(rank, buf, size, count / 10 + 1, times); /* warm up */
    double value = argv[3][0] == 'L' ? latency(rank, buf, size, count, times)
                                     : bandwidth(rank, buf, size, count);
    if (rank == 0) printf("value %.3f\n", value);
    free(buf);
    free(times);
    MPI_Finalize();
    return 0;
}
