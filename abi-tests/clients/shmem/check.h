/* What the OpenSHMEM programs here share: data that depends on who wrote it and where it lies. */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, pes;

#define DIE(...)                                           \
    do {                                                   \
        fprintf(stderr, "PE %d: ", me);                    \
        fprintf(stderr, __VA_ARGS__);                      \
        fprintf(stderr, " (%s:%d)\n", __FILE__, __LINE__); \
        fflush(stderr);                                    \
        shmem_global_exit(3);                              \
    } while (0)

#define EXPECT(cond)                                  \
    do {                                              \
        if (!(cond)) DIE("does not hold: %s", #cond); \
    } while (0)

static inline unsigned char pattern(unsigned seed, size_t i)
{
    return (unsigned char)((i * 2654435761u >> 7) + i + seed * 101u);
}

static inline void fill(void *buf, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) ((unsigned char *)buf)[i] = pattern(seed, i);
}

static inline void verify(const void *buf, size_t n, unsigned seed, const char *what)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++)
        if (p[i] != pattern(seed, i)) DIE("%s: byte %zu of %zu is %u instead of %u", what, i, n, p[i], pattern(seed, i));
}

static inline void untouched(const void *buf, size_t n, unsigned char v, const char *what)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++)
        if (p[i] != v) DIE("%s: byte %zu of %zu was written", what, i, n);
}

/* Symmetric memory, zeroed. */
static inline void *symmetric(size_t n)
{
    void *p = shmem_malloc(n);
    if (!p) DIE("no symmetric memory");
    memset(p, 0, n);
    shmem_barrier_all();
    return p;
}

static inline void passed(const char *what)
{
    shmem_barrier_all();
    if (me == 0) {
        printf("ok %s\n", what);
        fflush(stdout);
    }
}

static inline void start(void)
{
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
}

static inline void finish(void)
{
    passed("end");
    shmem_finalize();
}

#endif
