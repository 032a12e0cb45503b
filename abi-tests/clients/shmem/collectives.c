/* Barriers, broadcasts, reductions, collect and all-to-all, over all PEs and over every second one. */
#include "check.h"

#define N 1000
#define WORK (N / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE)

/* An array in use by one collective may not be used by the next: each has two, in turn. */
static long bcast[2][SHMEM_BCAST_SYNC_SIZE], reduce[2][SHMEM_REDUCE_SYNC_SIZE], collect[2][SHMEM_COLLECT_SYNC_SIZE],
    alltoall[2][SHMEM_ALLTOALL_SYNC_SIZE], barrier[SHMEM_BARRIER_SYNC_SIZE];
static long long_work[2][WORK];
static double double_work[2][WORK];

static void fresh(long *sync, int n)
{
    for (int i = 0; i < n; i++) sync[i] = SHMEM_SYNC_VALUE;
}

/* The members are PEs 0, step, 2 * step, ...; called by these alone. `src` and `dst` hold N longs a PE. */
static void among(int log_step, long *src, long *dst, double *dsrc, double *ddst)
{
    int step = 1 << log_step, members = (pes + step - 1) / step, index = me / step;
    for (int round = 0; round < 10; round++) {
        int turn = round % 2, root = round % members;
        size_t n = round < 5 ? 1 + (size_t)round * 7 : N;

        for (size_t i = 0; i < n; i++) src[i] = index == root ? (long)(round * 1000 + i) : -1, dst[i] = -2;
        shmem_barrier(0, log_step, members, barrier);
        shmem_broadcast64(dst, src, n, root, 0, log_step, members, bcast[turn]);
        for (size_t i = 0; i < n; i++) EXPECT(dst[i] == (index == root ? -2 : (long)(round * 1000 + i)));

        for (size_t i = 0; i < n; i++) src[i] = (long)i + index, dsrc[i] = 1.0 / (index + 1) + (double)i;
        shmem_barrier(0, log_step, members, barrier);
        shmem_long_sum_to_all(dst, src, (int)n, 0, log_step, members, long_work[turn], reduce[turn]);
        for (size_t i = 0; i < n; i++) EXPECT(dst[i] == (long)i * members + members * (members - 1) / 2);
        shmem_barrier(0, log_step, members, barrier);
        shmem_double_max_to_all(ddst, dsrc, (int)n, 0, log_step, members, double_work[turn], reduce[!turn]);
        for (size_t i = 0; i < n; i++) EXPECT(ddst[i] == 1.0 + (double)i);
        shmem_barrier(0, log_step, members, barrier);

        for (size_t i = 0; i < n + (size_t)members; i++) src[i] = index * 100000 + (long)i;
        shmem_barrier(0, log_step, members, barrier);
        shmem_fcollect64(dst, src, n, 0, log_step, members, collect[turn]);
        for (int m = 0; m < members; m++)
            for (size_t i = 0; i < n; i++) EXPECT(dst[m * n + i] == m * 100000 + (long)i);
        shmem_barrier(0, log_step, members, barrier);

        /* Each member brings another number of elements. */
        size_t mine = n / 2 + 1 + (size_t)index, at = 0;
        shmem_collect64(dst, src, mine, 0, log_step, members, collect[!turn]);
        for (int m = 0; m < members; m++)
            for (size_t i = 0; i < n / 2 + 1 + (size_t)m; i++) EXPECT(dst[at++] == m * 100000 + (long)i);
        shmem_barrier(0, log_step, members, barrier);

        size_t each = n / (size_t)members + 1;
        for (int m = 0; m < members; m++)
            for (size_t i = 0; i < each; i++) src[m * each + i] = index * 10000 + m * 1000 + (long)i % 1000;
        shmem_barrier(0, log_step, members, barrier);
        shmem_alltoall64(dst, src, each, 0, log_step, members, alltoall[turn]);
        for (int m = 0; m < members; m++)
            for (size_t i = 0; i < each; i++) EXPECT(dst[m * each + i] == m * 10000 + index * 1000 + (long)i % 1000);
        shmem_barrier(0, log_step, members, barrier);
    }
}

int main(void)
{
    start();
    size_t cells = (size_t)(N + 8) * (size_t)pes;
    long *src = symmetric(sizeof *src * cells), *dst = symmetric(sizeof *dst * cells);
    double *dsrc = symmetric(sizeof *dsrc * cells), *ddst = symmetric(sizeof *ddst * cells);
    for (int i = 0; i < 2; i++) {
        fresh(bcast[i], SHMEM_BCAST_SYNC_SIZE);
        fresh(reduce[i], SHMEM_REDUCE_SYNC_SIZE);
        fresh(collect[i], SHMEM_COLLECT_SYNC_SIZE);
        fresh(alltoall[i], SHMEM_ALLTOALL_SYNC_SIZE);
    }
    fresh(barrier, SHMEM_BARRIER_SYNC_SIZE);
    shmem_barrier_all();

    among(0, src, dst, dsrc, ddst);
    passed("all");
    if (me % 2 == 0) among(1, src, dst, dsrc, ddst);
    passed("every second one");

    /* Nobody leaves a barrier before the last has come. */
    long *count = symmetric(sizeof *count);
    for (long i = 1; i <= 100; i++) {
        shmem_long_atomic_inc(count, 0);
        shmem_barrier_all();
        EXPECT(shmem_long_atomic_fetch(count, 0) == i * pes);
        shmem_sync_all();
    }
    passed("barriers");
    finish();
    return 0;
}
