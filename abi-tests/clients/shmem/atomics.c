/* Atomic operations of each kind and size by all PEs at once, counted exactly; locks. */
#include "check.h"

#define EACH 100

#define ARITHMETIC(name, type)                                                           \
    static void arithmetic_##name(void)                                                  \
    {                                                                                    \
        type *cell = symmetric(sizeof *cell * 4);                                        \
        for (int i = 0; i < EACH; i++)                                                   \
            for (int t = 0; t < pes; t++) {                                              \
                type before = shmem_##name##_atomic_fetch_add(&cell[0], 3, t);           \
                EXPECT(before % 3 == 0 && before < (type)(3 * EACH * pes));              \
                shmem_##name##_atomic_add(&cell[1], 5, t);                               \
                before = shmem_##name##_atomic_fetch_inc(&cell[2], t);                   \
                EXPECT(before < (type)(EACH * pes));                                     \
                shmem_##name##_atomic_inc(&cell[3], t);                                  \
            }                                                                            \
        shmem_barrier_all();                                                             \
        type all = (type)(EACH * pes);                                                   \
        EXPECT(cell[0] == 3 * all && cell[1] == 5 * all && cell[2] == all && cell[3] == all); \
        for (int t = 0; t < pes; t++) EXPECT(shmem_##name##_atomic_fetch(&cell[1], t) == 5 * all); \
        shmem_barrier_all();                                                             \
        /* A token that is swapped round: each value comes back once. */                 \
        shmem_##name##_atomic_set(&cell[0], (type)(pes + 1), me);                        \
        shmem_##name##_atomic_set(&cell[1], 0, me);                                      \
        shmem_barrier_all();                                                             \
        type got = shmem_##name##_atomic_swap(&cell[0], (type)(me + 1), 0);              \
        shmem_##name##_atomic_add(&cell[1], got, 0);                                     \
        shmem_barrier_all();                                                             \
        if (me == 0) {                                                                   \
            type sum = cell[0] + cell[1];                                                \
            EXPECT(sum == (type)(pes + 1 + pes * (pes + 1) / 2));                        \
        }                                                                                \
        shmem_barrier_all();                                                             \
        /* Compare-and-swap counts up; who loses tries again. OpenSHMEM 4.1.4 writes eight bytes \
         * over the int on its own stack that holds the result, so only 64 bits can be asked for. */ \
        cell[2] = 0;                                                                     \
        shmem_barrier_all();                                                             \
        for (int i = 0; sizeof(type) == 8 && i < EACH / 4; i++) {                        \
            type seen = shmem_##name##_atomic_fetch(&cell[2], pes - 1), was;             \
            while ((was = shmem_##name##_atomic_compare_swap(&cell[2], seen, seen + 1, pes - 1)) != seen) seen = was; \
        }                                                                                \
        shmem_barrier_all();                                                             \
        if (me == pes - 1 && sizeof(type) == 8) EXPECT(cell[2] == (type)(EACH / 4 * pes));                    \
        shmem_free(cell);                                                                \
    }

ARITHMETIC(int, int)
ARITHMETIC(long, long)
ARITHMETIC(longlong, long long)
ARITHMETIC(uint, unsigned)
ARITHMETIC(ulong, unsigned long)
ARITHMETIC(ulonglong, unsigned long long)

#define BITS(name, type)                                                            \
    static void bits_##name(void)                                                   \
    {                                                                               \
        type *cell = symmetric(sizeof *cell * 3), mine = (type)1 << (me * 5), all = 0; \
        for (int t = 0; t < pes; t++) all |= (type)1 << (t * 5);                    \
        for (int i = 0; i < EACH / 4; i++)                                          \
            for (int t = 0; t < pes; t++) {                                         \
                EXPECT(!(shmem_##name##_atomic_fetch_or(&cell[0], mine, t) & mine)); \
                EXPECT(shmem_##name##_atomic_fetch_and(&cell[0], (type)~mine, t) & mine); \
                EXPECT(!(shmem_##name##_atomic_fetch_xor(&cell[0], mine, t) & mine)); \
                shmem_##name##_atomic_xor(&cell[0], mine, t);                       \
                shmem_##name##_atomic_or(&cell[1], mine, t);                        \
                shmem_##name##_atomic_and(&cell[2], (type)~mine, t);                \
            }                                                                       \
        shmem_barrier_all();                                                        \
        EXPECT(cell[0] == 0 && cell[1] == all && cell[2] == 0);                     \
        shmem_free(cell);                                                           \
    }

BITS(uint, unsigned)
BITS(ulong, unsigned long)
BITS(int32, int32_t)
BITS(int64, int64_t)
BITS(uint64, uint64_t)

#define SWAPS(name, type)                                                       \
    static void swaps_##name(void)                                              \
    {                                                                           \
        type *cell = symmetric(sizeof *cell);                                   \
        int next = (me + 1) % pes, prev = (me + pes - 1) % pes;                 \
        shmem_##name##_atomic_set(cell, (type)(me + 0.5), next);                \
        shmem_barrier_all();                                                    \
        EXPECT(shmem_##name##_atomic_fetch(cell, me) == (type)(prev + 0.5));    \
        shmem_barrier_all();                                                    \
        EXPECT(shmem_##name##_atomic_swap(cell, (type)9.25, next) == (type)(me + 0.5)); \
        shmem_barrier_all();                                                    \
        EXPECT(*cell == (type)9.25);                                            \
        shmem_free(cell);                                                       \
    }

SWAPS(float, float)
SWAPS(double, double)

/* A lock guards two words that are changed one after the other. */
static void locks(void)
{
    long *lock = symmetric(sizeof *lock), *pair = symmetric(sizeof *pair * 2);
    for (int i = 0; i < 30; i++) {
        /* Asking again and again would not do: the owner of the memory, asking itself, makes no
         * progress for the others in this. */
        if (i % 3 != 2 || shmem_test_lock(lock)) shmem_set_lock(lock);
        long a = shmem_long_g(&pair[0], 0), b = shmem_long_g(&pair[1], 0);
        EXPECT(a == b);
        shmem_long_p(&pair[0], a + 1, 0);
        shmem_quiet();
        shmem_long_p(&pair[1], b + 1, 0);
        shmem_quiet();
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    if (me == 0) EXPECT(pair[0] == 30L * pes && pair[1] == pair[0]);
    shmem_free(pair);
    shmem_free(lock);
}

int main(void)
{
    start();
    arithmetic_int();
    arithmetic_long();
    arithmetic_longlong();
    arithmetic_uint();
    arithmetic_ulong();
    arithmetic_ulonglong();
    passed("arithmetic");
    bits_uint();
    bits_ulong();
    bits_int32();
    bits_int64();
    bits_uint64();
    passed("bits");
    swaps_float();
    swaps_double();
    passed("swaps");
    locks();
    passed("locks");
    finish();
    return 0;
}
