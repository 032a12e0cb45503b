/* Puts and gets of every form between all PEs, in the symmetric heap and in static data; shmem_ptr. */
#include "check.h"

#define MAX (1u << 20)

static unsigned char fixed[1 << 16]; /* static data is symmetric too */

/* Every PE writes a part of its own at every PE, and reads what the next one wrote. */
static void blocks(unsigned char *space, size_t part)
{
    static const size_t sizes[] = {0, 1, 3, 8, 16, 63, 64, 100, 4095, 8192, 65537, 0};
    unsigned char *buf = malloc(part), *back = malloc(part);
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = k + 1 == sizeof sizes / sizeof *sizes ? part - 16 : sizes[k];
        if (n > part - 16) continue;
        for (int nbi = 0; nbi < 2; nbi++) {
            for (int t = 0; t < pes; t++) {
                fill(buf, n, (unsigned)(me * 17 + t + (int)k + nbi));
                if (nbi) shmem_putmem_nbi(space + part * me, buf, n, t);
                else shmem_putmem(space + part * me, buf, n, t);
                if (nbi) shmem_quiet(); /* `buf` is filled again */
            }
            shmem_barrier_all();
            int writer = (me + 1) % pes;
            for (int t = 0; t < pes; t++) {
                memset(back, 0xee, part);
                if (nbi) shmem_getmem_nbi(back, space + part * writer, n, t);
                else shmem_getmem(back, space + part * writer, n, t);
                if (nbi) shmem_quiet();
                verify(back, n, (unsigned)(writer * 17 + t + (int)k + nbi), "what the next PE put");
                untouched(back + n, part - n, 0xee, "after what was got");
            }
            shmem_barrier_all();
        }
    }
    free(buf);
    free(back);
}

/* Elements that lie apart, at both ends. */
#define STRIDED(name, type)                                                                   \
    static void strided_##name(void)                                                          \
    {                                                                                         \
        enum { N = 40, TO = 3, FROM = 2 };                                                    \
        type *there = symmetric(sizeof *there * N * TO), here[N * FROM], back[N * FROM];      \
        int next = (me + 1) % pes, prev = (me + pes - 1) % pes;                               \
        for (int i = 0; i < N * FROM; i++) here[i] = (type)(me * 30 + i), back[i] = 0;        \
        shmem_##name##_iput(there, here, TO, FROM, N, next);                                  \
        shmem_barrier_all();                                                                  \
        for (int i = 0; i < N * TO; i++)                                                      \
            EXPECT(there[i] == (i % TO ? (type)0 : (type)(prev * 30 + i / TO * FROM)));       \
        shmem_##name##_iget(back, there, FROM, TO, N, next);                                  \
        for (int i = 0; i < N * FROM; i++)                                                    \
            EXPECT(back[i] == (i % FROM ? (type)0 : (type)(me * 30 + i)));                    \
        shmem_barrier_all();                                                                  \
        shmem_##name##_p(there, (type)(me + 5), next);                                        \
        shmem_barrier_all();                                                                  \
        EXPECT(there[0] == (type)(prev + 5) && shmem_##name##_g(there, next) == (type)(me + 5)); \
        shmem_free(there);                                                                    \
    }

STRIDED(char, char)
STRIDED(short, short)
STRIDED(int, int)
STRIDED(long, long)
STRIDED(float, float)
STRIDED(double, double)

/* What follows a fence arrives after what went before it; a flag tells the reader. */
static void ordered(void)
{
    enum { ROUNDS = 200, N = 700 };
    unsigned char *data = symmetric(N), buf[N];
    long *flag = symmetric(sizeof *flag), *ack = symmetric(sizeof *ack);
    int next = (me + 1) % pes, prev = (me + pes - 1) % pes;
    for (long round = 1; round <= ROUNDS; round++) {
        fill(buf, N, (unsigned)(me + round));
        shmem_putmem(data, buf, N, next);
        shmem_fence();
        shmem_long_p(flag, round, next);
        shmem_quiet();
        shmem_long_wait_until(flag, SHMEM_CMP_EQ, round);
        verify(data, N, (unsigned)(prev + round), "behind a fence");
        shmem_long_p(ack, round, prev);
        shmem_quiet();
        shmem_long_wait_until(ack, SHMEM_CMP_EQ, round);
    }
    shmem_free(ack);
    shmem_free(flag);
    shmem_free(data);
}

/* Where another PE's memory can be reached by loads and stores, these see what puts and gets see. */
static void pointers(void)
{
    long *cells = symmetric(sizeof *cells * 8);
    int direct = 0;
    for (int t = 0; t < pes; t++) {
        long *p = shmem_ptr(cells, t);
        if (t == me) EXPECT(p == cells);
        if (p) direct++;
        if (p) p[me] = 1000 + me;
        else shmem_long_p(&cells[me], 1000 + me, t);
    }
    shmem_barrier_all();
    for (int t = 0; t < pes; t++) {
        long *p = shmem_ptr(cells, t);
        for (int w = 0; w < pes; w++) {
            long got = shmem_long_g(&cells[w], t);
            EXPECT(got == 1000 + w && (!p || p[w] == got));
        }
    }
    shmem_barrier_all();
    if (me == 0) printf("shmem_ptr reaches %d of %d\n", direct, pes);
    shmem_free(cells);
}

/* Symmetric memory comes and goes at the same addresses. */
static void heap(void)
{
    for (int i = 0; i < 50; i++) {
        size_t n = 1000 + (size_t)i * 7777 % 100000;
        unsigned char *p = symmetric(n), *q = symmetric(64);
        shmem_putmem(q, "0123456789abcdef", 16, (me + 1) % pes);
        shmem_barrier_all();
        EXPECT(!memcmp(q, "0123456789abcdef", 16));
        p[n - 1] = 1;
        p = shmem_realloc(p, n * 2);
        EXPECT(p && p[n - 1] == 1);
        shmem_free(q);
        shmem_free(p);
    }
    long *aligned = shmem_align(4096, 100);
    EXPECT(aligned && (uintptr_t)aligned % 4096 == 0);
    shmem_free(aligned);
}

int main(void)
{
    start();
    unsigned char *space = symmetric((size_t)MAX * pes);
    blocks(space, MAX);
    passed("blocks in the heap");
    blocks(fixed, sizeof fixed / pes);
    passed("blocks in static data");
    strided_char();
    strided_short();
    strided_int();
    strided_long();
    strided_float();
    strided_double();
    passed("strided");
    ordered();
    passed("ordered");
    pointers();
    passed("pointers");
    heap();
    passed("heap");
    shmem_free(space);
    finish();
    return 0;
}
