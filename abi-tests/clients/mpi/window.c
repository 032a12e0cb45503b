/* Windows: puts, gets and atomics of all ranks on each other's memory, everything counted exactly.
 * usage: window [rounds]
 *
 * Each part ends with a barrier and sums that hold only if nothing was lost, doubled or torn. */
#include "check.h"

#include <stdint.h>

#define SLOTS 16

static unsigned rounds = 1;

struct win {
    MPI_Win win;
    void *mem;
    size_t bytes;
    int own; /* the memory is ours to free */
};

/* Memory that MPI allocates, or that we bring. */
static struct win window(size_t bytes, int created)
{
    struct win w = {.bytes = bytes, .own = created};
    if (created) {
        w.mem = memory(bytes);
        MPI_Win_create(w.mem, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
    } else {
        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.mem, &w.win);
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w.win);
    memset(w.mem, 0, bytes);
    MPI_Win_unlock(rank, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    return w;
}

static void close_window(struct win *w)
{
    MPI_Win_free(&w->win);
    if (w->own) free(w->mem);
}

/* Every rank takes tickets at every other one; each ticket is given once. */
static void tickets(int created, int shared_epoch)
{
    struct win w = window(SLOTS * 8, created);
    unsigned each = 25 * rounds;
    size_t all = (size_t)each * ranks;
    unsigned char *mine = memory(all), *sum = memory(all);

    for (int target = 0; target < ranks; target++) {
        int64_t one = 1, before = -1, last = -1;
        memset(mine, 0, all);
        if (shared_epoch) MPI_Win_lock_all(0, w.win);
        for (unsigned i = 0; i < each; i++) {
            if (!shared_epoch) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
            MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 8, MPI_SUM, w.win);
            if (shared_epoch) MPI_Win_flush(target, w.win);
            else MPI_Win_unlock(target, w.win);
            if (before <= last || before >= (int64_t)all) DIE("ticket %lld after %lld", (long long)before, (long long)last);
            last = before;
            mine[before] = 1;
        }
        if (shared_epoch) MPI_Win_unlock_all(w.win);
        MPI_Allreduce(mine, sum, (int)all, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
        for (size_t i = 0; i < all; i++)
            if (sum[i] != 1) DIE("ticket %zu of rank %d was given %d times", i, target, sum[i]);
    }
    free(mine);
    free(sum);
    close_window(&w);
}

/* A lock made of compare-and-swap guards a counter that is read, raised and written back. */
static void guarded(int created)
{
    struct win w = window(SLOTS * 8, created);
    unsigned each = 6 * rounds;
    int target = ranks - 1;

    MPI_Win_lock_all(0, w.win);
    for (unsigned i = 0; i < each; i++) {
        int64_t zero = 0, me = rank + 1, was = -1, value;
        int arrived;
        do {
            MPI_Compare_and_swap(&me, &zero, &was, MPI_INT64_T, target, 0, w.win);
            MPI_Win_flush(target, w.win);
            /* OpenMPI's osc ucx serves the other ranks only where it progresses, and does so nowhere in
             * an atomic operation on the rank's own memory: without this the target, spinning here,
             * would keep the holder of the lock from ever releasing it. */
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
        } while (was != 0);
        MPI_Get(&value, 1, MPI_INT64_T, target, 64, 1, MPI_INT64_T, w.win);
        MPI_Win_flush(target, w.win);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, target, 64, 1, MPI_INT64_T, w.win);
        MPI_Win_flush(target, w.win);
        MPI_Compare_and_swap(&zero, &me, &was, MPI_INT64_T, target, 0, w.win);
        MPI_Win_flush(target, w.win);
        if (was != me) DIE("the lock of rank %lld was rank %lld's", (long long)me, (long long)was);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t got = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
    MPI_Get(&got, 1, MPI_INT64_T, target, 64, 1, MPI_INT64_T, w.win);
    MPI_Win_unlock(target, w.win);
    if (got != (int64_t)each * ranks) DIE("counted %lld instead of %lld", (long long)got, (long long)each * ranks);
    close_window(&w);
}

/* The same counter under MPI's own exclusive lock, without atomics. */
static void exclusive(int created)
{
    struct win w = window(SLOTS * 8, created);
    unsigned each = 6 * rounds;
    for (unsigned i = 0; i < each; i++)
        for (int t = 0; t < ranks; t++) {
            int64_t v[2];
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w.win);
            MPI_Get(v, 16, MPI_BYTE, t, 32, 16, MPI_BYTE, w.win);
            MPI_Win_flush(t, w.win);
            if (v[0] != v[1]) DIE("half a change was seen: %lld, %lld", (long long)v[0], (long long)v[1]);
            v[0]++;
            v[1]++;
            MPI_Put(v, 16, MPI_BYTE, t, 32, 16, MPI_BYTE, w.win);
            MPI_Win_unlock(t, w.win);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t v[2];
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    memcpy(v, (char *)w.mem + 32, 16);
    MPI_Win_unlock(rank, w.win);
    EXPECT(v[0] == (int64_t)each * ranks && v[1] == v[0]);
    close_window(&w);
}

/* Accumulate and get_accumulate of several types, operations and lengths, by all ranks at once on the same cells. */
#define KIND(name, ctype, mpitype)                                                              \
    static void sums_##name(struct win *w, int n, unsigned each)                                \
    {                                                                                           \
        ctype *add = memory(sizeof *add * n), *old = memory(sizeof *old * n);                   \
        for (int i = 0; i < n; i++) add[i] = (ctype)(i % 3 + 1);                                \
        MPI_Win_lock_all(0, w->win);                                                            \
        for (unsigned k = 0; k < each; k++)                                                     \
            for (int t = 0; t < ranks; t++) {                                                   \
                if (k % 4 == 3)                                                                 \
                    MPI_Get_accumulate(add, n, mpitype, old, n, mpitype, t, 0, n, mpitype, MPI_SUM, w->win); \
                else                                                                            \
                    MPI_Accumulate(add, n, mpitype, t, 0, n, mpitype, MPI_SUM, w->win);         \
                if (k % 4 == 3) {                                                               \
                    MPI_Win_flush(t, w->win);                                                   \
                    for (int i = 1; i < n; i++)                                                 \
                        if (old[i] > (ctype)(each * ranks) * add[i]) DIE(#name " cell %d is too much", i); \
                }                                                                               \
            }                                                                                   \
        MPI_Win_unlock_all(w->win);                                                             \
        MPI_Barrier(MPI_COMM_WORLD);                                                            \
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w->win);                                      \
        for (int i = 0; i < n; i++)                                                             \
            if (((ctype *)w->mem)[i] != (ctype)(each * ranks) * add[i])                         \
                DIE(#name " cell %d of %d is %g instead of %g", i, n, (double)((ctype *)w->mem)[i], \
                    (double)(each * ranks) * add[i]);                                           \
        memset(w->mem, 0, w->bytes);                                                            \
        MPI_Win_unlock(rank, w->win);                                                           \
        MPI_Barrier(MPI_COMM_WORLD);                                                            \
        free(add);                                                                              \
        free(old);                                                                              \
    }

KIND(int32, int32_t, MPI_INT32_T)
KIND(int64, int64_t, MPI_INT64_T)
KIND(uint8, uint8_t, MPI_UINT8_T)
KIND(double, double, MPI_DOUBLE)

static void accumulate(int created)
{
    static const int lengths[] = {1, 2, 7, 64, 1000, 20000};
    struct win w = window(20000 * 8, created);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        unsigned each = 4 * (n > 100 || rounds < 3 ? 1 : 3);
        sums_int32(&w, n, each);
        sums_int64(&w, n, each);
        sums_double(&w, n, each);
        if (each * ranks * 3 < 256) sums_uint8(&w, n, each);
    }
    close_window(&w);
}

/* Own bits at every rank, in words shared with all others: what they were is told exactly. MPI wants
 * one kind of operation at a time on a location, hence a phase for each. */
static void phase(struct win *w, MPI_Op op, uint64_t operand, uint64_t mine, uint64_t expected)
{
    uint32_t operand32 = (uint32_t)operand;
    MPI_Win_lock_all(0, w->win);
    for (int slot = 0; slot < SLOTS / 2; slot++)
        for (int k = 0; k < ranks; k++) {
            int t = (rank + k) % ranks;
            uint32_t old32 = 0;
            uint64_t old64 = 0;
            MPI_Fetch_and_op(&operand32, &old32, MPI_UINT32_T, t, slot * 16, op, w->win);
            MPI_Fetch_and_op(&operand, &old64, MPI_UINT64_T, t, slot * 16 + 8, op, w->win);
            MPI_Win_flush(t, w->win);
            if ((old64 & mine) != expected || (old32 & (uint32_t)mine) != (uint32_t)expected)
                DIE("own bits were %llx, %x", (unsigned long long)old64, old32);
        }
    MPI_Win_unlock_all(w->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bits(int created)
{
    struct win w = window(SLOTS * 8, created);
    uint64_t mine = 0x11ull << rank | 1ull << (40 + rank);
    EXPECT(ranks <= 4);
    for (unsigned i = 0; i < rounds; i++) {
        phase(&w, MPI_BXOR, mine, mine, 0);
        phase(&w, MPI_BXOR, mine, mine, mine);
        phase(&w, MPI_BOR, mine, mine, 0);
        phase(&w, MPI_BAND, ~mine, mine, mine);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
        untouched(w.mem, w.bytes, 0, "bits");
        MPI_Win_unlock(rank, w.win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close_window(&w);
}

/* Puts of every size into a part of its own at every rank, read back by others. */
static void data(int created)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 1000, 8191, 8192, 65537, 300001};
    size_t part = 300001 + 15;
    struct win w = window(part * ranks, created);
    unsigned char *buf = memory(part), *back = memory(part);
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = sizes[k];
        MPI_Win_lock_all(0, w.win);
        for (int t = 0; t < ranks; t++) {
            fill(buf, n, (unsigned)(rank * 17 + t + (int)k));
            MPI_Put(buf, (int)n, MPI_BYTE, t, (MPI_Aint)(part * rank), (int)n, MPI_BYTE, w.win);
            MPI_Win_flush_local(t, w.win); /* `buf` is ours again */
        }
        MPI_Win_flush_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        /* What the next rank wrote, wherever it lies. */
        int writer = (rank + 1) % ranks;
        for (int t = 0; t < ranks; t++) {
            MPI_Request req;
            memset(back, 0xee, part);
            if (t % 2) {
                MPI_Rget(back, (int)n, MPI_BYTE, t, (MPI_Aint)(part * writer), (int)n, MPI_BYTE, w.win, &req);
                MPI_Wait(&req, MPI_STATUS_IGNORE);
            } else {
                MPI_Get(back, (int)n, MPI_BYTE, t, (MPI_Aint)(part * writer), (int)n, MPI_BYTE, w.win);
                MPI_Win_flush(t, w.win);
            }
            verify(back, n, (unsigned)(writer * 17 + t + (int)k), "what another rank put");
            untouched(back + n, part - n, 0xee, "after what was got");
        }
        MPI_Win_unlock_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(buf);
    free(back);
    close_window(&w);
}

/* Many small puts and gets in flight to all, in one epoch. */
static void burst(int created)
{
    enum { N = 300 };
    struct win w = window(sizeof(uint32_t) * N * ranks, created);
    uint32_t *out = memory(sizeof *out * N), *in = memory(sizeof *in * N * ranks);
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < N; i++) out[i] = (uint32_t)(round * 1000003 + rank * 10007 + i);
        MPI_Win_lock_all(0, w.win);
        for (int i = 0; i < N; i++)
            for (int t = 0; t < ranks; t++)
                MPI_Put(&out[i], 1, MPI_UINT32_T, t, (MPI_Aint)sizeof *out * (rank * N + i), 1, MPI_UINT32_T, w.win);
        MPI_Win_flush_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < N * ranks; i++)
            MPI_Get(&in[i], 1, MPI_UINT32_T, (rank + i) % ranks, (MPI_Aint)sizeof *in * i, 1, MPI_UINT32_T, w.win);
        MPI_Win_flush_all(w.win);
        for (int i = 0; i < N * ranks; i++)
            if (in[i] != (uint32_t)(round * 1000003 + i / N * 10007 + i % N))
                DIE("cell %d of rank %d is %u", i, (rank + i) % ranks, in[i]);
        MPI_Win_unlock_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(out);
    free(in);
    close_window(&w);
}

/* A flush comes before the barrier after which the peer receives a large message that was sent before
 * it: the flush must not wait for that message. */
static void before_a_message(int created)
{
    enum { LONG = 3 << 20 };
    struct win w = window(4096, created);
    unsigned char *out = memory(LONG), *in = memory(LONG);
    int next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;
    MPI_Request sent;
    fill(out, LONG, (unsigned)rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w.win);
    MPI_Isend(out, LONG, MPI_BYTE, next, 5, MPI_COMM_WORLD, &sent);
    MPI_Put(out, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, w.win);
    MPI_Win_flush(next, w.win);
    MPI_Win_flush_all(w.win);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(in, LONG, MPI_BYTE, prev, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify(in, LONG, (unsigned)prev, "a message that was sent before a flush");
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    verify(w.mem, 8, (unsigned)prev, "what was put before the flush");
    MPI_Win_unlock(rank, w.win);
    free(out);
    free(in);
    close_window(&w);
}

/* Rows of a matrix that lie apart, at both ends. */
static void strided(int created)
{
    enum { ROWS = 50, WIDE = 37, STEP = 64 };
    struct win w = window(ROWS * STEP * sizeof(double), created);
    double *local = memory(ROWS * STEP * sizeof(double));
    MPI_Datatype rows;
    MPI_Type_vector(ROWS, WIDE, STEP, MPI_DOUBLE, &rows);
    MPI_Type_commit(&rows);
    int next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;
    for (int i = 0; i < ROWS * STEP; i++) local[i] = rank * 1e6 + i;
    MPI_Win_fence(0, w.win);
    MPI_Put(local, 1, rows, next, 0, 1, rows, w.win);
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < ROWS * STEP; i++)
        if (((double *)w.mem)[i] != (i % STEP < WIDE ? prev * 1e6 + i : 0) && i < (ROWS - 1) * STEP + WIDE)
            DIE("cell %d is %g", i, ((double *)w.mem)[i]);
    memset(local, 0, ROWS * STEP * sizeof(double));
    MPI_Win_fence(0, w.win);
    MPI_Get(local, 1, rows, next, 0, 1, rows, w.win);
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < (ROWS - 1) * STEP + WIDE; i++)
        if (local[i] != (i % STEP < WIDE ? rank * 1e6 + i : 0)) DIE("got cell %d is %g", i, local[i]);
    MPI_Type_free(&rows);
    free(local);
    close_window(&w);
}

/* Post, start, complete, wait, round the ring. */
static void generalized(int created)
{
    struct win w = window(4096, created);
    int next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;
    unsigned char buf[4096];
    MPI_Group all, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &prev, &from);
    for (unsigned i = 0; i < 5 * rounds; i++) {
        fill(buf, sizeof buf, i * 7 + (unsigned)rank);
        MPI_Win_post(from, 0, w.win);
        MPI_Win_start(to, 0, w.win);
        MPI_Put(buf, sizeof buf, MPI_BYTE, next, 0, sizeof buf, MPI_BYTE, w.win);
        MPI_Win_complete(w.win);
        MPI_Win_wait(w.win);
        verify(w.mem, sizeof buf, i * 7 + (unsigned)prev, "post/start");
    }
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    close_window(&w);
}

/* A window without memory of its own, to which pieces are attached and detached. */
static void dynamic(void)
{
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int next = (rank + 1) % ranks;
    for (unsigned i = 0; i < 3 + rounds; i++) {
        size_t n = 1000 + 70001 * i % 200000;
        unsigned char *mem = memory(n), *buf = memory(n);
        MPI_Aint at, theirs;
        memset(mem, 0, n);
        MPI_Win_attach(win, mem, (MPI_Aint)n);
        MPI_Get_address(mem, &at);
        MPI_Sendrecv(&at, 1, MPI_AINT, (rank + ranks - 1) % ranks, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        fill(buf, n, i + (unsigned)rank);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Put(buf, (int)n, MPI_BYTE, next, theirs, (int)n, MPI_BYTE, win);
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        verify(mem, n, i + (unsigned)((rank + ranks - 1) % ranks), "attached memory");
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, mem);
        free(mem);
        free(buf);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (argc > 1) rounds = (unsigned)atoi(argv[1]);
    int allocated = argc > 2 && !strcmp(argv[2], "allocated"); /* only memory that MPI allocates */
    for (int created = 0; created < 2 - allocated; created++) {
        tickets(created, 0);
        tickets(created, 1);
        passed("tickets");
        guarded(created);
        passed("guarded");
        exclusive(created);
        passed("exclusive");
        accumulate(created);
        passed("accumulate");
        bits(created);
        passed("bits");
        data(created);
        passed("data");
        burst(created);
        passed("burst");
        before_a_message(created);
        passed("before a message");
        strided(created);
        passed("strided");
        generalized(created);
        passed("generalized");
    }
    if (!allocated) {
        dynamic();
        passed("dynamic");
    }
    finish();
    return 0;
}
