/* All operations that a transport has, between two interfaces: ops TRANSPORT DEVICE */
#include "pair.h"

#include <poll.h>

static void short_messages(void)
{
    unsigned char want[8192 + 64];
    size_t limit = a.attr.cap.am.max_short;
    HOLDS(limit >= 64);
    for (size_t n = 8; n <= limit && n <= 8192; n += n < 300 ? 1 : 97) {
        uint64_t header = 0x1234567800000000ull + n;
        memcpy(want, &header, 8);
        fill(want + 8, n - 8, n);
        HOLDS(POST("am_short", uct_ep_am_short(ep, ID, header, want + 8, n - 8)) == UCS_OK);
        arrives("am_short", want, n);
    }
    printf("am_short: ok\n");
}

static void copied_messages(void)
{
    static unsigned char want[1 << 20];
    size_t limit = a.attr.cap.am.max_bcopy;
    size_t sizes[] = {0, 1, 7, 8, 9, 64, 100, 1000, 4096, limit - 1, limit};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        packed_len = sizes[i];
        packed_seed = i;
        HOLDS(POST("am_bcopy", uct_ep_am_bcopy(ep, OTHER, pack, &packed_len, 0)) == (long)packed_len);
        fill(want, packed_len, i);
        arrives("am_bcopy", want, packed_len);
    }
    printf("am_bcopy: ok\n");
}

static void zero_copy_messages(void)
{
    static unsigned char want[1 << 20], data[1 << 20];
    uct_allocated_memory_t mem;
    uct_completion_t comp;
    size_t header = a.attr.cap.am.max_hdr < 100 ? a.attr.cap.am.max_hdr : 100;
    size_t limit = a.attr.cap.am.max_zcopy < 60000 ? a.attr.cap.am.max_zcopy : 60000;
    size_t sizes[] = {0, 1, 1000, 8192, limit - header};
    (void)mem;
    fill(data, sizeof data, 5);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t half = sizes[i] / 2;
        uct_iov_t iov[2] = {{.buffer = data, .length = half, .count = 1},
                            {.buffer = data + half, .length = sizes[i] - half, .count = 1}};
        fill(want, header, i);
        memcpy(want + header, data, sizes[i]);
        ZCOPY("am_zcopy", uct_ep_am_zcopy(ep, ID, want, header, iov, 2, 0, &comp), &comp);
        arrives("am_zcopy", want, header + sizes[i]);
    }
    printf("am_zcopy: ok\n");
}

/* ---- memory --------------------------------------------------------------------------------- */

static uct_allocated_memory_t mine, theirs;
static uct_rkey_bundle_t rkey;
static unsigned char *remote;
static uint64_t remote_addr;
enum { ROOM = 256 << 10 };

static void keys(void)
{
    char packed[4096] = {0};
    MUST(uct_iface_mem_alloc(a.iface, ROOM, UCT_MD_MEM_ACCESS_ALL, "mine", &mine));
    MUST(uct_iface_mem_alloc(peer->iface, ROOM, UCT_MD_MEM_ACCESS_ALL, "theirs", &theirs));
    HOLDS(mine.length >= ROOM && theirs.length >= ROOM);
    HOLDS(domain.md_attr.rkey_packed_size <= sizeof packed);
    rkey.rkey = UCT_INVALID_RKEY;
    if (domain.md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY) {
        MUST(uct_md_mkey_pack(domain.md, theirs.memh, packed));
        MUST(uct_rkey_unpack(domain.component, packed, &rkey));
    }
    remote = theirs.address;
    remote_addr = (uint64_t)(uintptr_t)remote;
    if (domain.md_attr.cap.flags & UCT_MD_FLAG_RKEY_PTR) {
        void *at;
        MUST(uct_rkey_ptr(domain.component, &rkey, remote_addr + 100, &at));
        memcpy(remote + 100, "key", 3);
        HOLDS(!memcmp(at, "key", 3));
        printf("rkey_ptr: ok\n");
    }
}

static void no_keys(void)
{
    if (domain.md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY) MUST(uct_rkey_release(domain.component, &rkey));
    uct_iface_mem_free(&mine);
    uct_iface_mem_free(&theirs);
}

static void flush(void)
{
    WAIT_FOR("flush", uct_ep_flush(ep, 0, NULL) == UCS_OK, both());
    WAIT_FOR("flush of the interface", uct_iface_flush(a.iface, 0, NULL) == UCS_OK, both());
}

static void holds(const char *what, size_t at, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        if (remote[at + i] != pattern(seed, i)) DIE("%s of %zu bytes: byte %zu differs", what, n, i);
    if (remote[at + n] != 0xee) DIE("%s writes past its end", what);
}

static size_t unpacked_len;

static void unpack(void *arg, const void *data, size_t length)
{
    HOLDS(arg == &unpacked_len);
    memcpy(got, data, length);
    unpacked_len = length;
}

static const size_t SIZES[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 63, 64, 100, 1000, 4096, 65536, 200000};

static void puts_(void)
{
    unsigned char *data = mine.address;
    uct_completion_t comp;
    for (unsigned i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        size_t n = SIZES[i];
        if (FLAG(PUT_SHORT)) {
            memset(remote, 0xee, ROOM);
            fill(data, n, i);
            HOLDS(POST("put_short", uct_ep_put_short(ep, data, n, remote_addr + 8, rkey.rkey)) == UCS_OK);
            flush();
            holds("put_short", 8, n, i);
        }
        if (FLAG(PUT_BCOPY)) {
            memset(remote, 0xee, ROOM);
            packed_len = n;
            packed_seed = i + 1;
            HOLDS(POST("put_bcopy", uct_ep_put_bcopy(ep, pack, &packed_len, remote_addr + 3, rkey.rkey)) == (long)n);
            flush();
            holds("put_bcopy", 3, n, i + 1);
        }
        if (FLAG(PUT_ZCOPY)) {
            uct_iov_t iov[2] = {{.buffer = data, .length = n / 2, .memh = mine.memh, .count = 1},
                                {.buffer = data + n / 2, .length = n - n / 2, .memh = mine.memh, .count = 1}};
            memset(remote, 0xee, ROOM);
            fill(data, n, i + 2);
            ZCOPY("put_zcopy", uct_ep_put_zcopy(ep, iov, 2, remote_addr + 1, rkey.rkey, &comp), &comp);
            flush();
            holds("put_zcopy", 1, n, i + 2);
        }
    }
    if (FLAG(PUT_SHORT)) printf("put_short: ok\n");
    if (FLAG(PUT_BCOPY)) printf("put_bcopy: ok\n");
    if (FLAG(PUT_ZCOPY)) printf("put_zcopy: ok\n");
}

static void gets_(void)
{
    unsigned char *data = mine.address;
    uct_completion_t comp;
    for (unsigned i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        size_t n = SIZES[i];
        fill(remote + 5, n, i);
        if (FLAG(GET_BCOPY)) {
            completed = 0;
            comp = (uct_completion_t){.func = on_completion, .count = 1};
            long s = POST("get_bcopy", uct_ep_get_bcopy(ep, unpack, &unpacked_len, n, remote_addr + 5, rkey.rkey, &comp));
            if (s == UCS_INPROGRESS) WAIT_FOR("get_bcopy", completed, both());
            HOLDS(s >= 0 && unpacked_len == n && !memcmp(got, remote + 5, n));
        }
        if (FLAG(GET_ZCOPY)) {
            uct_iov_t iov[2] = {{.buffer = data, .length = n / 2, .memh = mine.memh, .count = 1},
                                {.buffer = data + n / 2, .length = n - n / 2, .memh = mine.memh, .count = 1}};
            memset(data, 0xee, ROOM);
            ZCOPY("get_zcopy", uct_ep_get_zcopy(ep, iov, 2, remote_addr + 5, rkey.rkey, &comp), &comp);
            HOLDS(!memcmp(data, remote + 5, n) && data[n] == 0xee);
        }
    }
    if (FLAG(GET_BCOPY)) printf("get_bcopy: ok\n");
    if (FLAG(GET_ZCOPY)) printf("get_zcopy: ok\n");
}

static void atomics(void)
{
    static const char *names[] = {"add", "and", "or", "xor", "swap", "cswap"};
    uint64_t *word = (uint64_t *)(remote + 64);
    uint32_t *half = (uint32_t *)(remote + 128);
    uint64_t at64 = remote_addr + 64, at32 = remote_addr + 128;
    for (unsigned op = UCT_ATOMIC_OP_ADD; op <= UCT_ATOMIC_OP_CSWAP; op++) {
        uint64_t r64 = 0, v = 0x00ff00ff00ff0003ull, w = 0x123456789abcdef0ull;
        uint32_t r32 = 0;
        uct_completion_t comp = {.func = on_completion, .count = 1000};
        uint64_t want[] = {w + v, w & v, w | v, w ^ v, v, v};
        printf("%s:", names[op]);
        if (a.attr.cap.atomic64.op_flags & (1 << op)) {
            *word = w;
            HOLDS(uct_ep_atomic64_post(ep, op, v, at64, rkey.rkey) == UCS_OK);
            flush();
            printf(" post64 %d", *word == want[op]);
        }
        if (a.attr.cap.atomic32.op_flags & (1 << op)) {
            *half = (uint32_t)w;
            HOLDS(uct_ep_atomic32_post(ep, op, (uint32_t)v, at32, rkey.rkey) == UCS_OK);
            flush();
            printf(" post32 %d", *half == (uint32_t)want[op]);
        }
        if (a.attr.cap.atomic64.fop_flags & (1 << op)) {
            *word = w;
            ucs_status_t s = op == UCT_ATOMIC_OP_CSWAP ?
                uct_ep_atomic_cswap64(ep, w, v, at64, rkey.rkey, &r64, &comp) :
                uct_ep_atomic64_fetch(ep, op, v, &r64, at64, rkey.rkey, &comp);
            HOLDS(s == UCS_OK || s == UCS_INPROGRESS);
            flush();
            printf(" fetch64 %d %d", *word == want[op], r64 == w);
        }
        if (a.attr.cap.atomic32.fop_flags & (1 << op)) {
            *half = (uint32_t)w;
            ucs_status_t s = op == UCT_ATOMIC_OP_CSWAP ?
                uct_ep_atomic_cswap32(ep, (uint32_t)w, (uint32_t)v, at32, rkey.rkey, &r32, &comp) :
                uct_ep_atomic32_fetch(ep, op, (uint32_t)v, &r32, at32, rkey.rkey, &comp);
            HOLDS(s == UCS_OK || s == UCS_INPROGRESS);
            flush();
            printf(" fetch32 %d %d", *half == (uint32_t)want[op], r32 == (uint32_t)w);
        }
        printf("\n");
    }
}

/* ---- waiting for room ----------------------------------------------------------------------- */

typedef struct {
    uct_pending_req_t req;
    unsigned number;
} waiting_t;

static unsigned next_sent, next_seen, refused;

static ucs_status_t on_number(void *arg, void *data, size_t length, unsigned flags)
{
    unsigned n;
    HOLDS(length == 1000);
    memcpy(&n, data, sizeof n);
    if (n != next_seen) DIE("message %u arrives where %u is due", n, next_seen);
    next_seen++;
    return UCS_OK;
}

static size_t pack_number(void *dest, void *arg)
{
    memset(dest, 0, 1000);
    memcpy(dest, arg, sizeof(unsigned));
    return 1000;
}

static ucs_status_t send_number(unsigned n)
{
    long s = uct_ep_am_bcopy(ep, 9, pack_number, &n, 0);
    return s == 1000 ? UCS_OK : (ucs_status_t)s;
}

static ucs_status_t try_again(uct_pending_req_t *self)
{
    waiting_t *w = (waiting_t *)self;
    HOLDS(w->number >= next_sent);
    if (w->number > next_sent) return UCS_ERR_NO_RESOURCE;
    ucs_status_t s = send_number(w->number);
    if (s == UCS_OK) next_sent++;
    else refused++;
    return s;
}

static int purged;

static void on_purge(uct_pending_req_t *self, void *arg)
{
    HOLDS(arg == &purged && ((waiting_t *)self)->number == 100 + (unsigned)purged);
    purged++;
}

static void pending(void)
{
    static waiting_t w[20];
    MUST(uct_iface_set_am_handler(peer->iface, 9, on_number, NULL, 0));
    ucs_status_t s = UCS_OK;
    unsigned limit = 200000;
    /* Without progress at the peer there is an end to it. */
    while (limit-- && (s = send_number(next_sent)) == UCS_OK) next_sent++;
    if (s == UCS_OK) {
        WAIT_FOR("all messages", next_seen == next_sent, both());
        /* Where a message is delivered by the call that sends it. */
        printf("pending: ok\n");
        return;
    }
    HOLDS(s == UCS_ERR_NO_RESOURCE);
    for (unsigned i = 0; i < 10; i++) {
        w[i].req.func = try_again;
        w[i].number = next_sent + i;
    }
    unsigned first = next_sent;
    for (unsigned i = 0; i < 10; i++) {
        while ((s = uct_ep_pending_add(ep, &w[i].req, 0)) == UCS_ERR_BUSY)
            if ((s = try_again(&w[i].req)) == UCS_OK) break;
        HOLDS(s == UCS_OK);
    }
    WAIT_FOR("pending requests", next_sent == first + 10, both());
    WAIT_FOR("all messages", next_seen == next_sent, both());
    /* Those that still wait are handed back. */
    while ((s = send_number(next_sent)) == UCS_OK) next_sent++;
    HOLDS(s == UCS_ERR_NO_RESOURCE);
    unsigned added = 0;
    for (unsigned i = 0; i < 5; i++) {
        w[i].number = 100 + i;
        if (uct_ep_pending_add(ep, &w[i].req, 0) == UCS_OK) added++;
    }
    uct_ep_pending_purge(ep, on_purge, &purged);
    HOLDS(purged == (int)added);
    WAIT_FOR("all messages", next_seen == next_sent, both());
    printf("pending: ok\n");
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void wakes_up(void)
{
    int fd;
    if (!(b.attr.cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) || !(b.attr.cap.event_flags & UCT_IFACE_FLAG_EVENT_RECV)) return;
    MUST(uct_iface_event_fd_get(b.iface, &fd));
    for (int round = 0; round < 20; round++) {
        ucs_status_t s;
        WAIT_FOR("arming", (s = uct_iface_event_arm(b.iface, UCT_EVENT_RECV)) != UCS_ERR_BUSY, uct_worker_progress(b.worker));
        HOLDS(s == UCS_OK);
        uint64_t header = round;
        HOLDS(POST("am_short", uct_ep_am_short(ep, ID, header, NULL, 0)) == UCS_OK);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        HOLDS(poll(&p, 1, 10000) == 1);
        got_count = 0;
        WAIT_FOR("message", got_count, both());
    }
    got_count = 0;
    printf("wake-up: ok\n");
}

static void connect_endpoints(void)
{
    uct_ep_params_t params = {.field_mask = UCT_EP_PARAM_FIELD_IFACE, .iface = a.iface};
    uct_ep_h ea, eb;
    char addr_a[256], addr_b[256];
    uint64_t header = 77;
    HOLDS(a.attr.ep_addr_len <= sizeof addr_a);
    MUST(uct_ep_create(&params, &ea));
    params.iface = b.iface;
    MUST(uct_ep_create(&params, &eb));
    MUST(uct_ep_get_address(ea, (void *)addr_a));
    MUST(uct_ep_get_address(eb, (void *)addr_b));
    MUST(uct_ep_connect_to_ep(ea, b.dev_addr, (void *)addr_b));
    MUST(uct_ep_connect_to_ep(eb, a.dev_addr, (void *)addr_a));
    HOLDS(POST("am_short", uct_ep_am_short(ea, ID, header, NULL, 0)) == UCS_OK);
    arrives("message to the endpoint", &header, 8);
    WAIT_FOR("flush", uct_ep_flush(ea, 0, NULL) == UCS_OK, both());
    uct_ep_destroy(ea);
    uct_ep_destroy(eb);
    printf("connect to endpoint: ok\n");
}

static void print_flags(void)
{
    static const struct { uint64_t bit; const char *name; } flags[] = {
#define F(x) {UCT_IFACE_FLAG_##x, #x}
        F(AM_SHORT), F(AM_BCOPY), F(AM_ZCOPY), F(PENDING), F(PUT_SHORT), F(PUT_BCOPY), F(PUT_ZCOPY), F(GET_SHORT),
        F(GET_BCOPY), F(GET_ZCOPY), F(ATOMIC_CPU), F(ATOMIC_DEVICE), F(ERRHANDLE_PEER_FAILURE), F(EP_CHECK),
        F(CONNECT_TO_IFACE), F(CONNECT_TO_EP), F(CONNECT_TO_SOCKADDR), F(CB_SYNC), F(CB_ASYNC), F(EP_KEEPALIVE),
    };
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
        if (a.attr.cap.flags & flags[i].bit) printf("%s ", flags[i].name);
    printf("\n");
}

/* What a domain says that it can do, and advice about memory, which none of a host's domains takes. */
static void what_the_domain_does(void)
{
    static const struct { uint64_t bit; const char *name; } flags[] = {
#define M(x) {UCT_MD_FLAG_##x, #x}
        M(ALLOC), M(REG), M(NEED_MEMH), M(NEED_RKEY), M(ADVISE), M(FIXED), M(RKEY_PTR), M(SOCKADDR),
    };
    static char memory[4096];
    uct_md_attr_t attr;
    MUST(uct_md_query(domain.md, &attr));
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
        if (attr.cap.flags & flags[i].bit) printf("md %s ", flags[i].name);
    printf("\nadvice: %s, nothing %s\n", ucs_status_string(uct_md_mem_advise(domain.md, NULL, memory, sizeof memory, UCT_MADV_WILLNEED)),
           ucs_status_string(uct_md_mem_advise(domain.md, NULL, memory, 0, UCT_MADV_WILLNEED)));
}

/* A handler that may be called at any time is called by progress where that is all there is. */
static void any_time(void)
{
    uint64_t header = 99;
    MUST(uct_iface_set_am_handler(peer->iface, ID, on_am, &got_len, UCT_CB_FLAG_ASYNC));
    HOLDS(POST("am_short", uct_ep_am_short(ep, ID, header, NULL, 0)) == UCS_OK);
    arrives("message for any time", &header, 8);
    MUST(uct_iface_set_am_handler(peer->iface, ID, on_am, &got_len, 0));
    printf("handler for any time: ok\n");
}

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: ops TRANSPORT DEVICE");
    open_pair(argv[1], argv[2]);
    int loopback = peer == &a;
    print_flags();
    what_the_domain_does();
    if (FLAG(AM_SHORT)) {
        MUST(uct_iface_set_am_handler(peer->iface, ID, on_am, &got_len, 0));
        MUST(uct_iface_set_am_handler(peer->iface, OTHER, on_am, &got_len, 0));
        short_messages();
        copied_messages();
        any_time();
    }
    if (FLAG(AM_ZCOPY)) zero_copy_messages();
    keys();
    puts_();
    gets_();
    if (FLAG(ATOMIC_CPU)) atomics();
    MUST(uct_ep_fence(ep, 0));
    MUST(uct_iface_fence(a.iface, 0));
    if (FLAG(EP_CHECK)) MUST(uct_ep_check(ep, 0, NULL));
    flush();
    if (FLAG(AM_BCOPY)) pending();
    if (!loopback && FLAG(AM_SHORT)) wakes_up();
    if (!loopback && FLAG(CONNECT_TO_EP)) connect_endpoints();
    flush();
    no_keys();
    close_pair();
    printf("errors: %d\n", errors);
    return finish();
}
