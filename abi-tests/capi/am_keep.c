/* Active message data that a handler keeps, refuses, receives at once or later, from another thread, or
 * lets go unread; eager and by rendezvous. */
#include "am.h"
#include <pthread.h>

enum { ID = 3, OTHER = 70, NOBODY = 1000 };

static const struct size {
    size_t n;
    uint32_t flags;
} sizes[] = {
    {0, UCP_AM_SEND_FLAG_EAGER},      {40, UCP_AM_SEND_FLAG_EAGER},    {5000, UCP_AM_SEND_FLAG_EAGER}, {300000, UCP_AM_SEND_FLAG_EAGER},
    {40, UCP_AM_SEND_FLAG_RNDV},      {5000, UCP_AM_SEND_FLAG_RNDV},   {300000, UCP_AM_SEND_FLAG_RNDV},
    {(1 << 20) + 9, UCP_AM_SEND_FLAG_RNDV},
};
enum { SIZES = sizeof sizes / sizeof *sizes };
static unsigned char out[2 << 20], in[2 << 20];

static struct kept {
    void *data;
    size_t len;
    uint64_t attr;
} kept[512];
static int n_kept, n_other;

static ucs_status_t keep(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    HOLDS(p->recv_attr & (AM_DATA | AM_RNDV)); /* the handler was set with PERSISTENT_DATA */
    kept[n_kept++] = (struct kept){data, len, p->recv_attr};
    return UCS_INPROGRESS;
}

static ucs_status_t other(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    n_other++;
    return UCS_OK;
}

static ucs_status_ptr_t send_kept(int k, int seed)
{
    int before = n_kept;
    fill(out, sizes[k].n, seed);
    ucs_status_ptr_t r = am_send(A.ep, ID, "head", 4, out, sizes[k].n, sizes[k].flags);
    if (UCS_PTR_IS_ERR(r)) DIE("send gave %s", name(UCS_PTR_STATUS(r)));
    UNTIL(n_kept == before + 1);
    struct kept *m = &kept[before];
    HOLDS(m->len == sizes[k].n);
    let_it_arrive();
    if (m->attr & AM_RNDV) HOLDS(is_pending(r)); /* the data are still the sender's to give */
    return r;
}

static int recv_calls;
static ucs_status_t recv_status;
static size_t recv_len;
static void on_recv(void *r, ucs_status_t s, size_t n, void *user)
{
    HOLDS(user == in);
    recv_calls++;
    recv_status = s;
    recv_len = n;
}

static ucs_status_ptr_t receive(struct kept *m, struct buffer *b, uint32_t more, size_t *got)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_RECV_INFO | more,
                             .datatype = b->dt};
    p.cb.recv_am = on_recv;
    p.user_data = in;
    p.recv_info.length = got;
    recv_calls = 0;
    memset(in, 0xee, m->len + 64);
    return ucp_am_recv_data_nbx(B.w, m->data, b->ptr, b->count, &p);
}

static void receive_whole(struct kept *m, enum kind k, int seed, uint32_t more)
{
    struct buffer *b = view(k, in, m->len);
    size_t got = 777;
    ucs_status_ptr_t r = receive(m, b, more, &got);
    if (UCS_PTR_IS_ERR(r)) DIE("receive gave %s", name(UCS_PTR_STATUS(r)));
    if (r) {
        UNTIL(recv_calls);
        HOLDS(recv_status == UCS_OK && recv_len == m->len);
        HOLDS(ucp_request_check_status(r) == UCS_OK);
        ucp_request_free(r);
    } else {
        HOLDS(!more && !recv_calls && got == m->len);
    }
    HOLDS(same(in, m->len, seed) && untouched(in + m->len, 64, 0xee));
    drop(b);
}

static void later(void)
{
    for (int how = 0; how < 2; how++) {
        int n = 0;
        starts = finishes = bad_calls = 0;
        for (int k = 0; k < SIZES; k++)
            for (int into = 0; into < KINDS; into++, n++) {
                n_kept = 0;
                ucs_status_ptr_t s = send_kept(k, n);
                receive_whole(&kept[0], into, n, how ? UCP_OP_ATTR_FLAG_NO_IMM_CMPL : 0);
                HOLDS(finished(s) == UCS_OK);
            }
        UNTIL(starts == finishes);
        printf("received later%s: %d messages, bad calls %d\n", how ? ", never at once" : "", n, bad_calls);
    }
}

static void unread(void)
{
    int n = 0;
    for (int k = 0; k < SIZES; k++, n++) {
        n_kept = 0;
        ucs_status_ptr_t s = send_kept(k, n);
        if (kept[0].attr & AM_DATA) HOLDS(same(kept[0].data, kept[0].len, n));
        ucp_am_data_release(B.w, kept[0].data);
        HOLDS(finished(s) == UCS_OK);
    }
    printf("released unread: %d messages\n", n);
}

/* A receive of no elements: the sender is told that it is done. */
static void of_nothing(void)
{
    for (int k = 4; k < SIZES; k++) {
        n_kept = 0;
        ucs_status_ptr_t s = send_kept(k, k);
        struct buffer *b = view(CONTIG, in, 0);
        size_t got = 777;
        ucs_status_ptr_t r = receive(&kept[0], b, 0, &got);
        drop(b);
        printf("rendezvous received with count 0: %s, length %zu, sender %s\n", name(UCS_PTR_STATUS(r)), got, name(finished(s)));
    }
}

/* Eager data into less room. (By rendezvous, genuine UCX checks nothing.) */
static void too_small(void)
{
    for (int k = 1; k < 4; k++)
        for (int into = 0; into < 2; into++)
            for (int less = 0; less < 3; less++) {
                n_kept = 0;
                ucs_status_ptr_t s = send_kept(k, k);
                size_t room = less == 0 ? 0 : less == 1 ? sizes[k].n / 2 : sizes[k].n - 1;
                struct buffer *b = view(into, in, room);
                size_t got = 0;
                ucs_status_ptr_t r = receive(&kept[0], b, 0, &got);
                ucs_status_t st = finished(r);
                printf("%zu bytes into %s of %zu: %s, %s\n", sizes[k].n, kinds[into], room, name(st), untouched(in + room, 64, 0xee) ? "nothing behind" : "WROTE BEHIND");
                drop(b);
                HOLDS(finished(s) == UCS_OK);
            }
}

/* Many are kept, and let go in another order; while the handler is replaced, and removed. */
static void many(void)
{
    enum { N = 300 };
    ucs_status_ptr_t s[N];
    int order[N];
    for (int what = 0; what < 3; what++) {
        n_kept = 0;
        for (int i = 0; i < N; i++) {
            int k = i % 7; /* not the largest */
            int before = n_kept;
            unsigned char *o = malloc(sizes[k].n + 1);
            fill(o, sizes[k].n, i);
            s[i] = am_send(A.ep, ID, o, 0, o, sizes[k].n, sizes[k].flags);
            UNTIL(n_kept == before + 1);
            if (!UCS_PTR_IS_PTR(s[i]) || !is_pending(s[i])) {
                finished(s[i]);
                s[i] = NULL;
                free(o);
            } else {
                kept[i].attr |= (uint64_t)1 << 60;
                *(void **)&kept[i].len = o; /* rendezvous: the buffer must stay */
            }
            order[i] = i;
        }
        if (what) MUST(set_with(B.w, ID, what == 1 ? other : NULL, NULL, 0));
        for (int i = N - 1; i > 0; i--) {
            int j = (i * 7919 + 13) % (i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        for (int i = 0; i < N; i++) {
            struct kept m = kept[order[i]];
            void *o = m.attr >> 60 ? (void *)m.len : NULL;
            m.len = sizes[order[i] % 7].n;
            if (i % 2)
                receive_whole(&m, i % 3, order[i], 0);
            else
                ucp_am_data_release(B.w, m.data);
            HOLDS(finished(s[order[i]]) == UCS_OK);
            free(o);
        }
        if (what == 1) {
            n_other = 0;
            MUST(finished(am_send(A.ep, ID, NULL, 0, "x", 1, 0)));
            UNTIL(n_other);
        }
        MUST(set_with(B.w, ID, keep, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
        printf("%d kept%s: all let go\n", N, what == 0 ? "" : what == 1 ? ", then the handler replaced" : ", then the handler removed");
    }
}

/* What is received needs no release: memory does not grow. */
static void owned(void)
{
    long before = 0;
    for (int i = 0; i < 600; i++) {
        n_kept = 0;
        ucs_status_ptr_t s = send_kept(3, i);
        receive_whole(&kept[0], CONTIG, i, 0);
        HOLDS(finished(s) == UCS_OK);
        if (i == 100) before = resident_kib();
    }
    printf("500 times 300000 bytes received: memory %s\n", resident_kib() - before < 30000 ? "does not grow" : "GROWS");
}

/* ---- inside the handler ------------------------------------------------------------------------- */

enum inside { RETURNS_OK, RETURNS_ERROR, RECEIVES_RETURNS_OK, RECEIVES_RETURNS_INPROGRESS, RELEASES_RETURNS_INPROGRESS, INSIDES };
static const char *const insides[] = {"returns OK", "returns an error", "receives, returns OK", "receives, returns INPROGRESS", "releases, returns INPROGRESS"};
static enum inside inside;
static int in_calls;
static struct buffer *in_buffer;

static ucs_status_t handler(void *arg, const void *header, size_t header_len, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    in_calls++;
    if (inside == RETURNS_OK) return UCS_OK;
    if (inside == RETURNS_ERROR) return p->recv_attr & AM_RNDV ? UCS_ERR_REJECTED : UCS_OK;
    if (inside == RELEASES_RETURNS_INPROGRESS) {
        ucp_am_data_release(B.w, data);
        return UCS_INPROGRESS;
    }
    struct kept m = {data, len, p->recv_attr};
    in_buffer = view(len % 3, in, len);
    size_t got;
    ucs_status_ptr_t r = receive(&m, in_buffer, 0, &got);
    HOLDS(!UCS_PTR_IS_ERR(r));
    if (r == NULL) {
        recv_calls = 1;
        recv_status = UCS_OK;
    } else {
        ucp_request_release(r);
    }
    /* An own return value of INPROGRESS or OK: the descriptor is the library's either way. */
    return inside == RECEIVES_RETURNS_OK && !(p->recv_attr & AM_RNDV) ? UCS_OK : UCS_INPROGRESS;
}

static void within(void)
{
    MUST(set_with(B.w, ID, handler, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
    for (inside = 0; inside < INSIDES; inside++) {
        if (inside == RELEASES_RETURNS_INPROGRESS) continue; /* allowed only after the handler */
        for (int k = 0; k < SIZES; k++) {
            in_calls = recv_calls = 0;
            in_buffer = NULL;
            fill(out, sizes[k].n, k);
            ucs_status_ptr_t s = am_send(A.ep, ID, NULL, 0, out, sizes[k].n, sizes[k].flags);
            UNTIL(in_calls);
            if (inside >= RECEIVES_RETURNS_OK) {
                UNTIL(recv_calls);
                HOLDS(recv_status == UCS_OK && same(in, sizes[k].n, k));
                drop(in_buffer);
            }
            printf("handler %s, %zu bytes %s: sender %s\n", insides[inside], sizes[k].n, sizes[k].flags & UCP_AM_SEND_FLAG_RNDV ? "rendezvous" : "eager", name(finished(s)));
            HOLDS(in_calls == 1);
        }
    }
    MUST(set_with(B.w, ID, keep, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
}

static void nobody(void)
{
    for (int k = 0; k < SIZES; k++) {
        ucs_status_ptr_t s = am_send(A.ep, k % 2 ? NOBODY : 60, "h", 1, out, sizes[k].n, sizes[k].flags);
        printf("no handler, %zu bytes %s: sender %s\n", sizes[k].n, sizes[k].flags & UCP_AM_SEND_FLAG_RNDV ? "rendezvous" : "eager", name(finished(s)));
    }
    let_it_arrive();
    int before = n_other;
    MUST(finished(am_send(A.ep, OTHER, NULL, 0, NULL, 0, 0)));
    UNTIL(n_other > before);
    printf("the next message arrives\n");
}

/* ---- another thread ------------------------------------------------------------------------------- */

static int from_thread;
static void *thread(void *arg)
{
    for (int i = 0; i < n_kept; i++) {
        struct kept *m = &kept[i];
        if (i % 3 == 2) {
            ucp_am_data_release(B.w, m->data);
        } else {
            unsigned char *mine = calloc(1, m->len + 1);
            ucs_status_ptr_t r = ucp_am_recv_data_nbx(B.w, m->data, mine, m->len, &plain);
            HOLDS(!UCS_PTR_IS_ERR(r));
            double end = now() + 30;
            while (is_pending(r)) {
                ucp_worker_progress(B.w);
                HOLDS(now() < end);
            }
            if (r) ucp_request_free(r);
            HOLDS(same(mine, m->len, 5));
            free(mine);
        }
        __atomic_add_fetch(&from_thread, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void threads_too(void)
{
    ucs_status_ptr_t s[64];
    fill(out, sizeof out, 5);
    for (int i = 0; i < 64; i++) {
        int k = i % SIZES, before = n_kept;
        s[i] = am_send(A.ep, ID, NULL, 0, out, sizes[k].n, sizes[k].flags);
        UNTIL(n_kept == before + 1);
    }
    pthread_t t;
    HOLDS(pthread_create(&t, NULL, thread, NULL) == 0);
    UNTIL(__atomic_load_n(&from_thread, __ATOMIC_SEQ_CST) == 64);
    pthread_join(t, NULL);
    for (int i = 0; i < 64; i++) HOLDS(finished(s[i]) == UCS_OK);
    printf("64 messages received or released by another thread\n");
}

int main(void)
{
    features = UCP_FEATURE_AM;
    threads = UCS_THREAD_MODE_MULTI;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        MUST(set_with(B.w, ID, keep, NULL, UCP_AM_FLAG_PERSISTENT_DATA));
        set(B.w, OTHER, other, NULL);
        later();
        unread();
        of_nothing();
        too_small();
        many();
        owned();
        within();
        nobody();
        n_kept = from_thread = 0;
        threads_too();
        pair_close();
    }
    return finish();
}
