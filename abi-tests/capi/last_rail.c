/* Two processes on two hosts; all links between them are lost while every kind of operation is under way. Every request
 * ends, once, and the processes connect again when the links are back.
 *
 *   last_rail lead|follow DIR
 *
 * Files in DIR: `meet` (the socket by which they meet), `ready` (of the leader: traffic is under way), `failed-ROLE` (all has
 * ended here), `again` (from outside: the links are back). */
#include "am.h"
#include "pair.h"
#include <sys/stat.h>
#include <sys/un.h>

enum { MOST = 4096, BIG = 1 << 20, RECVS = 16 };
static const char *dir, *role;
static int failed, leaving;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    if (leaving) return;
    if (failed) DIE("the error handler runs twice");
    failed = 1;
    printf("%s: endpoint failed: %s\n", role, name(s));
}

static void path(char *to, const char *file) { snprintf(to, 300, "%s/%s", dir, file); }
static void say(const char *file)
{
    char p[300];
    path(p, file);
    FILE *f = fopen(p, "w");
    HOLDS(f);
    fclose(f);
}
static int heard(const char *file)
{
    char p[300];
    struct stat st;
    path(p, file);
    return stat(p, &st) == 0;
}
static void meet_at(int lead)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    path(a.sun_path, "meet");
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (lead) {
        HOLDS(bind(s, (void *)&a, sizeof a) == 0 && listen(s, 1) == 0);
        fd = accept(s, NULL, NULL);
    } else {
        for (double end = now() + 20; connect(s, (void *)&a, sizeof a); usleep(10000))
            if (now() > end) DIE("the other process does not come");
        fd = s;
    }
    HOLDS(fd >= 0);
}

/* ---- requests, counted ------------------------------------------------------------------------------- */

static struct { int busy, ends; ucs_status_t status; } all[MOST];
static int posted, ended, in_error;
static void over(int i, ucs_status_t s)
{
    if (all[i].ends++) DIE("request %d ends twice", i);
    all[i].status = s;
    ended++;
    in_error += s != UCS_OK;
}
static void sent(void *req, ucs_status_t s, void *user) { over((int)(intptr_t)user, s); ucp_request_free(req); }
static void got(void *req, ucs_status_t s, const ucp_tag_recv_info_t *info, void *user) { over((int)(intptr_t)user, s); ucp_request_free(req); }
static void got_am(void *req, ucs_status_t s, size_t len, void *user) { over((int)(intptr_t)user, s); ucp_request_free(req); }
static ucp_request_param_t param(int i)
{
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .cb.send = sent, .user_data = (void *)(intptr_t)i};
}
static void begun(int i, ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) over(i, UCS_PTR_STATUS(r));
}

static ucp_ep_h ep;
static unsigned char *from, *into[RECVS], *am_into;
static ucs_status_t am_come(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (!(p->recv_attr & AM_RNDV)) return UCS_OK;
    if (posted == MOST) return UCS_OK;
    int i = posted++;
    ucp_request_param_t q = param(i);
    q.cb.recv_am = got_am;
    begun(i, ucp_am_recv_data_nbx(A.w, data, am_into, len, &q));
    return UCS_INPROGRESS;
}
static void open_ep(const ucp_address_t *theirs)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = theirs, .err_mode = (ucp_err_handling_mode_t)2, .err_handler.cb = on_error};
    MUST(ucp_ep_create(A.w, &p, &ep));
}

/* One message each way, whole. */
static void greet(unsigned seed, size_t len)
{
    memset(into[0], 0, len);
    fill(from, len, seed);
    ucp_request_param_t none = {0}, q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, into[0], len, 77, ALL, &q);
    ucs_status_ptr_t s = ucp_tag_send_nbx(ep, from, len, 77, &none);
    ucs_status_t x = settled(s), y = settled(r);
    if (x != UCS_OK || y != UCS_OK) DIE("greeting: %s and %s", name(x), name(y));
    HOLDS(same(into[0], len, seed));
}

static int receives[RECVS];
static ucs_status_ptr_t pending[RECVS];
static void flood(int lead, uint64_t va, ucp_rkey_h rkey)
{
    static uint64_t result, one = 1;
    for (int k = 0; !failed; k++) {
        for (int i = 0; i < 20; i++) ucp_worker_progress(A.w);
        if (k == 50) say(lead ? "ready" : "ready-too");
        if (posted - ended > 200 || posted > MOST - 100) continue;
        for (int s = 0; s < RECVS; s++)
            if (!pending[s] || all[receives[s]].ends) {
                int i = receives[s] = posted++;
                ucp_request_param_t q = param(i);
                q.cb.recv = got;
                q.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
                pending[s] = ucp_tag_recv_nbx(A.w, into[s], BIG, 5, ALL, &q);
                begun(i, pending[s]);
            }
        int i = posted++;
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
        size_t n;
        void *data = ucp_stream_recv_data_nb(ep, &n);
        if (UCS_PTR_IS_PTR(data)) ucp_stream_data_release(ep, data);
    }
}

int main(int argc, char **argv)
{
    HOLDS(argc == 3);
    role = argv[1], dir = argv[2];
    int leads = !strcmp(role, "lead");
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    open_side(&A);
    from = malloc(BIG), am_into = malloc(BIG);
    for (int s = 0; s < RECVS; s++) into[s] = malloc(BIG);
    meet_at(leads);
    size_t n;
    give(&A.len, sizeof A.len);
    give(A.addr, A.len);
    take(&n, sizeof n);
    ucp_address_t *theirs = malloc(n);
    take(theirs, n);
    MUST(set_with(A.w, 3, am_come, NULL, 0));
    unsigned char *window = aligned_alloc(4096, BIG);
    ucp_mem_map_params_t m = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = window, .length = BIG};
    ucp_mem_h mem;
    void *packed;
    size_t len, their_len;
    uint64_t va = (uintptr_t)window, their_va;
    MUST(ucp_mem_map(A.ctx, &m, &mem));
    MUST(ucp_rkey_pack(A.ctx, mem, &packed, &len));
    give(&va, sizeof va);
    give(&len, sizeof len);
    give(packed, len);
    take(&their_va, sizeof their_va);
    take(&their_len, sizeof their_len);
    void *theirs_packed = malloc(their_len);
    take(theirs_packed, their_len);
    open_ep(theirs);
    ucp_rkey_h rkey;
    MUST(ucp_ep_rkey_unpack(ep, theirs_packed, &rkey));
    greet(1, 100000);

    flood(leads, their_va, rkey);
    double start = now();
    /* What waits for a message that never comes is the program's to cancel. */
    for (int i = 0; i < 1000; i++) ucp_worker_progress(A.w);
    for (int s = 0; s < RECVS; s++)
        if (UCS_PTR_IS_PTR(pending[s]) && !all[receives[s]].ends) ucp_request_cancel(A.w, pending[s]);
    while (ended < posted) {
        ucp_worker_progress(A.w);
        if (now() > start + 5) {
            for (int i = 0; i < posted; i++) if (!all[i].ends) printf("request %d has not ended\n", i);
            DIE("%d of %d requests ended, 5 s after the endpoint", ended, posted);
        }
    }
    for (int i = 0; i < posted; i++) HOLDS(all[i].ends == 1);
    HOLDS(in_error > 0);
    ucp_request_param_t none = {0}, force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t r = ucp_tag_send_nbx(ep, from, 8, 5, &none);
    if (UCS_PTR_IS_PTR(r)) HOLDS(settled(r) < 0);
    else HOLDS(UCS_PTR_IS_ERR(r));
    ucp_rkey_destroy(rkey);
    settled(ucp_ep_close_nbx(ep, &force));
    printf("%s: %d requests, %d with an error, each once\n", role, posted, in_error);
    say(leads ? "failed-lead" : "failed-follow");
    for (double end = now() + 60; !heard("again"); usleep(1000)) {
        ucp_worker_progress(A.w);
        if (now() > end) DIE("the links don't come back");
    }
    meet();
    failed = 0;
    open_ep(theirs);
    greet(2, 8);
    greet(3, BIG);
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
    leaving = 1;
    for (double end = now() + 0.3; now() < end;) ucp_worker_progress(A.w);
    printf("end\n");
    return 0;
}
