/* Connections break while both workers live: their sockets are shut down. What waits for the other side ends.
 * usage: cut unheard | gets | shared | away | one_closed | deadly
 *   unheard: the receiver has no lane that breaks, or one that can be had again, and asks a sender that has failed
 *   gets:    one of several endpoints' connections breaks; the others go on, or fail, and nothing waits for ever
 *   shared:  FAILOVER over shared memory and a network at once: nothing is lost with the network
 *   away:    FAILOVER, all connections break while one side, or both, are elsewhere for long: nothing is lost
 *   one_closed: FAILOVER, the peer has closed its end and all connections break: its worker still gets everything
 *   deadly:  FAILOVER, UCX_FAULT_BYTES below one piece of a message: each lane dies of it, until it is given up */
#include "capi.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum { LEN = 300000, SHARED = 5000000, ENDS = 3, AM = 3 };
static const ucp_err_handling_mode_t FAILOVER = (ucp_err_handling_mode_t)2; /* which older headers don't name */
static char out[SHARED], in[SHARED];
static int failures;
static void *described;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { failures++; }

static ucs_status_t on_am(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    described = data;
    return UCS_INPROGRESS;
}

/* Shuts down connection number `which` of this process, or (-1) all. Returns how many there are. */
static int cut(int which)
{
    int n = 0;
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &len) || (peer.ss_family != AF_INET && peer.ss_family != AF_INET6)) continue;
        if (which < 0 || n == which) shutdown(fd, SHUT_RDWR);
        n++;
    }
    return n;
}

static void open_sides(ucp_err_handling_mode_t mode)
{
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = mode;
    extra_ep_params.err_handler.cb = on_error;
    failures = 0;
    open_side(&A);
    open_side(&B);
    connect_to(&A, B.addr);
}

static void close_by_force(struct side *s)
{
    static const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (s->ep) finished(ucp_ep_close_nbx(s->ep, &force));
    s->ep = NULL;
}

static void close_both(void)
{
    close_by_force(&A);
    close_by_force(&B);
}

/* A short message, taken by the other side. */
static void exchange(struct side *from, struct side *to, ucp_tag_t tag)
{
    ucs_status_ptr_t r = ucp_tag_recv_nbx(to->w, in, 8, tag, ALL, &plain), s = ucp_tag_send_sync_nbx(from->ep, out, 8, tag, &plain);
    MUST(finished(s));
    MUST(finished(r));
}

/* ---- a receive asks a sender that has failed ------------------------------------------------------- */

enum moment { BEFORE, AFTER, CLOSED, MOMENTS };
static const char *const moments[] = {"before the break", "after it", "after the sender's end was closed"};

static ucs_status_ptr_t receive(ucp_tag_message_h m)
{
    return m ? ucp_tag_msg_recv_nbx(B.w, in, LEN, m, &plain) : ucp_am_recv_data_nbx(B.w, described, in, LEN, &plain);
}

static void unheard(int am, int own_end, enum moment moment)
{
    static const ucp_request_param_t large = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_RNDV};
    ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = AM, .cb = on_am};
    ucp_tag_message_h m = NULL;
    ucp_tag_recv_info_t info;
    ucs_status_ptr_t r = NULL;
    open_sides(UCP_ERR_HANDLING_MODE_PEER);
    MUST(ucp_worker_set_am_recv_handler(B.w, &handler));
    if (own_end) connect_to(&B, A.addr);
    described = NULL;
    ucs_status_ptr_t s = am ? ucp_am_send_nbx(A.ep, AM, NULL, 0, out, LEN, &large) : ucp_tag_send_nbx(A.ep, out, LEN, 7, &plain);
    UNTIL(am ? described != NULL : (m = ucp_tag_probe_nb(B.w, 0, 0, 1, &info)) != NULL);
    if (moment == BEFORE) r = receive(m);
    HOLDS(cut(-1) > 0);
    UNTIL(failures);
    if (finished(s) == UCS_OK) DIE("the send has succeeded");
    if (moment == CLOSED) close_by_force(&A);
    if (moment != BEFORE) r = receive(m);
    ucs_status_t got = finished(r);
    if (got == UCS_OK) DIE("the receive has succeeded");
    printf("%s, %s, received %s: ends\n", am ? "active message" : "tagged message", own_end ? "an end of its own" : "none", moments[moment]);
    close_both();
    pair_close();
}

/* ---- several endpoints between two workers ---------------------------------------------------------- */

static ucs_status_t get(ucp_ep_h ep, ucp_rkey_h key) { return finished(ucp_get_nbx(ep, out, 8, (uint64_t)in, key, &plain)); }

/* The first use is in the order from `first` on: so the ends that answer belong to others than their connections do. */
static void gets(int first, int which)
{
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = in, .length = sizeof in};
    ucp_ep_h eps[ENDS];
    ucp_rkey_h keys[ENDS];
    ucp_mem_h mem;
    void *packed;
    size_t len;
    open_sides(UCP_ERR_HANDLING_MODE_PEER);
    MUST(ucp_mem_map(B.ctx, &map, &mem));
    MUST(ucp_rkey_pack(B.ctx, mem, &packed, &len));
    for (int i = 0; i < ENDS; i++) {
        if (i) connect_to(&A, B.addr);
        eps[i] = A.ep;
        MUST(ucp_ep_rkey_unpack(eps[i], packed, &keys[i]));
    }
    let_it_arrive();
    for (int i = 0; i < ENDS; i++) MUST(get(eps[(i + first) % ENDS], keys[(i + first) % ENDS]));
    HOLDS(cut(which) > which);
    UNTIL(failures);
    int failed = 0;
    for (int i = 0; i < ENDS; i++) failed += get(eps[i], keys[i]) != UCS_OK;
    HOLDS(failed >= 1);
    for (int i = 0; i < ENDS; i++) {
        ucp_rkey_destroy(keys[i]);
        A.ep = eps[i];
        close_by_force(&A);
    }
    ucp_rkey_buffer_release(packed);
    MUST(ucp_mem_unmap(B.ctx, mem));
    pair_close();
}

/* ---- over shared memory and a network ---------------------------------------------------------------- */

static void shared(void)
{
    open_sides(FAILOVER);
    connect_to(&B, A.addr);
    for (int i = 0; i < 8; i++) {
        fill(out, SHARED, i);
        ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, SHARED, i, ALL, &plain);
        ucs_status_ptr_t s = ucp_tag_send_nbx(A.ep, out, SHARED, i, &plain);
        /* There may be none at all. */
        if (i == 3) cut(-1);
        MUST(finished(s));
        MUST(finished(r));
        HOLDS(same(in, SHARED, i));
    }
    HOLDS(!failures);
    pair_close();
}

/* ---- one side is elsewhere --------------------------------------------------------------------------- */

enum { AWAY = 15 }; /* tenths of a second, many times UCX_FAILOVER_DETECT_TIME */

/* `here`: who goes on meanwhile; those that are away have seen the end of their lanes first, or (not `seen`) have not. */
static void away(struct side *here, int seen)
{
    open_sides(FAILOVER);
    connect_to(&B, A.addr);
    exchange(&A, &B, 0);
    exchange(&B, &A, 1);
    fill(out, LEN, seen);
    memset(in, 0, LEN);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, LEN, 7, ALL, &plain), s = ucp_tag_send_sync_nbx(A.ep, out, LEN, 7, &plain);
    HOLDS(cut(-1) > 0);
    for (int i = 0; i < 20 && seen; i++) progress();
    for (double end = now() + AWAY / 10.; now() < end;) {
        if (here) ucp_worker_progress(here->w);
        usleep(1000);
    }
    MUST(finished(s));
    MUST(finished(r));
    HOLDS(same(in, LEN, seen) && !failures);
    printf("%s here, %s: goes on\n", here == &A ? "the sender" : here ? "the receiver" : "nobody", seen ? "all have seen it" : "unseen");
    close_both();
    pair_close();
}

/* ---- the peer has closed its end in order ------------------------------------------------------------ */

/* Its worker still receives what is sent to it: short messages that fill sockets and queues, and one of many fragments
 * that has begun to come in, though all connections break before it has been read. `closes`: our end is closed as well. */
static void one_closed(int closes)
{
    enum { N = 180, SHORT = 1000 };
    ucs_status_ptr_t sends[N + 1], close = NULL, r;
    open_sides(FAILOVER);
    connect_to(&B, A.addr);
    exchange(&A, &B, 8);
    exchange(&B, &A, 8);
    close_side(&B);
    r = ucp_tag_recv_nbx(B.w, in, LEN, 1000, ALL, &plain);
    fill(out, LEN, 3);
    sends[N] = ucp_tag_send_nbx(A.ep, out, LEN, 1000, &plain);
    progress();
    for (int i = 0; i < N; i++) sends[i] = ucp_tag_send_nbx(A.ep, out, SHORT, i, &plain);
    if (closes) {
        close = ucp_ep_close_nbx(A.ep, &plain);
        A.ep = NULL;
    }
    HOLDS(cut(-1) > 0);
    MUST(finished(r));
    HOLDS(same(in, LEN, 3));
    for (int i = 0; i < N; i++) {
        MUST(finished(ucp_tag_recv_nbx(B.w, in, SHORT, i, ALL, &plain)));
        HOLDS(same(in, SHORT, 3));
    }
    for (int i = 0; i <= N; i++) MUST(finished(sends[i]));
    MUST(finished(close));
    HOLDS(!failures);
    printf("one end closed, %s: all has come\n", closes ? "then the other" : "the other open");
    close_both();
    pair_close();
}

/* ---- every lane dies of the same message ------------------------------------------------------------- */

static void deadly(void)
{
    open_sides(FAILOVER);
    connect_to(&B, A.addr);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, LEN, 7, ALL, &plain), s = ucp_tag_send_nbx(A.ep, out, LEN, 7, &plain);
    UNTIL(failures == 2);
    HOLDS(finished(s) != UCS_OK && finished(r) != UCS_OK);
    close_both();
    /* The two workers can connect again, and what is short goes. */
    failures = 0;
    connect_to(&A, B.addr);
    connect_to(&B, A.addr);
    exchange(&A, &B, 8);
    HOLDS(!failures);
    close_both();
    pair_close();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
    if (!strcmp(what, "unheard")) {
        for (int am = 0; am < 2; am++)
            for (int own = 0; own < 2; own++)
                for (enum moment m = 0; m < MOMENTS; m++) unheard(am, own, m);
    } else if (!strcmp(what, "gets")) {
        for (int first = 0; first < ENDS; first++)
            for (int which = 0; which < ENDS; which++) gets(first, which);
    } else if (!strcmp(what, "shared")) {
        shared();
    } else if (!strcmp(what, "away")) {
        struct side *here[] = {&A, &B, NULL};
        for (int i = 0; i < 6; i++) away(here[i % 3], i / 3);
    } else if (!strcmp(what, "one_closed")) {
        for (int closes = 0; closes < 2; closes++) one_closed(closes);
    } else if (!strcmp(what, "deadly")) {
        deadly();
    } else {
        DIE("usage: cut unheard | gets | shared | away | one_closed | deadly");
    }
    return finish();
}
