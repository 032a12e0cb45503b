/* Streams: bytes in order, received by request (also with WAITALL and by elements), as they lie, and
 * listed by poll; each datatype; loopback and two workers; receives cancelled by close. */
#include "capi.h"

static unsigned char out[3 << 20], in[3 << 20];
static size_t called_length;
static ucs_status_t called_status;
static int called;

static void on_recv(void *request, ucs_status_t status, size_t length, void *user)
{
    (void)request;
    HOLDS(user == &called);
    called++;
    called_status = status;
    called_length = length;
}

static void on_recv_old(void *request, ucs_status_t status, size_t length)
{
    (void)request;
    called++;
    called_status = status;
    called_length = length;
}

static void send_bytes(const void *p, size_t n)
{
    ucs_status_t s = finished(ucp_stream_send_nbx(A.ep, p, n, &plain));
    if (s != UCS_OK) DIE("sending %zu bytes gave %s", n, name(s));
}

static ucp_request_param_t with(uint32_t flags, ucp_datatype_t dt)
{
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK |
                     UCP_OP_ATTR_FIELD_USER_DATA;
    p.flags = flags;
    p.datatype = dt;
    p.cb.recv_stream = on_recv;
    p.user_data = &called;
    return p;
}

/* Receives once; the length in any case. */
static size_t recv_some(void *p, size_t count, uint32_t flags, ucp_datatype_t dt)
{
    size_t length = 77777777;
    ucp_request_param_t param = with(flags, dt);
    called = 0;
    ucs_status_ptr_t r = ucp_stream_recv_nbx(B.ep, p, count, &length, &param);
    if (UCS_PTR_IS_ERR(r)) DIE("receiving gave %s", name(UCS_PTR_STATUS(r)));
    if (r == NULL) {
        HOLDS(!called);
        return length;
    }
    ucs_status_t s = finished(r);
    HOLDS(called == 1 && called_status == s);
    if (s != UCS_OK) DIE("receiving gave %s", name(s));
    return called_length;
}

static void recv_all(void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t got = recv_some((char *)p + at, n - at, 0, ucp_dt_make_contig(1));
        HOLDS(got > 0 && got <= n - at);
        at += got;
    }
}

static void sizes(void)
{
    static const size_t all[] = {1, 2, 7, 8, 80, 90, 100, 200, 256, 1000, 8000, 8192, 8193, 20000, 131072, 300001, 3 << 20};
    unsigned k;
    for (k = 0; k < sizeof all / sizeof *all; k++) {
        size_t n = all[k];
        fill(out, n, k);
        memset(in, 0, n);
        ucs_status_ptr_t r = ucp_stream_send_nbx(A.ep, out, n, &plain);
        if (UCS_PTR_IS_ERR(r)) DIE("send gave %s", name(UCS_PTR_STATUS(r)));
        recv_all(in, n);
        HOLDS(finished(r) == UCS_OK);
        if (!same(in, n, k)) DIE("wrong data at %zu bytes", n);
    }
    printf("%u sizes in order and right\n", k);
}

/* The borders of messages don't matter. */
static void borders(void)
{
    size_t total = 100000, at = 0, step = 1;
    fill(out, total, 3);
    while (at < total) {
        size_t n = step < total - at ? step : total - at;
        send_bytes(out + at, n);
        at += n;
        step = step * 3 % 1997 + 1;
    }
    for (at = 0, step = 5; at < total;) {
        size_t n = step < total - at ? step : total - at;
        size_t got = recv_some(in + at, n, UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1));
        HOLDS(got == n);
        at += n;
        step = step * 7 % 3001 + 1;
    }
    HOLDS(same(in, total, 3));
    printf("sent and received in different pieces\n");
}

/* Sends of all sizes at once, short ones behind long ones, to receives that wait and to none. */
static void mixed(void)
{
    static const size_t of[] = {300001, 1, 8, 131072, 90, 9000, 1 << 20, 7, 40000, 250};
    enum { SENDS = 20, RECEIVES = 40 };
    for (int early = 0; early < 2; early++) {
        ucs_status_ptr_t s[SENDS], r[RECEIVES];
        size_t total = 0, length, at = 0, each;
        ucp_request_param_t p = with(UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1));
        for (int i = 0; i < SENDS; i++) total += of[i % 10];
        each = total / RECEIVES;
        fill(out, total, 11 + early);
        memset(in, 0, total);
        for (int i = 0; early && i < RECEIVES; i++) r[i] = ucp_stream_recv_nbx(B.ep, in + i * each, each, &length, &p);
        for (int i = 0; i < SENDS; at += of[i++ % 10]) {
            s[i] = ucp_stream_send_nbx(A.ep, out + at, of[i % 10], &plain);
            if (i % 3 == 0) progress();
        }
        for (at = 0; early && at < RECEIVES; at++) HOLDS(finished(r[at]) == UCS_OK);
        recv_all(in + (early ? RECEIVES * each : 0), total - (early ? RECEIVES * each : 0));
        for (int i = 0; i < SENDS; i++) HOLDS(finished(s[i]) == UCS_OK);
        HOLDS(same(in, total, 11 + early));
        printf("%d sends at once, of 1 byte to 1 MiB, %s: in order\n", SENDS, early ? "receives wait" : "received later");
    }
}

static void elements(void)
{
    fill(out, 64, 4);
    send_bytes(out, 5);
    let_it_arrive();
    /* One whole element of four is there, and a byte of the next. */
    printf("elements of 4, 5 bytes there: %zu\n", recv_some(in, 4, 0, ucp_dt_make_contig(4)));
    called = 0;
    size_t length = 0;
    ucp_request_param_t p = with(0, ucp_dt_make_contig(4));
    ucs_status_ptr_t r = ucp_stream_recv_nbx(B.ep, in + 4, 4, &length, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    send_bytes(out + 5, 1);
    let_it_arrive();
    printf("half an element: %s\n", name(ucp_request_check_status(r)));
    send_bytes(out + 6, 2);
    HOLDS(finished(r) == UCS_OK);
    printf("the rest of it: %zu\n", called_length);
    HOLDS(same(in, 8, 4));

    p = with(UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1));
    called = 0;
    r = ucp_stream_recv_nbx(B.ep, in, 20, &length, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    fill(out, 30, 5);
    send_bytes(out, 19);
    let_it_arrive();
    printf("waitall with 19 of 20: %s\n", name(ucp_request_check_status(r)));
    send_bytes(out + 19, 11);
    HOLDS(finished(r) == UCS_OK);
    printf("waitall: %zu\n", called_length);
    HOLDS(recv_some(in + 20, 10, UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1)) == 10);
    HOLDS(same(in, 30, 5));
}

/* Several receives wait: they are served in their order. */
static void queued(void)
{
    enum { N = 16 };
    ucs_status_ptr_t r[N];
    size_t length;
    ucp_request_param_t p = with(UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1));
    memset(in, 0, N * 100);
    for (int i = 0; i < N; i++) {
        r[i] = ucp_stream_recv_nbx(B.ep, in + i * 100, 100, &length, &p);
        HOLDS(UCS_PTR_IS_PTR(r[i]));
    }
    fill(out, N * 100, 6);
    for (int i = 0; i < N * 4; i++) send_bytes(out + i * 25, 25);
    for (int i = 0; i < N; i++) HOLDS(finished(r[i]) == UCS_OK);
    HOLDS(same(in, N * 100, 6));
    printf("%d waiting receives served in order\n", N);
}

static void iov(void)
{
    ucp_dt_iov_t from[3] = {{out, 10}, {out + 10, 0}, {out + 10, 5000}};
    ucp_dt_iov_t to[4] = {{in, 1}, {in + 1, 2000}, {in + 2001, 3000}, {in + 5001, 9}};
    fill(out, 5010, 7);
    memset(in, 0, 5010);
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    p.datatype = ucp_dt_make_iov();
    ucs_status_t s = finished(ucp_stream_send_nbx(A.ep, from, 3, &p));
    if (s != UCS_OK) DIE("sending an iov gave %s", name(s));
    HOLDS(recv_some(to, 4, UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_iov()) == 5010);
    HOLDS(same(in, 5010, 7));
    printf("iov\n");
}

static void as_they_lie(void)
{
    size_t total = 30000, at = 0, length = 0;
    fill(out, total, 8);
    printf("nothing there: %s\n", ucp_stream_recv_data_nb(B.ep, &length) ? "DATA" : "NULL");
    for (size_t n = 1; at < total; at += n, n = n * 5 % 900 + 1) {
        if (n > total - at) n = total - at;
        send_bytes(out + at, n);
    }
    let_it_arrive();
    HOLDS(recv_some(in, 3, UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1)) == 3);
    at = 3;
    void *held = NULL;
    while (at < total) {
        void *data;
        UNTIL((data = ucp_stream_recv_data_nb(B.ep, &length)) != NULL);
        HOLDS(UCS_PTR_IS_PTR(data) && length > 0 && length <= total - at);
        memcpy(in + at, data, length);
        at += length;
        if (held) ucp_stream_data_release(B.ep, held);
        held = data; /* one stays, while others come */
    }
    ucp_stream_data_release(B.ep, held);
    HOLDS(same(in, total, 8));
    printf("data as it lies\n");
}

static void poll_lists(void)
{
    ucp_stream_poll_ep_t eps[4];
    for (int i = 0; i < 8; i++) ucp_stream_worker_poll(B.w, eps, 4, 0);
    printf("poll without data: %zd\n", ucp_stream_worker_poll(B.w, eps, 4, 0));
    fill(out, 10, 9);
    send_bytes(out, 10);
    let_it_arrive();
    ssize_t n = ucp_stream_worker_poll(B.w, eps, 4, 0);
    printf("poll with data: %zd, %s, %s\n", n, eps[0].ep == B.ep ? "our endpoint" : "ANOTHER",
           eps[0].user_data == extra_ep_params.user_data ? "our user data" : "OTHER USER DATA");
    printf("told once: %zd\n", ucp_stream_worker_poll(B.w, eps, 4, 0));
    recv_all(in, 10);
    HOLDS(same(in, 10, 9));
}

static void old_calls(void)
{
    size_t length = 0;
    fill(out, 5000, 10);
    ucs_status_ptr_t r = ucp_stream_recv_nb(B.ep, in, 5000, ucp_dt_make_contig(1), on_recv_old, &length,
                                            UCP_STREAM_RECV_FLAG_WAITALL);
    HOLDS(UCS_PTR_IS_PTR(r));
    called = 0;
    ucs_status_t s = finished(ucp_stream_send_nb(A.ep, out, 5000, ucp_dt_make_contig(1), NULL, 0));
    HOLDS(s == UCS_OK);
    HOLDS(finished(r) == UCS_OK);
    printf("nb calls: %d call back with %zu\n", called, called_length);
    HOLDS(same(in, 5000, 10));
}

static void forced(void)
{
    size_t length;
    ucp_request_param_t p = with(0, ucp_dt_make_contig(1));
    p.op_attr_mask |= UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    printf("at once or not at all: %s\n", name(UCS_PTR_STATUS(ucp_stream_recv_nbx(B.ep, in, 10, &length, &p))));
    /* NO_IMM_CMPL with data there is left out: genuine UCX 1.22.0 never completes that request. */
}

static void tested(void)
{
    size_t length = 77;
    ucs_status_ptr_t r = ucp_stream_recv_nbx(B.ep, in, 100, &length, &plain);
    HOLDS(UCS_PTR_IS_PTR(r));
    printf("tested while it waits: %s\n", name(ucp_stream_recv_request_test(r, &length)));
    fill(out, 40, 13);
    send_bytes(out, 40);
    UNTIL(ucp_request_check_status(r) != UCS_INPROGRESS);
    length = 77;
    ucs_status_t s = ucp_stream_recv_request_test(r, &length);
    printf("tested when it has ended: %s, %zu\n", name(s), length);
    ucp_request_free(r);
    HOLDS(same(in, 40, 13));
}

static void one_way(ucp_ep_h from, ucp_ep_h to, unsigned seed)
{
    size_t length;
    ucp_request_param_t p = with(UCP_STREAM_RECV_FLAG_WAITALL, ucp_dt_make_contig(1));
    fill(out, 20000, seed);
    memset(in, 0, 20000);
    ucs_status_ptr_t s = ucp_stream_send_nbx(from, out, 20000, &plain);
    HOLDS(finished(ucp_stream_recv_nbx(to, in, 20000, &length, &p)) == UCS_OK && finished(s) == UCS_OK);
    HOLDS(same(in, 20000, seed));
}

/* Endpoints to the own worker that don't lead back to themselves: two and two belong together. */
static void apart(void)
{
    ucp_ep_h e[4], self;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_FLAGS, .address = A.addr, .flags = UCP_EP_PARAMS_FLAGS_NO_LOOPBACK};
    for (int i = 0; i < 4; i++) {
        MUST(ucp_ep_create(A.w, &p, &e[i]));
        if (i == 2) let_it_arrive(); /* the fourth is known before it is made */
    }
    for (int i = 0; i < 4; i++) one_way(e[i], e[i ^ 1], 20 + i);
    p.flags = 0;
    MUST(ucp_ep_create(A.w, &p, &self));
    one_way(self, self, 30);
    printf("without loopback: two and two belong together\n");
    for (int i = 0; i < 4; i++) HOLDS(finished(ucp_ep_close_nbx(e[i], &plain)) == UCS_OK);
    HOLDS(finished(ucp_ep_close_nbx(self, &plain)) == UCS_OK);
}

static void closed(void)
{
    size_t length;
    ucp_request_param_t p = with(0, ucp_dt_make_contig(1));
    called = 0;
    ucs_status_ptr_t r = ucp_stream_recv_nbx(B.ep, in, 10, &length, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    close_side(&B);
    if (A.w == B.w) A.ep = NULL;
    printf("close with a receive waiting: %s\n", name(finished(r)));
}

int main(void)
{
    features = UCP_FEATURE_STREAM | UCP_FEATURE_TAG;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_USER_DATA;
    extra_ep_params.user_data = &A;
    for (int loop = 0; loop < 2; loop++) {
        printf("%s\n", loop ? "loopback" : "two workers");
        pair_open(loop);
        sizes();
        borders();
        mixed();
        elements();
        queued();
        iov();
        as_they_lie();
        poll_lists();
        old_calls();
        forced();
        tested();
        still_works();
        closed();
        pair_close();
    }
    open_side(&A);
    apart();
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    return finish();
}
