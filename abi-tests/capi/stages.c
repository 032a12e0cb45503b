/* Every protocol, and in it a lane that dies with each kind of message in turn: the message is lost with it, or has
 * arrived although the lane failed, or its completion fails. Prints a table; each cell is one transfer between two
 * contexts of this process, in error mode FAILOVER, all bytes checked.
 *
 *   stages rails DEV0,DEV1 LOG    over TCP on two devices; faults in those of the first
 *   stages near LOG               over shared memory and CMA; faults in CMA
 *   stages deaths LOG [ROUNDS]    the endpoint itself is failed by the fault: error mode PEER
 *
 * LOG is the file that UCX_LOG_FILE names, at level diag. A fault that does not happen during its transfer, by the
 * message that the cell is about, is a failure of the test. Beside LOG workers write LOG.counts at their end: keys that
 * were packed and released, unpacked and destroyed, whose sums are the last line of the table. */
#include "am.h"

#define DIES "fault injection: a lane"
enum { BIG = 700000, MOST = 1 << 20 };
enum op { TAG, SYNC, SHORT_RECV, AM, STREAM, PUT, GET, FETCH, ADD };
enum { SENT = 1, LATE = 2, COMPLETION = 4 };
static const char *fates[] = {"lost", "late", "failed"};
static const char *variables[] = {"FAULT_SEND", "FAULT_LATE_COMPLETION", "FAULT_COMPLETION"};

struct row {
    const char *name;
    enum op op;
    size_t len;
    const char *thresh, *scheme;
    /* Kinds of messages that it has, in the order of their sending; behind a colon how they can fail, if not both lost and late. */
    const char *kinds;
};
static const struct row rails[] = {
    {"tag, 8 bytes", TAG, 8, "inf", "auto", "eager_only"},
    {"tag, fragments", TAG, BIG, "inf", "auto", "eager_first eager_middle:7"},
    {"synchronous, 8 bytes", SYNC, 8, "inf", "auto", "sync_only sync_ack"},
    {"synchronous, fragments", SYNC, BIG, "inf", "auto", "sync_first eager_middle:7 sync_ack"},
    {"tag rndv, messages", TAG, BIG, "0", "am", "rts rtr rndv_data:7"},
    {"tag rndv, put", TAG, BIG, "0", "put_zcopy", "rts rtr rndv_put:7 atp"},
    {"tag rndv, put pipeline", TAG, BIG, "0", "put_ppln", "rts rtr rndv_put:7 atp ats"},
    {"tag rndv, too short", SHORT_RECV, BIG, "0", "auto", "rts ats"},
    {"AM, 8 bytes", AM, 8, "inf", "auto", "am_only"},
    {"AM, fragments", AM, BIG, "inf", "auto", "am_first am_middle:7"},
    {"AM rndv, messages", AM, BIG, "0", "am", "am_rts rtr rndv_data:7"},
    {"AM rndv, put", AM, BIG, "0", "put_zcopy", "am_rts rtr rndv_put:7 atp"},
    {"stream", STREAM, BIG, "inf", "auto", "stream"},
    {"put, 8 bytes", PUT, 8, "inf", "auto", "put flush answer"},
    {"put, long", PUT, BIG, "inf", "auto", "put rndv_put:7 flush answer"},
    {"get, 8 bytes", GET, 8, "inf", "auto", "get rndv_data"},
    {"get, long", GET, BIG, "inf", "auto", "get rndv_data:7"},
    {"fetch-add", FETCH, 8, "inf", "auto", "atomic atomic_reply"},
    {"add", ADD, 8, "inf", "auto", "atomic flush answer"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
static const struct row near[] = {
    {"tag rndv, get", TAG, BIG, "0", "get_zcopy", "get:7"},
    {"tag rndv, get pipeline", TAG, BIG, "0", "get_ppln", "get:7"},
    {"tag rndv, put", TAG, BIG, "0", "put_zcopy", "put:7"},
    {"tag rndv, put pipeline", TAG, BIG, "0", "put_ppln", "put:7"},
    {"AM rndv, get", AM, BIG, "0", "get_zcopy", "get:7"},
    {"AM rndv, put", AM, BIG, "0", "put_zcopy", "put:7"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
/* Messages over shared memory. That is no lane that can be lost while the peer lives: its end is that of the endpoint. */
static const struct row memory[] = {
    {"tag, 8 bytes", TAG, 8, "inf", "auto", "eager_only"},
    {"tag, fragments", TAG, BIG, "inf", "auto", "eager_first eager_middle"},
    {"synchronous, 8 bytes", SYNC, 8, "inf", "auto", "sync_only sync_ack"},
    {"tag rndv, get", TAG, BIG, "0", "get_zcopy", "rts ats"},
    {"tag rndv, get pipeline", TAG, BIG, "0", "get_ppln", "rts ats"},
    {"tag rndv, put", TAG, BIG, "0", "put_zcopy", "rts rtr atp"},
    {"tag rndv, put pipeline", TAG, BIG, "0", "put_ppln", "rts rtr atp"},
    {"tag rndv, messages", TAG, BIG, "0", "am", "rts rtr rndv_data"},
    {"tag rndv, mapped", TAG, BIG, "0", "rkey_ptr", "rts ats"},
    {"tag rndv, too short", SHORT_RECV, BIG, "0", "auto", "rts ats"},
    {"AM, fragments", AM, BIG, "inf", "auto", "am_first am_middle"},
    {"AM rndv, get", AM, BIG, "0", "get_zcopy", "am_rts ats"},
    {"stream", STREAM, BIG, "inf", "auto", "stream"},
    {"fetch-add", FETCH, 8, "inf", "auto", "atomic atomic_reply"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
/* Where an endpoint dies. */
static const struct place { const char *tls, *lanes; const struct row *rows; } places[] = {
    {"tcp", "tcp", rails}, {"posix,cma", "cma", near}, {"posix,cma", "posix", memory}};

static const char *log_file, *devices, *tls, *fault_lanes, *where;
static struct end {
    ucp_context_h ctx;
    ucp_worker_h w;
    ucp_ep_h ep;
} a, b;
static int errors, may_fail;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    errors++;
    if (!may_fail) DIE("%s: endpoint error: %s", where, name(s));
}

/* `variable` NULL: without faults. */
static void open_end(struct end *e, const struct row *row, const char *variable, const char *kind, const char *nth)
{
    ucp_config_t *c;
    char counts[400];
    snprintf(counts, sizeof counts, "file:%s.counts", log_file);
    MUST(ucp_config_read(NULL, NULL, &c));
    MUST(ucp_config_modify(c, "TLS", tls));
    if (devices) MUST(ucp_config_modify(c, "NET_DEVICES", devices));
    MUST(ucp_config_modify(c, "RNDV_THRESH", row->thresh));
    MUST(ucp_config_modify(c, "RNDV_SCHEME", row->scheme));
    MUST(ucp_config_modify(c, "RNDV_FRAG_SIZE", "host:256K"));
    MUST(ucp_config_modify(c, "FAILOVER_STATS", counts));
    if (variable) {
        MUST(ucp_config_modify(c, "FAULT_LANES", fault_lanes));
        MUST(ucp_config_modify(c, "FAULT_MESSAGES", kind));
        MUST(ucp_config_modify(c, variable, nth));
    }
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                      .features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
    MUST(ucp_init(&p, c, &e->ctx));
    ucp_config_release(c);
    ucp_worker_params_t w = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, .thread_mode = UCS_THREAD_MODE_SINGLE};
    MUST(ucp_worker_create(e->ctx, &w, &e->w));
}
static void connect_end(struct end *from, struct end *to, int mode)
{
    ucp_address_t *addr;
    size_t len;
    MUST(ucp_worker_get_address(to->w, &addr, &len));
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = addr, .err_mode = (ucp_err_handling_mode_t)mode, .err_handler.cb = on_error};
    MUST(ucp_ep_create(from->w, &p, &from->ep));
    ucp_worker_release_address(to->w, addr);
}
static void both(void) { ucp_worker_progress(a.w); ucp_worker_progress(b.w); }
static ucs_status_t settle(ucs_status_ptr_t r)
{
    double end = now() + 20;
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    while (ucp_request_check_status(r) == UCS_INPROGRESS) {
        both();
        if (now() > end) DIE("%s: nothing happens any more", where);
    }
    ucs_status_t s = ucp_request_check_status(r);
    ucp_request_free(r);
    return s;
}
static ucp_request_param_t none;

/* What the log has said since the last call. */
static int said(const char *what)
{
    static long at;
    static char text[1 << 20];
    if (!what) {
        FILE *f = fopen(log_file, "r");
        HOLDS(f && fseek(f, at, SEEK_SET) == 0);
        size_t n = fread(text, 1, sizeof text - 1, f);
        text[n] = 0;
        at += n;
        fclose(f);
        return 0;
    }
    int n = 0;
    for (char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

/* Adds what workers that have ended have counted since the last call. Each has let go of what it had. */
static const char *const key_names[] = {"packed", "released", "unpacked", "destroyed"};
static unsigned long keys[4];
/* What failover has had to do, which users may read there. */
static const char *const work_names[] = {"lanes_lost", "messages_sent_again", "attempts_restarted", "rndv_gone_on_as_messages"};
static unsigned long work[4];
static void count_keys(int workers)
{
    static long at;
    char path[400], line[200], name[50];
    unsigned long n, own[4] = {0};
    int ends = 0;
    snprintf(path, sizeof path, "%s.counts", log_file);
    FILE *f = fopen(path, "r");
    HOLDS(f && fseek(f, at, SEEK_SET) == 0);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, " %49[a-z_]: %lu", name, &n) != 2) continue;
        for (int i = 0; i < 4; i++) if (!strcmp(name, work_names[i])) work[i] += n;
        for (int i = 0; i < 4; i++)
            if (!strcmp(name, key_names[i])) {
                own[i] = n;
                keys[i] += n;
                if (i % 2 && own[i] != own[i - 1]) DIE("%s: %lu keys %s, %lu %s", where, own[i - 1], key_names[i - 1], n, name);
                ends += i == 3;
            }
    }
    at = ftell(f);
    fclose(f);
    if (ends != workers) DIE("%s: %d workers of %d have told their counts", where, ends, workers);
}

/* ---- the operations ---------------------------------------------------------------------------------- */

static unsigned char *from, *into, *window;
static struct { int done; ucs_status_t status; ucs_status_ptr_t req; } am;
static ucs_status_t am_come(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (p->recv_attr & AM_RNDV) {
        ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
        am.req = ucp_am_recv_data_nbx(b.w, data, into, len, &q);
        am.done = 1;
        return UCS_INPROGRESS;
    }
    memcpy(into, data, len);
    am.done = 1;
    return UCS_OK;
}
static ucs_status_t wait_am(void)
{
    for (double end = now() + 20; !am.done;) {
        both();
        if (now() > end) DIE("%s: no active message comes", where);
    }
    return am.req ? settle(am.req) : UCS_OK;
}
static ucs_status_t receive_stream(size_t len)
{
    size_t n = 0;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_STREAM_RECV_FLAG_WAITALL};
    return settle(ucp_stream_recv_nbx(b.ep, into, len, &n, &q));
}

/* A request of the other side, which may have to be closed for it to end. */
static void close_ep(struct end *e, int flush);
static ucs_status_t settle_or_close(struct end *e, ucs_status_ptr_t s)
{
    for (double end = now() + 0.1; UCS_PTR_IS_PTR(s) && ucp_request_check_status(s) == UCS_INPROGRESS && now() < end;) both();
    if (!UCS_PTR_IS_PTR(s) || ucp_request_check_status(s) != UCS_INPROGRESS) return settle(s);
    if (!may_fail) return settle(s);
    ucp_request_cancel(e->w, s);
    close_ep(e, 0);
    /* Memory that the peer may be writing is its until that has stopped. */
    for (double end = now() + 0.1; ucp_request_check_status(s) == UCS_INPROGRESS && now() < end;) both();
    if (ucp_request_check_status(s) == UCS_INPROGRESS) close_ep(e == &a ? &b : &a, 0);
    return settle(s);
}

/* The rest is one-sided. `second` gets what the other side's request ended with. */
static ucs_status_t one_sided(const struct row *row)
{
    ucp_mem_map_params_t m = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = window, .length = MOST};
    ucp_mem_h mem;
    ucp_rkey_h rkey;
    void *packed;
    size_t n;
    MUST(ucp_mem_map(b.ctx, &m, &mem));
    MUST(ucp_rkey_pack(b.ctx, mem, &packed, &n));
    ucs_status_t s = ucp_ep_rkey_unpack(a.ep, packed, &rkey);
    ucp_rkey_buffer_release(packed);
    if (s != UCS_OK) {
        if (!may_fail) DIE("%s: no key: %s", where, name(s));
        ucp_mem_unmap(b.ctx, mem);
        return s;
    }
    uint64_t at = (uintptr_t)window, one = 5, old = 0;
    ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
    switch (row->op) {
    case PUT: s = settle_or_close(&a, ucp_put_nbx(a.ep, from, row->len, at, rkey, &none)); break;
    case GET:
        memcpy(window, from, row->len);
        s = settle_or_close(&a, ucp_get_nbx(a.ep, into, row->len, at, rkey, &none));
        break;
    case FETCH:
        q.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        q.reply_buffer = &old;
        memset(window, 0, 8);
        for (int i = 0; i < 3 && s == UCS_OK; i++) {
            s = settle_or_close(&a, ucp_atomic_op_nbx(a.ep, UCP_ATOMIC_OP_ADD, &one, 1, at, rkey, &q));
            if (s == UCS_OK && old != 5u * i) DIE("%s: fetched %lu", where, old);
        }
        break;
    default:
        memset(window, 0, 8);
        for (int i = 0; i < 3 && s == UCS_OK; i++) s = settle_or_close(&a, ucp_atomic_op_nbx(a.ep, UCP_ATOMIC_OP_ADD, &one, 1, at, rkey, &q));
    }
    if (s == UCS_OK && a.ep && row->op != GET && row->op != FETCH) s = settle_or_close(&a, ucp_ep_flush_nbx(a.ep, &none));
    if (s == UCS_OK && row->op == PUT) memcpy(into, window, row->len);
    if (s == UCS_OK && (row->op == FETCH || row->op == ADD)) {
        uint64_t sum;
        memcpy(&sum, window, 8);
        if (sum != 15) DIE("%s: the sum is %lu", where, sum);
        memcpy(into, from, row->len);
    }
    ucp_rkey_destroy(rkey);
    ucp_mem_unmap(b.ctx, mem);
    return s;
}

static unsigned char *shared(size_t len, ucp_mem_h *mem)
{
    ucp_mem_map_params_t m = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS, .length = len, .flags = UCP_MEM_MAP_ALLOCATE};
    ucp_mem_attr_t at = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    MUST(ucp_mem_map(a.ctx, &m, mem));
    MUST(ucp_mem_query(*mem, &at));
    return at.address;
}

/* Both sides' results; bytes are checked if both are OK. */
static void transfer(const struct row *row, unsigned seed, ucs_status_t *first, ucs_status_t *second)
{
    ucs_status_ptr_t r, s;
    fill(from, row->len, seed);
    memset(into, 0, row->len);
    *second = UCS_OK;
    switch (row->op) {
    case TAG: case SYNC: case SHORT_RECV: {
        ucp_request_param_t q = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
        ucp_mem_h mem = NULL;
        unsigned char *source = from;
        if (!strcmp(row->scheme, "rkey_ptr")) { /* memory that the other side can map */
            source = shared(row->len, &mem);
            memcpy(source, from, row->len);
        }
        s = ucp_tag_recv_nbx(b.w, into, row->op == SHORT_RECV ? row->len / 2 : row->len, seed, ALL, &q);
        r = row->op == SYNC ? ucp_tag_send_sync_nbx(a.ep, source, row->len, seed, &none) : ucp_tag_send_nbx(a.ep, source, row->len, seed, &none);
        *first = settle_or_close(&a, r);
        *second = settle_or_close(&b, s);
        if (mem) ucp_mem_unmap(a.ctx, mem);
        if (row->op == SHORT_RECV && *second == UCS_ERR_MESSAGE_TRUNCATED) {
            *second = UCS_OK;
            memcpy(into, from, row->len);
        }
        break;
    }
    case AM: {
        memset(&am, 0, sizeof am);
        MUST(set_with(b.w, 3, am_come, NULL, 0));
        *first = settle_or_close(&a, ucp_am_send_nbx(a.ep, 3, NULL, 0, from, row->len, &none));
        for (double end = now() + 0.1; may_fail && !am.done && now() < end;) both();
        if (may_fail) *second = am.done ? settle_or_close(&b, am.req) : UCS_ERR_CANCELED;
        else *second = wait_am();
        break;
    }
    case STREAM:
        *first = settle_or_close(&a, ucp_stream_send_nbx(a.ep, from, row->len, &none));
        *second = *first == UCS_OK && !may_fail ? receive_stream(row->len) : UCS_ERR_CANCELED;
        break;
    default: *first = one_sided(row);
    }
    if (*first == UCS_OK && *second == UCS_OK && memcmp(from, into, row->len)) DIE("%s: wrong bytes", where);
}

static void close_ep(struct end *e, int flush)
{
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (!e->ep) return;
    ucs_status_t s = settle(ucp_ep_close_nbx(e->ep, flush ? &none : &force));
    if (flush && s != UCS_OK) DIE("%s: closing gave %s", where, name(s));
    e->ep = NULL;
}
static void close_both(int flush)
{
    /* Both at once would be as good; one after the other is harder. */
    close_ep(&a, flush);
    close_ep(&b, flush);
    ucp_worker_destroy(a.w);
    ucp_worker_destroy(b.w);
    ucp_cleanup(a.ctx);
    ucp_cleanup(b.ctx);
}

/* ---- the table ------------------------------------------------------------------------------------------- */

static int cells, faults;
/* Whose rail dies with such a message. */
static int target_sends(const struct row *row, const char *kind)
{
    static const char *answers[] = {"rtr", "ats", "sync_ack", "answer", "atomic_reply"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (!strcmp(kind, answers[i])) return 1;
    int reads = !strcmp(kind, "get") && row->op != GET, sent_back = row->op == GET && !strcmp(kind, "rndv_data");
    return reads || sent_back;
}
static int deaths_said(void) { said(NULL); return said(DIES); }

static const char *cell(const struct row *row, const char *kind, int fate)
{
    /* Has no message that a fault of the row could meet. */
    static const struct row byte = {"", STREAM, 1, "", "", ""}, tag = {"", TAG, 8, "", "", ""};
    int by_target = target_sends(row, kind);
    ucs_status_t x, y;
    deaths_said();
    open_end(&a, row, by_target ? NULL : variables[fate], kind, "1");
    open_end(&b, row, by_target ? variables[fate] : NULL, kind, "1");
    connect_end(&a, &b, 2);
    connect_end(&b, &a, 2);
    transfer(row->op == STREAM ? &tag : &byte, 1, &x, &y);
    int early = 0;
    double end = now() + 20;
    /* All lanes are there, and the first is used. */
    for (int in_use = 0; devices && in_use < 4; in_use += said("is in use"), early += said(DIES)) {
        both();
        said(NULL);
        if (now() > end) DIE("%s: lanes are missing", where);
    }
    for (int i = 0; i < 1000; i++) both();
    if (early + deaths_said()) DIE("%s: a lane dies before the transfer", where);
    transfer(row, 2, &x, &y);
    if (x != UCS_OK || y != UCS_OK) DIE("%s: ended with %s and %s", where, name(x), name(y));
    int hits = deaths_said();
    transfer(row, 3, &x, &y);
    if (x != UCS_OK || y != UCS_OK) DIE("%s: the next ended with %s and %s", where, name(x), name(y));
    close_both(1);
    int late = deaths_said();
    count_keys(2);
    if (hits > 1 || late) DIE("%s: %d lanes died in the transfer, %d after it", where, hits, late);
    cells++;
    faults += hits;
    return hits ? "ok" : "NOT HIT";
}

static void table(const struct row *rows)
{
    int missed = 0, lost = 0;
    printf("%-24s %-14s %-8s %-8s %-8s %-8s\n", "protocol", "stage", "rail of", fates[0], fates[1], fates[2]);
    for (const struct row *row = rows; row->name; row++) {
        char kinds[200], *save, *kind;
        snprintf(kinds, sizeof kinds, "%s", row->kinds);
        for (kind = strtok_r(kinds, " ", &save); kind; kind = strtok_r(NULL, " ", &save)) {
            char *colon = strchr(kind, ':');
            int ways = colon ? atoi(colon + 1) : SENT | LATE;
            if (colon) *colon = 0;
            printf("%-24s %-14s %-8s", row->name, kind, target_sends(row, kind) ? "target" : "origin");
            for (int fate = 0; fate < 3; fate++) {
                char text[200];
                snprintf(text, sizeof text, "%s, %s %s", row->name, kind, fates[fate]);
                where = text;
                const char *r = ways & 1 << fate ? cell(row, kind, fate) : "-";
                missed += r[0] == 'N';
                lost += r[0] == 'o' && fate != 1;
                printf(" %-8s", r);
            }
            printf("\n");
        }
    }
    printf("keys of rendezvous: packed %lu, released %lu, unpacked %lu, destroyed %lu\n", keys[0], keys[1], keys[2], keys[3]);
    printf("%d transfers, %d lanes died\n", cells, faults);
    printf("counted: %lu lanes lost, %lu messages sent again, %lu attempts restarted, %lu rendezvous gone on as messages\n", work[0], work[1], work[2], work[3]);
    if (!keys[2]) DIE("no keys");
    /* A message that was lost is sent again; so is what a lane for one-sided operations failed to do. */
    if (devices && (work[0] < (unsigned)faults || work[1] < (unsigned)lost)) DIE("%d lanes died, with %d messages", faults, lost);
    if (!devices && work[2] + work[3] < (unsigned)faults) DIE("%d operations failed", faults);
    if (missed) DIE("%d faults were not hit", missed);
}

/* The endpoint fails with the lane, in every stage; both sides' keys are let go all the same. */
static void deaths(int rounds)
{
    static const char *nths[] = {"1", "2", "3"};
    ucs_status_t x, y;
    int firsts = 0;
    may_fail = 1;
    for (int round = 0; round < rounds; round++)
        for (const struct place *place = places; place < places + sizeof places / sizeof *places; place++) {
            tls = place->tls, fault_lanes = place->lanes;
            for (const struct row *row = place->rows; row->name; row++) {
                char kinds[200], *save, *kind;
                snprintf(kinds, sizeof kinds, "%s", row->kinds);
                for (kind = strtok_r(kinds, " ", &save); kind; kind = strtok_r(NULL, " ", &save)) {
                    char text[200], *colon = strchr(kind, ':');
                    if (colon) *colon = 0;
                    /* Without failover the bytes of a put are no message of the rendezvous. */
                    if (!strcmp(kind, "rndv_put")) kind = "put";
                    int fate = colon ? round % 3 : round % 2;
                    snprintf(text, sizeof text, "death: %s, %s, %s %s", fault_lanes, row->name, kind, fates[fate]);
                    where = text;
                    open_end(&a, row, variables[fate], kind, nths[round / 3 % 3]);
                    open_end(&b, row, variables[fate], kind, nths[round / 3 % 3]);
                    connect_end(&a, &b, UCP_ERR_HANDLING_MODE_PEER);
                    connect_end(&b, &a, UCP_ERR_HANDLING_MODE_PEER);
                    transfer(row, 2, &x, &y);
                    if (x == UCS_OK && y == UCS_OK && a.ep && b.ep) transfer(row, 3, &x, &y);
                    close_both(0);
                    int hits = deaths_said();
                    count_keys(2);
                    cells++;
                    faults += hits;
                    /* A second or third such message is not in every transfer. */
                    if (round / 3 % 3 == 0) {
                        firsts++;
                        if (!hits) DIE("%s: not hit", where);
                    }
                }
            }
        }
    printf("keys of rendezvous: packed %lu, released %lu, unpacked %lu, destroyed %lu\n", keys[0], keys[1], keys[2], keys[3]);
    printf("%d transfers, %d of them by the first such message; %d lanes died, %d error handlers ran\n", cells, firsts, faults, errors);
    if (errors < faults / 2 || !keys[0] || !keys[2]) DIE("too few deaths or keys");
}

int main(int argc, char **argv)
{
    HOLDS(argc >= 3);
    from = malloc(MOST), into = malloc(MOST), window = aligned_alloc(4096, MOST);
    if (!strcmp(argv[1], "rails")) {
        HOLDS(argc >= 4);
        devices = argv[2], log_file = argv[3], tls = "tcp";
        static char lanes[100];
        snprintf(lanes, sizeof lanes, "tcp/%.*s", (int)strcspn(devices, ","), devices);
        fault_lanes = lanes;
        table(rails);
    } else if (!strcmp(argv[1], "near")) {
        log_file = argv[2], tls = "posix,cma", fault_lanes = "cma";
        table(near);
    } else {
        log_file = argv[2];
        deaths(argc > 3 ? atoi(argv[3]) : 1);
    }
    printf("end\n");
    return 0;
}
