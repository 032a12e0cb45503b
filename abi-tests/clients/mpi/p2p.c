/* Point-to-point semantics of MPI that lean on tag matching: each part between pairs of ranks
 * (0-1, 2-3, ...), with data checks. usage: p2p [largest size in bytes] */
#include "check.h"

static int peer, lower; /* the other of my pair; whether I am its first */
static int splits = 1;  /* whether bytes are received as structs in pieces that end inside a number */
static size_t max = 4u << 20;

static const size_t sizes[] = {0, 1, 7, 8, 64, 1000, 4096, 8191, 8192, 8193, 60000, 65536, 262144, 1000003, 4u << 20};
#define EACH_SIZE(n) \
    for (size_t i_ = 0, n; i_ < sizeof sizes / sizeof *sizes && (n = sizes[i_]) <= max; i_++)

static void datatypes(void)
{
    /* Each: a type of `n` bytes of data in `extent` bytes; sent typed and received packed, and the
     * other way around, and typed to typed. */
    for (int kind = 0; kind < 4; kind++)
        for (int blocks = 1; blocks <= 40000; blocks *= 20) {
            MPI_Datatype t;
            if (kind == 0) {
                MPI_Type_vector(blocks, 3, 7, MPI_BYTE, &t);
            } else if (kind == 1) {
                MPI_Type_create_hvector(blocks, 2, 40, MPI_DOUBLE, &t);
            } else if (kind == 2) {
                int *len = memory(sizeof(int) * blocks), *at = memory(sizeof(int) * blocks);
                for (int i = 0, p = 0; i < blocks; i++) {
                    len[i] = i % 5;
                    at[i] = p;
                    p += len[i] + i % 3;
                }
                MPI_Type_indexed(blocks, len, at, MPI_INT, &t);
                free(len);
                free(at);
            } else {
                int len[3] = {1, 3, 2};
                MPI_Aint at[3] = {0, 8, 24};
                MPI_Datatype of[3] = {MPI_CHAR, MPI_INT, MPI_DOUBLE}, s;
                MPI_Type_create_struct(3, len, at, of, &s);
                MPI_Type_create_resized(s, 0, 48, &s);
                MPI_Type_contiguous(blocks, s, &t);
            }
            MPI_Type_commit(&t);
            int n;
            MPI_Aint lb, extent, tlb, text;
            MPI_Type_size(t, &n);
            MPI_Type_get_extent(t, &lb, &extent);
            MPI_Type_get_true_extent(t, &tlb, &text);
            size_t span = (size_t)(extent > tlb + text ? extent : tlb + text) + 8;
            unsigned char *a = memory(span), *b = memory(span), *packed = memory(n + 1), *again = memory(n + 1);
            fill(a, span, 5);
            int pos = 0;
            MPI_Pack(a, 1, t, packed, n, &pos, MPI_COMM_WORLD);
            for (int way = 0; way < 3; way++) {
                if (kind == 3 && way == 1 && !splits) continue;
                memset(b, 0xaa, span);
                memset(again, 0xaa, n);
                MPI_Request r;
                if (way == 0) MPI_Irecv(again, n, MPI_PACKED, peer, way, MPI_COMM_WORLD, &r);
                else MPI_Irecv(b, 1, t, peer, way, MPI_COMM_WORLD, &r);
                if (way == 1) MPI_Send(packed, n, MPI_PACKED, peer, way, MPI_COMM_WORLD);
                else MPI_Send(a, 1, t, peer, way, MPI_COMM_WORLD);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
                if (way != 0) {
                    pos = 0;
                    MPI_Pack(b, 1, t, again, n, &pos, MPI_COMM_WORLD);
                }
                if (memcmp(packed, again, n)) DIE("datatype %d of %d blocks, way %d: wrong data", kind, blocks, way);
            }
            free(a);
            free(b);
            free(packed);
            free(again);
            MPI_Type_free(&t);
        }
    passed("datatypes");
}

static void synchronous(void)
{
    unsigned char *buf = memory(max);
    EACH_SIZE(n)
    {
        int flag = 0;
        MPI_Request r;
        if (lower) {
            fill(buf, n, 1);
            MPI_Issend(buf, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &r);
            /* Nothing was received yet: it must not be complete. */
            for (int i = 0; i < 2000; i++) {
                MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
                if (flag) DIE("synchronous send of %zu bytes finished before its receive", n);
            }
            MPI_Send(NULL, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            MPI_Ssend(buf, (int)n, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int tag = 1; tag <= 3; tag += 2) {
                memset(buf, 0, n);
                MPI_Recv(buf, (int)n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                verify(buf, n, 1, "ssend");
            }
        }
    }
    free(buf);
    passed("ssend");
}

static void probes(void)
{
    unsigned char *buf = memory(max);
    EACH_SIZE(n)
    {
        if (lower) {
            fill(buf, n, 2);
            MPI_Request r[4];
            for (int i = 0; i < 4; i++) MPI_Isend(buf, (int)n, MPI_BYTE, peer, 5 + i, MPI_COMM_WORLD, &r[i]);
            MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        } else {
            MPI_Status st;
            MPI_Message m;
            int flag = 0, got;
            while (!flag) MPI_Iprobe(peer, 5, MPI_COMM_WORLD, &flag, &st);
            MPI_Get_count(&st, MPI_BYTE, &got);
            EXPECT(got == (int)n && st.MPI_TAG == 5);
            MPI_Recv(buf, (int)n, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &st);
            verify(buf, n, 2, "iprobe");
            MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &st);
            EXPECT(st.MPI_SOURCE == peer);
            /* Taken out by tag 7 first, then by a wildcard, which may take 6 only. */
            MPI_Message seven;
            MPI_Mprobe(peer, 7, MPI_COMM_WORLD, &seven, &st);
            MPI_Get_count(&st, MPI_BYTE, &got);
            EXPECT(got == (int)n);
            for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &st);
            EXPECT(st.MPI_TAG == 6);
            memset(buf, 0, n);
            MPI_Mrecv(buf, (int)n, MPI_BYTE, &m, &st);
            verify(buf, n, 2, "improbe");
            memset(buf, 0, n);
            MPI_Request r;
            MPI_Imrecv(buf, (int)n, MPI_BYTE, &seven, &r);
            MPI_Wait(&r, &st);
            verify(buf, n, 2, "imrecv");
            MPI_Recv(buf, (int)n, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &st);
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
            EXPECT(!flag);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(buf);
    passed("probe");
}

static void cancels(void)
{
    unsigned char *buf = memory(max), *spare = memory(max);
    EACH_SIZE(n)
    {
        MPI_Request r[3];
        MPI_Status st;
        int flag;
        memset(spare, 0x77, n);
        if (lower) {
            MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            fill(buf, n, 9);
            MPI_Send(buf, (int)n, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
        } else {
            /* Two receives for one message, the first of which is taken back: the second gets it. */
            MPI_Irecv(spare, (int)n, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &r[0]);
            MPI_Irecv(buf, (int)n, MPI_BYTE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
            MPI_Cancel(&r[0]);
            MPI_Wait(&r[0], &st);
            MPI_Test_cancelled(&st, &flag);
            EXPECT(flag);
            MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Wait(&r[1], &st);
            MPI_Test_cancelled(&st, &flag);
            EXPECT(!flag && st.MPI_TAG == 4);
            verify(buf, n, 9, "after cancel");
            untouched(spare, n, 0x77, "cancelled buffer");
        }
    }
    free(buf);
    free(spare);
    passed("cancel");
}

static void wildcards(void)
{
    enum { N = 300 };
    static int in[N];
    MPI_Status st;
    /* Everyone sends to rank 0, which sees each sender's messages in order. */
    if (rank == 0) {
        int *seen = memory(sizeof(int) * ranks);
        memset(seen, 0, sizeof(int) * ranks);
        for (int i = 0; i < N * (ranks - 1); i++) {
            int v;
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
            EXPECT(v == seen[st.MPI_SOURCE] && st.MPI_TAG == v % 7);
            seen[st.MPI_SOURCE]++;
        }
        free(seen);
    } else {
        for (int i = 0; i < N; i++) MPI_Send(&i, 1, MPI_INT, 0, i % 7, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Receives posted with wildcards between exact ones match in the order of their posting. */
    if (!lower) {
        MPI_Request r[N];
        for (int i = 0; i < N; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, i % 3 ? peer : MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 3, MPI_COMM_WORLD, &r[i]);
        MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++) EXPECT(in[i] == i);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &st);
        for (int i = 0; i < N; i++) MPI_Send(&i, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
    }
    passed("wildcards");
}

/* Small and large messages of one tag keep their order, whatever protocol carries each. */
static void order(void)
{
    enum { N = 60 };
    unsigned char *buf[N];
    MPI_Request r[N];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) buf[i] = memory(max);
        if (!lower && round == 0) MPI_Barrier(MPI_COMM_WORLD); /* unexpected */
        for (int i = 0; i < N; i++) {
            size_t n = sizes[(i * 7) % (sizeof sizes / sizeof *sizes)];
            if (n > max) n = max;
            if (lower) {
                fill(buf[i], n, i);
                MPI_Isend(buf[i], (int)n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &r[i]);
            } else {
                MPI_Irecv(buf[i], (int)max, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &r[i]);
            }
        }
        if (lower && round == 0) MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++) {
            size_t n = sizes[(i * 7) % (sizeof sizes / sizeof *sizes)];
            if (!lower) verify(buf[i], n > max ? max : n, i, "order");
            free(buf[i]);
        }
    }
    passed("order");
}

static void truncation(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *buf = memory(max);
    EACH_SIZE(n)
    {
        if (n < 2) continue;
        for (int expected = 0; expected < 2; expected++) {
            if (lower) {
                if (expected) MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                fill(buf, n, 3);
                MPI_Request r;
                MPI_Isend(buf, (int)n, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &r);
                if (!expected) MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
                MPI_Send(buf, (int)n, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
            } else {
                MPI_Request r;
                MPI_Status st;
                int class = 0;
                if (!expected) MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &st);
                memset(buf, 0xcc, n);
                MPI_Irecv(buf, (int)n / 2, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &r);
                if (expected) MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
                int rc = MPI_Wait(&r, &st);
                MPI_Error_class(rc, &class);
                if (class != MPI_ERR_TRUNCATE) DIE("%zu bytes into half of it: error class %d", n, class);
                untouched(buf + n / 2, n - n / 2, 0xcc, "past a truncated receive");
                MPI_Recv(buf, (int)n, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &st);
                verify(buf, n, 3, "after truncation");
            }
        }
    }
    free(buf);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("truncation");
}

static void persistent_and_buffered(void)
{
    enum { N = 8 };
    unsigned char *out = memory(N * 40000), *in = memory(N * 40000), *space = memory(1 << 20);
    MPI_Request r[N * 2];
    for (int i = 0; i < N; i++) {
        MPI_Send_init(out + i * 40000, i * 5000, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[i]);
        MPI_Recv_init(in + i * 40000, i * 5000, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[N + i]);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) fill(out + i * 40000, i * 5000, round + i);
        MPI_Startall(N * 2, r);
        MPI_Waitall(N * 2, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++) verify(in + i * 40000, i * 5000, round + i, "persistent");
    }
    for (int i = 0; i < N * 2; i++) MPI_Request_free(&r[i]);

    int size = 1 << 20;
    MPI_Buffer_attach(space, size);
    for (int i = 0; i < N; i++) MPI_Bsend(out + i * 40000, i * 5000, MPI_BYTE, peer, i, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        MPI_Recv(in + i * 40000, i * 5000, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(in + i * 40000, i * 5000, 19 + i, "bsend");
    }
    MPI_Buffer_detach(&space, &size);
    free(out);
    free(in);
    free(space);
    passed("persistent, buffered");
}

static void to_self(void)
{
    unsigned char *a = memory(max), *b = memory(max);
    EACH_SIZE(n)
    {
        MPI_Request r;
        fill(a, n, 6);
        memset(b, 0, n);
        MPI_Irecv(b, (int)n, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &r);
        MPI_Send(a, (int)n, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        verify(b, n, 6, "to self");
        MPI_Isend(a, (int)n, MPI_BYTE, rank, 2, MPI_COMM_WORLD, &r);
        memset(b, 0, n);
        MPI_Recv(b, (int)n, MPI_BYTE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        verify(b, n, 6, "to self, unexpected");
        MPI_Sendrecv_replace(a, (int)n, MPI_BYTE, peer, 3, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(a, n, 6, "replaced");
    }
    free(a);
    free(b);
    passed("self");
}

static void zero_types(void)
{
    MPI_Datatype t, u;
    MPI_Status st;
    int got;
    MPI_Type_contiguous(0, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Type_vector(10, 0, 3, MPI_DOUBLE, &u);
    MPI_Type_commit(&u);
    MPI_Sendrecv(NULL, 5, t, peer, 1, NULL, 5, u, peer, 1, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_BYTE, &got);
    EXPECT(got == 0);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 1, NULL, 0, u, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st);
    MPI_Type_free(&t);
    MPI_Type_free(&u);
    passed("types of size zero");
}

/* Parts after the size are left out. */
static int left_out(int argc, char **argv, const char *part)
{
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], part)) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    EXPECT(ranks % 2 == 0);
    if (argc > 1) max = strtoul(argv[1], NULL, 0);
    lower = rank % 2 == 0;
    peer = lower ? rank + 1 : rank - 1;
    zero_types();
    to_self();
    if (!left_out(argc, argv, "wildcards")) wildcards();
    probes();
    cancels();
    order();
    synchronous();
    truncation();
    splits = !left_out(argc, argv, "bytes to structs");
    if (!left_out(argc, argv, "datatypes")) datatypes();
    if (!left_out(argc, argv, "persistent")) persistent_and_buffered();
    finish();
    return 0;
}
