/* The hash tables of khash.h and the lists at work: returns 0, or the number of the check that failed. */
#include <ucs/arch/bitops.h>
#include <ucs/datastruct/khash.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/math.h>

KHASH_MAP_INIT_INT64(numbers, long)
KHASH_MAP_INIT_STR(names, int)
KHASH_SET_INIT_INT(set)

#define KEYS 20000
#define KEY(i) ((khint64_t)(i) * 7919)

static int maps(void)
{
    khash_t(numbers) *map = kh_init(numbers);
    khint64_t key;
    khint_t at;
    long i, value, seen = 0;
    int outcome, round;

    for (i = 0; i < KEYS; ++i) {
        at = kh_put(numbers, map, KEY(i), &outcome);
        if (outcome != UCS_KH_PUT_BUCKET_EMPTY) {
            return 1;
        }
        kh_val(map, at) = i;
    }
    for (i = 0; i < KEYS; i += 2) {
        kh_del(numbers, map, kh_get(numbers, map, KEY(i)));
    }
    for (i = 0; i < KEYS; ++i) {
        at = kh_get(numbers, map, KEY(i));
        if ((at == kh_end(map)) != (i % 2 == 0)) {
            return 2;
        }
        if ((i % 2 == 1) && (kh_val(map, at) != i)) {
            return 3;
        }
    }
    /* Keys that come and go must not fill the table. */
    for (round = 0; round < 20; ++round) {
        for (i = 0; i < KEYS; i += 2) {
            kh_del(numbers, map, kh_put(numbers, map, KEY(i) + (khint64_t)round, &outcome));
        }
    }
    if (kh_n_buckets(map) > 8 * KEYS) {
        return 4;
    }
    kh_foreach(map, key, value, {
        if (key != KEY(value)) {
            return 5;
        }
        ++seen;
    });
    if ((seen != KEYS / 2) || (seen != (long)kh_size(map))) {
        return 6;
    }
    kh_clear(numbers, map);
    if ((kh_size(map) != 0) || (kh_get(numbers, map, KEY(1)) != kh_end(map))) {
        return 7;
    }
    kh_destroy(numbers, map);
    return 0;
}

static int strings(void)
{
    khash_t(names) *names = kh_init(names);
    khash_t(set) set;
    khint_t at;
    int outcome;

    at                = kh_put(names, names, "abc", &outcome);
    kh_val(names, at) = 3;
    if ((kh_get(names, names, "abd") != kh_end(names)) || (kh_get(names, names, "abc") != at)) {
        return 10;
    }
    kh_destroy(names, names);
    kh_init_inplace(set, &set);
    kh_put(set, &set, 5, &outcome);
    kh_put(set, &set, 5, &outcome);
    if ((outcome != UCS_KH_PUT_KEY_PRESENT) || (kh_size(&set) != 1)) {
        return 11;
    }
    kh_destroy_inplace(set, &set);
    return 0;
}

static int bits(void)
{
    static const uint8_t bytes[] = {0xff, 0xa0, 0x00};
    uint64_t mask = 0x8000000000000011ul, sum = 0, submask;
    unsigned index, count = 0;

    ucs_for_each_bit(index, mask) {
        sum += index;
        ++count;
    }
    if ((count != 3) || (sum != 67) || (ucs_bitmap2idx(mask, 5) != 2)) {
        return 20;
    }
    if ((ucs_idx2bitmap(mask, 1) != 4) || (ucs_idx2bitmap(mask, 2) != 63)) {
        return 21;
    }
    if ((ucs_count_ptr_trailing_zero_bits(bytes, 24) != 13) ||
        (ucs_count_ptr_trailing_zero_bits(bytes, 10) != 1)) {
        return 22;
    }
    if (!ucs_bitwise_is_equal(bytes, "\xff\xaf", 12) || ucs_bitwise_is_equal(bytes, "\xff\xb0", 12)) {
        return 23;
    }
    count = 0;
    ucs_for_each_submask(submask, 0x15ul) {
        count += (submask & ~0x15ul) ? 100 : 1;
    }
    if ((count != 8) || (ucs_ilog2(1000ul) != 9) || (ucs_ilog2(count) != 3)) {
        return 24;
    }
    return 0;
}

static int lists(void)
{
    UCS_LIST_HEAD(a);
    UCS_LIST_HEAD(b);
    ucs_list_link_t links[4];
    int i;

    for (i = 0; i < 4; ++i) {
        ucs_list_add_tail((i < 2) ? &a : &b, &links[i]);
    }
    ucs_list_splice_tail(&a, &b);
    if ((ucs_list_length(&a) != 4) || !ucs_list_is_last(&a, &links[3]) ||
        !ucs_list_is_first(&a, &links[0])) {
        return 30;
    }
    for (i = 0; i < 4; ++i) {
        ucs_list_del(&links[i]);
    }
    return ucs_list_is_empty(&a) ? 0 : 31;
}

int main(void)
{
    int (*checks[])(void) = {maps, strings, bits, lists};
    size_t i;
    int failed;

    for (i = 0; i < 4; ++i) {
        failed = checks[i]();
        if (failed) {
            return failed;
        }
    }
    return 0;
}
