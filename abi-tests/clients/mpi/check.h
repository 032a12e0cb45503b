/* What the MPI programs here share: data whose every byte depends on who sent it and where it lies,
 * and a check that ends the program with one line that names the first wrong byte. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define DIE(...)                                             \
    do {                                                     \
        fprintf(stderr, "rank %d: ", rank);                  \
        fprintf(stderr, __VA_ARGS__);                        \
        fprintf(stderr, " (%s:%d)\n", __FILE__, __LINE__);   \
        fflush(stderr);                                      \
        MPI_Abort(MPI_COMM_WORLD, 3);                        \
        exit(3);                                             \
    } while (0)

#define EXPECT(cond)                                \
    do {                                            \
        if (!(cond)) DIE("does not hold: %s", #cond); \
    } while (0)

static inline unsigned char pattern(unsigned seed, size_t i)
{
    return (unsigned char)((i * 2654435761u >> 7) + i + seed * 101u);
}

static void fill(void *buf, size_t n, unsigned seed)
{
    unsigned char *p = buf;
    for (size_t i = 0; i < n; i++) p[i] = pattern(seed, i);
}

static void verify(const void *buf, size_t n, unsigned seed, const char *what)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++)
        if (p[i] != pattern(seed, i))
            DIE("%s: byte %zu of %zu is %u instead of %u", what, i, n, p[i], pattern(seed, i));
}

/* That all N bytes are still V: nothing was written where nothing belongs. */
static void untouched(const void *buf, size_t n, unsigned char v, const char *what)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++)
        if (p[i] != v) DIE("%s: byte %zu of %zu was written", what, i, n);
}

static void *memory(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p) DIE("no memory");
    return p;
}

/* One line from rank 0 when every rank has come this far. */
static void passed(const char *what)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("ok %s\n", what);
        fflush(stdout);
    }
}

static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void finish(void)
{
    passed("end");
    MPI_Finalize();
}

#endif
