/* Deep queues: a hundred thousand short messages that nobody has asked for, and as many receives that wait.
 *
 *   deep memory [N]     what N unexpected messages take, and whether it is given back
 *   deep cost [N]       nothing but N messages to as many posted receives, and N unexpected ones to later
 *                       receives, each in three orders: for who counts instructions (abi-tests/clients/capi.py)
 *
 * On our libraries only: genuine UCX takes 9 KiB for each message of 200 bytes over shared memory, and its cost
 * grows with the depth. */
#include "am.h"

enum order { FORWARD, BACKWARD, MIXED, ORDERS };
static size_t n_messages = 100000;

static size_t place(enum order o, size_t i)
{
    if (o == FORWARD) return i;
    if (o == BACKWARD) return n_messages - 1 - i;
    return (i * 7919 + 13) % n_messages; /* 7919 is prime to the counts used */
}

static void send_short(uint64_t tag, size_t len)
{
    unsigned char data[256];
    fill(data, len, tag);
    HOLDS(finished(ucp_tag_send_nbx(A.ep, data, len, tag, &plain)) == UCS_OK);
}

static void receive_short(uint64_t tag, size_t len)
{
    unsigned char data[256];
    HOLDS(finished(ucp_tag_recv_nbx(B.w, data, sizeof data, tag, ALL, &plain)) == UCS_OK && same(data, len, tag));
}

static void memory(void)
{
    static const size_t lengths[] = {1, 8, 64, 200};
    for (int loop = 0; loop < 2; loop++) {
        features = UCP_FEATURE_TAG;
        pair_open(loop);
        still_works();
        for (int k = 0; k < 4; k++) {
            long first = 0;
            for (int round = 0; round < 3; round++) {
                long before = resident_kib();
                for (size_t i = 0; i < n_messages; i++) send_short(i, lengths[k]);
                let_it_arrive();
                long each = (resident_kib() - before) * 1024 / (long)n_messages;
                if (round == 0) first = resident_kib();
                fprintf(stderr, "[%s, %zu bytes, round %d: %ld bytes each]\n", loop ? "loopback" : "two workers", lengths[k], round, each);
                if (each > (long)lengths[k] + 256) printf("WRONG: %zu bytes take %ld\n", lengths[k], each);
                for (size_t i = 0; i < n_messages; i++) receive_short(place(round % ORDERS, i), lengths[k]);
            }
            long grown = resident_kib() - first;
            if (grown > 4096) printf("WRONG: %ld KiB more after three rounds of %zu bytes\n", grown, lengths[k]);
        }
        pair_close();
    }
    printf("unexpected messages take little more than they are long\n");
}

static void cost(void)
{
    unsigned char *data = malloc(n_messages);
    ucs_status_ptr_t *r = calloc(n_messages, sizeof *r);
    pair_open(0);
    for (int o = 0; o < ORDERS; o++) {
        for (size_t i = 0; i < n_messages; i++) r[i] = ucp_tag_recv_nbx(B.w, &data[i], 1, i, ALL, &plain);
        for (size_t i = 0; i < n_messages; i++) send_short(place(o, i), 1);
        for (size_t i = 0; i < n_messages; i++) HOLDS(finished(r[i]) == UCS_OK && same(&data[i], 1, i));
        for (size_t i = 0; i < n_messages; i++) send_short(i, 1);
        let_it_arrive();
        for (size_t i = 0; i < n_messages; i++) receive_short(place(o, i), 1);
    }
    pair_close();
    free(data);
    free(r);
}

int main(int argc, char **argv)
{
    if (argc > 2) n_messages = strtoul(argv[2], NULL, 0);
    if (argc > 1 && !strcmp(argv[1], "memory")) memory();
    else cost();
    return finish();
}
