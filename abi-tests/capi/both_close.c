/* Both ends of a connection by socket address are closed in order while what one of them, or both, have sent is not
 * received: every close ends, and every operation, in whatever order. `address`: of one by worker address, where the
 * worker may receive all the same: it loses nothing. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

#define LARGE (1 << 20)

static char out[2][LARGE], target[2][LARGE];
static ucp_mem_h memory[2];
static ucp_rkey_h keys[2];
static void *kept[2]; /* the data of an active message that nobody has received yet */
static int failures[2], wrong;
static ucp_conn_request_h asked;
static struct sockaddr_in at;
static ucp_listener_h listener;
static ucp_err_handling_mode_t mode;
static int by_address;

static struct side *side(int i) { return i ? &B : &A; }

static void on_request(ucp_conn_request_h request, void *arg) { asked = request; }
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status) { ++*(int *)arg; }

static ucs_status_t on_message(void *arg, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) return UCS_OK;
    *(void **)arg = data;
    return UCS_INPROGRESS;
}

static void listen_and_map(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM | UCP_FEATURE_RMA;
    open_side(&A);
    open_side(&B);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = 0;
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
    MUST(ucp_listener_create(B.w, &p, &listener));
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(listener, &attr));
    at.sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    for (int i = 0; i < 2; i++) {
        ucp_am_handler_param_t h = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                  UCP_AM_HANDLER_PARAM_FIELD_ARG, .id = 3, .cb = on_message, .arg = &kept[i]};
        MUST(ucp_worker_set_am_recv_handler(side(i)->w, &h));
        ucp_mem_map_params_t m = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                  .address = target[i], .length = LARGE};
        MUST(ucp_mem_map(side(i)->ctx, &m, &memory[i]));
    }
}

static void unlisten(void)
{
    ucp_listener_destroy(listener);
    for (int i = 0; i < 2; i++) MUST(ucp_mem_unmap(side(i)->ctx, memory[i]));
    pair_close();
}

static ucp_ep_params_t params(int i)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, .err_mode = mode};
    if (mode == UCP_ERR_HANDLING_MODE_NONE) return p;
    p.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
    p.err_handler.cb = on_error;
    p.err_handler.arg = &failures[i];
    return p;
}

static void unpack(int i)
{
    void *packed;
    size_t n;
    MUST(ucp_rkey_pack(side(!i)->ctx, memory[!i], &packed, &n));
    MUST(ucp_ep_rkey_unpack(side(i)->ep, packed, &keys[i]));
    ucp_rkey_buffer_release(packed);
}

static void exchange(void)
{
    for (int i = 0; i < 2; i++) {
        long v = 1, w = 0;
        ucs_status_ptr_t r = ucp_tag_recv_nbx(side(!i)->w, &w, sizeof w, 7, ALL, &plain);
        MUST(finished(ucp_tag_send_nbx(side(i)->ep, &v, sizeof v, 7, &plain)));
        MUST(finished(r));
    }
}

static void connected(void)
{
    memset(failures, 0, sizeof failures);
    if (by_address) {
        for (int i = 0; i < 2; i++) {
            extra_ep_params = params(i);
            connect_to(side(i), side(!i)->addr);
        }
        return exchange();
    }
    ucp_ep_params_t p = params(0), q = params(1);
    p.field_mask |= UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    UNTIL(asked);
    q.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    q.conn_request = asked;
    MUST(ucp_ep_create(B.w, &q, &B.ep));
    asked = NULL;
    exchange();
}

/* Tagged and active messages that have come to worker `i` are received, whoever has closed what. */
static void receive_at(int i)
{
    static char in[LARGE];
    ucp_tag_recv_info_t info;
    ucp_tag_message_h m;
    let_it_arrive();
    memset(in, 0, sizeof in);
    while ((m = ucp_tag_probe_nb(side(i)->w, 5, ALL, 1, &info))) {
        ucs_status_t s = finished(ucp_tag_msg_recv_nbx(side(i)->w, in, sizeof in, m, &plain));
        if (by_address && (s != UCS_OK || !same(in, info.length, !i))) DIE("received: %s", name(s));
    }
    if (kept[i] && by_address) {
        MUST(finished(ucp_am_recv_data_nbx(side(i)->w, kept[i], in, sizeof in, &plain)));
        HOLDS(same(in, sizeof in, !i));
    } else if (kept[i]) ucp_am_data_release(side(i)->w, kept[i]);
    kept[i] = NULL;
}

enum { EAGER, RNDV, SYNC, MESSAGE, STREAM, PUT, GET, OPS };
static const char *const ops[] = {"eager", "rendezvous", "synchronous", "active message", "stream", "put", "get"};

static ucs_status_ptr_t post(int op, int i)
{
    ucp_ep_h ep = side(i)->ep;
    ucp_request_param_t am = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_RNDV};
    switch (op) {
    case EAGER: return ucp_tag_send_nbx(ep, out[i], 4000, 5, &plain);
    case RNDV: return ucp_tag_send_nbx(ep, out[i], LARGE, 5, &plain);
    case SYNC: return ucp_tag_send_sync_nbx(ep, out[i], 100, 5, &plain);
    case MESSAGE: return ucp_am_send_nbx(ep, 3, NULL, 0, out[i], LARGE, &am);
    case STREAM: return ucp_stream_send_nbx(ep, out[i], LARGE, &plain);
    case PUT: return ucp_put_nbx(ep, out[i], LARGE, (uintptr_t)target[!i], keys[i], &plain);
    default: return ucp_get_nbx(ep, out[i], LARGE, (uintptr_t)target[!i], keys[i], &plain);
    }
}

static int ended(ucs_status_ptr_t r) { return !UCS_PTR_IS_PTR(r) || ucp_request_check_status(r) != UCS_INPROGRESS; }

/* What an operation, and a close, may end with: one that needs a receiver is told that there is none. */
static int allowed(ucs_status_t s) { return s == UCS_OK || s == UCS_ERR_CONNECTION_RESET || s == UCS_ERR_CANCELED; }

/* `who` sends: a bit for each side; `first` closes first; with progress between the two or not, after the message
 * has arrived or not. */
static void run(int op, int who, int first, int between, int arrived)
{
    ucs_status_ptr_t sent[2] = {NULL, NULL}, closed[2];
    memset(kept, 0, sizeof kept);
    for (int i = 0; i < 2; i++) fill(out[i], LARGE, i);
    connected();
    for (int i = 0; i < 2; i++) unpack(i);
    for (int i = 0; i < 2; i++) if (who >> i & 1) sent[i] = post(op, i);
    if (arrived) let_it_arrive();
    for (int k = 0; k < 2; k++) {
        int i = first ^ k;
        closed[i] = ucp_ep_close_nbx(side(i)->ep, &plain);
        side(i)->ep = NULL;
        if (k == 0 && between) let_it_arrive();
    }
    if (by_address && arrived) let_it_arrive();
    if (by_address && arrived && (op == RNDV || op == SYNC || op == MESSAGE))
        for (int i = 0; i < 2; i++) if (sent[i]) HOLDS(!ended(sent[i]) && !ended(closed[i]));
    if (by_address) for (int i = 0; i < 2; i++) receive_at(i);
    double end = now() + (getenv("PATIENCE") ? atof(getenv("PATIENCE")) : 20);
    while (!(ended(sent[0]) && ended(sent[1]) && ended(closed[0]) && ended(closed[1])) && now() < end) progress();
    int over = now() < end;
    char line[400], *said = line;
    for (int i = 0; i < 2; i++) {
        ucs_status_t s = ended(sent[i]) ? finished(sent[i]) : UCS_INPROGRESS;
        if (!allowed(s) || by_address && s != UCS_OK) over = 0;
        said += sprintf(said, " send %s,", sent[i] ? name(s) : "-");
    }
    for (int i = 0; i < 2; i++) {
        ucs_status_t s = ended(closed[i]) ? finished(closed[i]) : UCS_INPROGRESS;
        if (!allowed(s) || by_address && s != UCS_OK) over = 0;
        /* A close that has begun before the peer's was known ends in good order. */
        if (mode != UCP_ERR_HANDLING_MODE_NONE && s != UCS_OK && !failures[i]) over = 0;
        said += sprintf(said, " close %s, told %d%s", name(s), failures[i], i ? "" : ",");
    }
    if (!over) {
        printf("%s", "WRONG ");
        wrong++;
    }
    if (!over || getenv("EACH")) {
        static const char *const sides[] = {"nobody", "client", "server", "both"};
        printf("%s, from %s, %s first%s%s:%s\n", ops[op], sides[who], first ? "server" : "client",
               between ? ", progress between" : "", arrived ? ", arrived" : "", line);
    }
    for (int i = 0; i < 2; i++) {
        receive_at(i);
        ucp_rkey_destroy(keys[i]);
    }
    if (!over) {
        unlisten();
        listen_and_map();
    }
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "peer";
    by_address = argc > 2 && !strcmp(argv[2], "address");
    mode = !strcmp(wanted, "peer") ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
#ifndef HEADERS_1_13_1
    if (!strcmp(wanted, "failover")) mode = UCP_ERR_HANDLING_MODE_FAILOVER;
#endif
    listen_and_map();
    int cases = 0;
    for (int op = 0; op < OPS; op++)
        for (int who = 1; who < 4; who++)
            for (int how = 0; how < 8; how++, cases++) run(op, who, how & 1, how >> 1 & 1, how >> 2);
    printf("%d cases, %d wrong\n", cases, wrong);
    unlisten();
    return finish();
}
