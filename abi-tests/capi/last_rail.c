/* Two processes on two hosts; all links between them are lost, while every kind of operation is under way or while there
 * is nothing to do. Every request ends, once, and the processes connect again when the links are back.
 * Or the links are back soon: then both sides go on, or both end as above.
 *
 *   last_rail lead|follow DIR MODE busy|idle|blink [ROUNDS]     MODE: number of the error handling mode
 *
 * Files in DIR: `meet` (the socket by which they meet), `ready-ROLE` (traffic is under way, or has ended for good),
 * `failed-ROLE` (all has ended here), `again` (from outside: the links are back); in the n-th round of blinking also `check-n`
 * (from outside: the links are back), `alive-n-ROLE` (all has ended well here), `failed-n-ROLE`, `next-n` (from outside), `again-n-ROLE` (connected again). */
#include "two_hosts.h"

enum { MOST = 256, BIG = 1 << 20, RECVS = 16 };
static const char *role;
static int failed;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    if (leaving) return;
    if (failed) DIE("the error handler runs twice");
    failed = 1;
    printf("%s: endpoint failed: %s\n", role, name(s));
}
static void say_as(const char *what)
{
    char file[64];
    snprintf(file, sizeof file, "%s-%s", what, role);
    say(file);
}
static const char *of_round(const char *what, int round)
{
    static char name[64];
    snprintf(name, sizeof name, "%s-%d", what, round);
    return name;
}

/* ---- requests, counted ------------------------------------------------------------------------------- */

/* Places of requests under way. A number tells one from those that had its place before. */
static struct { uint64_t number; int ended; } all[MOST];
static uint64_t last_number, posted, ended;
static int in_error;
static int under_way(uint64_t number) { return number && all[number % MOST].number == number && !all[number % MOST].ended; }
static uint64_t next(void)
{
    do last_number++; while (under_way(all[last_number % MOST].number));
    all[last_number % MOST].number = last_number;
    all[last_number % MOST].ended = 0;
    posted++;
    return last_number;
}
static void over(uint64_t number, ucs_status_t s)
{
    if (!under_way(number)) DIE("request %lu ends twice", (unsigned long)number);
    all[number % MOST].ended = 1;
    ended++;
    in_error += s != UCS_OK;
}
static void sent(void *req, ucs_status_t s, void *user) { over((uintptr_t)user, s); ucp_request_free(req); }
static void got(void *req, ucs_status_t s, const ucp_tag_recv_info_t *info, void *user) { over((uintptr_t)user, s); ucp_request_free(req); }
static void got_am(void *req, ucs_status_t s, size_t len, void *user) { over((uintptr_t)user, s); ucp_request_free(req); }
static ucp_request_param_t param(uint64_t number)
{
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .cb.send = sent, .user_data = (void *)(uintptr_t)number};
}
static void begun(uint64_t number, ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) over(number, UCS_PTR_STATUS(r));
}
static int is_under_way(ucs_status_ptr_t r) { return UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS; }
static int room(void) { return posted - ended < MOST - 4 * RECVS; }

static unsigned char *from, *into[RECVS], *am_into;
static ucs_status_t am_come(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (!(p->recv_attr & AM_RNDV) || posted - ended >= MOST - 2 * RECVS) return UCS_OK;
    uint64_t i = next();
    ucp_request_param_t q = param(i);
    q.cb.recv_am = got_am;
    begun(i, ucp_am_recv_data_nbx(A.w, data, am_into, len, &q));
    return UCS_INPROGRESS;
}

/* One message each way, whole. False if the endpoint has failed. */
static int greet(unsigned seed, size_t len)
{
    static uint64_t tag = 77; /* What one that failed has left behind is not taken for another. */
    tag += 1 << 8;
    memset(into[0], 0, len);
    fill(from, len, seed);
    ucp_request_param_t none = {0}, q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, into[0], len, tag, ALL, &q);
    ucs_status_ptr_t s = ucp_tag_send_nbx(ep, from, len, tag, &none);
    double end = now() + 60;
    while ((is_under_way(s) || is_under_way(r)) && !failed) {
        if (!ucp_worker_progress(A.w)) sched_yield();
        if (now() > end) DIE("greeting: neither come nor failed");
    }
    /* It is a receive of no endpoint. */
    if (is_under_way(r)) ucp_request_cancel(A.w, r);
    ucs_status_t x = settled(s), y = settled(r);
    if (failed && (x != UCS_OK || y != UCS_OK)) return 0;
    if (x != UCS_OK || y != UCS_OK) DIE("greeting: %s and %s", name(x), name(y));
    HOLDS(same(into[0], len, seed));
    return 1;
}

/* Whether it is so on both sides. Both go on meanwhile: what has failed may have to be told. */
static int agree(char ours)
{
    char peers;
    give(&ours, 1);
    take_either(fd, &peers, 1, 1);
    return ours && peers;
}

/* Both begin again if the endpoints fail at once; never one without the other. */
static int in_vain;
static void connect_again(const ucp_address_t *theirs, int mode)
{
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    for (;; in_vain++) {
        agree(1);
        failed = 0;
        open_ep(theirs, mode, on_error);
        if (agree(greet(2, 8))) return;
        for (double end = now() + 20; !failed; ucp_worker_progress(A.w))
            if (now() > end) DIE("the other endpoint has failed, this one has not");
        settled(ucp_ep_close_nbx(ep, &force));
    }
}

static struct { uint64_t number; ucs_status_ptr_t req; } receives[RECVS];
static void receive(void)
{
    for (int s = 0; s < RECVS; s++)
        if (!under_way(receives[s].number)) {
            uint64_t i = receives[s].number = next();
            ucp_request_param_t q = param(i);
            q.cb.recv = got;
            q.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            receives[s].req = ucp_tag_recv_nbx(A.w, into[s], BIG, 5, ALL, &q);
            begun(i, receives[s].req);
        }
}
static void post(int k, uint64_t va, ucp_rkey_h rkey)
{
    static uint64_t result, one = 1;
    uint64_t i = next();
    ucp_request_param_t q = param(i);
    size_t len = k % 3 ? 8 : k % 2 ? 30000 : BIG;
    switch (k % 9) {
    case 0: case 1: begun(i, ucp_tag_send_nbx(ep, from, len, 5, &q)); break;
    case 2: begun(i, ucp_tag_send_sync_nbx(ep, from, len, 5, &q)); break;
    case 3: case 4: begun(i, ucp_am_send_nbx(ep, 3, NULL, 0, from, len, &q)); break;
    case 5: begun(i, ucp_stream_send_nbx(ep, from, len, &q)); break;
    case 6: begun(i, ucp_put_nbx(ep, from, len, va, rkey, &q)); break;
    case 7: begun(i, ucp_get_nbx(ep, am_into, len, va, rkey, &q)); break;
    case 8:
        if (k & 1) {
            begun(i, ucp_ep_flush_nbx(ep, &q));
            break;
        }
        q.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        q.datatype = ucp_dt_make_contig(8);
        q.reply_buffer = &result;
        begun(i, ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &one, 1, va, rkey, &q));
    }
}

/* Posts until the endpoint has failed; `idle`: only for a moment. */
static void flood(int idle, uint64_t va, ucp_rkey_h rkey)
{
    enum { BEFORE_READY = 50, MOMENT = 100 };
    int posting = 1, ready = 0;
    for (int k = 0; !failed; k++) {
        for (int i = 0; i < 20; i++) ucp_worker_progress(A.w);
        if (!idle && k == BEFORE_READY) say_as("ready");
        size_t n;
        void *data = ucp_stream_recv_data_nb(ep, &n);
        if (UCS_PTR_IS_PTR(data)) ucp_stream_data_release(ep, data);
        receive();
        if (idle && k == MOMENT) posting = 0;
        if (posting && room()) post(k, va, rkey);
        if (!posting && !ready && posted - ended == RECVS) {
            ready = 1;
            say_as("ready");
        }
    }
}

/* After the failure all ends soon; what waits for a message that never comes is the program's to cancel. */
static void end_all(void)
{
    double start = now();
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    for (int s = 0; s < RECVS; s++)
        if (under_way(receives[s].number)) ucp_request_cancel(A.w, receives[s].req);
    while (ended < posted) {
        ucp_worker_progress(A.w);
        if (now() > start + 5) DIE("%lu of %lu requests ended, 5 s after the endpoint", (unsigned long)ended, (unsigned long)posted);
    }
}

/* The endpoint has failed, and is closed. */
static void bury(ucp_rkey_h rkey)
{
    ucp_request_param_t none = {0}, force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    end_all();
    HOLDS(in_error > 0);
    ucs_status_ptr_t r = ucp_tag_send_nbx(ep, from, 8, 5, &none);
    if (UCS_PTR_IS_PTR(r)) HOLDS(settled(r) < 0);
    else HOLDS(UCS_PTR_IS_ERR(r));
    ucp_rkey_destroy(rkey);
    settled(ucp_ep_close_nbx(ep, &force));
    printf("%s: %lu requests, %d with an error, each once\n", role, (unsigned long)posted, in_error);
}

static void wait_for(const char *file)
{
    for (double end = now() + 60; !heard(file); usleep(1000)) {
        ucp_worker_progress(A.w);
        if (now() > end) DIE("no %s", file);
    }
}

/* Traffic while the links go and come. True if it goes on, false if the endpoint has failed. */
static int survives(int round, uint64_t va, ucp_rkey_h rkey)
{
    int posting = 1, alive = 0;
    char check[64], next_round[64];
    snprintf(check, sizeof check, "%s", of_round("check", round));
    snprintf(next_round, sizeof next_round, "%s", of_round("next", round));
    double end = now() + 60;
    for (int k = 0; !failed; k++) {
        for (int i = 0; i < 20; i++) ucp_worker_progress(A.w);
        size_t n;
        void *data = ucp_stream_recv_data_nb(ep, &n);
        if (UCS_PTR_IS_PTR(data)) ucp_stream_data_release(ep, data);
        receive();
        if (k % 16 == 0) {
            if (heard(check)) posting = 0;
            if (alive && heard(next_round)) return 1;
        }
        if (posting && room()) post(k, va, rkey);
        if (!posting && !alive && posted - ended == RECVS) {
            alive = 1;
            say_as(of_round("alive", round));
        }
        if (now() > end) DIE("round %d: neither failed nor going on; %lu requests left", round, (unsigned long)(posted - ended));
    }
    return 0;
}

static int blink(int rounds, int mode, const ucp_address_t *theirs, uint64_t va, ucp_rkey_h rkey, const void *packed)
{
    int survived = 0;
    say_as("ready");
    for (int round = 0; round < rounds; round++) {
        if (survives(round, va, rkey)) {
            survived++;
            continue;
        }
        bury(rkey);
        say_as(of_round("failed", round));
        wait_for(of_round("next", round));
        in_error = 0;
        connect_again(theirs, mode);
        MUST(ucp_ep_rkey_unpack(ep, packed, &rkey));
        say_as(of_round("again", round));
    }
    printf("%s: %d of %d rounds survived, %d times connected in vain\n", role, survived, rounds, in_vain);
    for (int s = 0; s < RECVS; s++)
        if (under_way(receives[s].number)) ucp_request_cancel(A.w, receives[s].req);
    return part();
}

int main(int argc, char **argv)
{
    HOLDS(argc >= 5);
    role = argv[1], dir = argv[2];
    int leads = !strcmp(role, "lead"), mode = atoi(argv[3]), idle = !strcmp(argv[4], "idle");
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    from = malloc(BIG), am_into = malloc(BIG);
    for (int s = 0; s < RECVS; s++) into[s] = malloc(BIG);
    ucp_address_t *theirs = find_each_other(leads);
    MUST(set_with(A.w, 3, am_come, NULL, 0));
    open_ep(theirs, mode, on_error);
    give_window(aligned_alloc(4096, BIG), BIG);
    uint64_t va;
    void *packed;
    ucp_rkey_h rkey = take_window(&va, &packed);
    HOLDS(greet(1, 100000));
    if (!strcmp(argv[4], "blink")) return blink(atoi(argv[5]), mode, theirs, va, rkey, packed);

    flood(idle, va, rkey);
    bury(rkey);
    say_as("failed");
    wait_for("again");
    connect_again(theirs, mode);
    HOLDS(greet(3, BIG));
    return part();
}
