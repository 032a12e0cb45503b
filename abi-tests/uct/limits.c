/* What an interface states as its limits works at the limit and is refused beyond it:
 * limits TRANSPORT DEVICE */
#include "pair.h"

#include <poll.h>

enum { LARGE = 64 << 20 };

static unsigned char *data, *want;

static int is(const char *what, long got, long should)
{
    printf("%s %s\n", got == should ? "ok" : "WRONG", what);
    if (got != should) printf("WRONG %s: %ld instead of %ld\n", what, got, should);
    return got == should;
}

#define WORKS(expr) is(#expr, POST(#expr, expr), UCS_OK)
#define REFUSED(expr) is(#expr, (long)(expr), UCS_ERR_INVALID_PARAM)

static unsigned char *arrived_at;
static size_t arrived_len;
static int arrived_count;

static ucs_status_t on_large(void *arg, void *message, size_t length, unsigned flags)
{
    if (length <= LARGE) memcpy(arrived_at, message, length);
    arrived_len = length;
    arrived_count++;
    return UCS_OK;
}

static void comes(const char *what, const void *first, size_t n, const void *second, size_t m)
{
    WAIT_FOR(what, arrived_count, both());
    arrived_count = 0;
    is(what, arrived_len == n + m && !memcmp(arrived_at, first, n) && !memcmp(arrived_at + n, second, m), 1);
}

/* `count` pieces that are `total` bytes together. */
static uct_iov_t *pieces(size_t count, size_t total, uct_mem_h memh)
{
    uct_iov_t *iov = calloc(count, sizeof *iov);
    size_t step = total / count, at = 0;
    for (size_t i = 0; i < count; i++) {
        iov[i] = (uct_iov_t){.buffer = data + at, .length = i + 1 == count ? total - at : step, .memh = memh, .count = 1};
        at += iov[i].length;
    }
    return iov;
}

static void shorts(void)
{
    size_t limit = a.attr.cap.am.max_short, entries = a.attr.cap.am.max_iov < 64 ? a.attr.cap.am.max_iov : 64;
    uint64_t header = 99;
    if (WORKS(uct_ep_am_short(ep, ID, header, data, limit - 8))) comes("am_short at its limit", &header, 8, data, limit - 8);
    REFUSED(uct_ep_am_short(ep, ID, header, data, limit - 7));
    uct_iov_t *iov = pieces(entries, limit, NULL);
    if (WORKS(uct_ep_am_short_iov(ep, ID, iov, entries))) comes("am_short_iov at its limit", data, limit, NULL, 0);
    iov[0].length++;
    REFUSED(uct_ep_am_short_iov(ep, ID, iov, entries));
    free(iov);
    if (a.attr.cap.am.max_iov < 1000) {
        iov = pieces(a.attr.cap.am.max_iov + 1, 64, NULL);
        REFUSED(uct_ep_am_short_iov(ep, ID, iov, a.attr.cap.am.max_iov + 1));
        free(iov);
    }
    if (WORKS(uct_ep_am_short_iov(ep, ID, NULL, 0))) comes("am_short_iov of nothing", NULL, 0, NULL, 0);
}

static size_t pack_all(void *dest, void *arg)
{
    memcpy(dest, data, *(size_t *)arg);
    return *(size_t *)arg;
}

static void copied(void)
{
    size_t limit = a.attr.cap.am.max_bcopy;
    if (is("am_bcopy of the limit", POST("am_bcopy", uct_ep_am_bcopy(ep, ID, pack_all, &limit, 0)), limit))
        comes("am_bcopy at its limit", data, limit, NULL, 0);
}

static uct_completion_t comp;

/* Posts, and waits for the end: its status. */
#define ENDS(expr)                                                                                  \
    ({                                                                                              \
        comp = (uct_completion_t){.func = on_completion, .count = 1};                               \
        completed = 0;                                                                              \
        long e_ = POST(#expr, expr);                                                                \
        if (e_ == UCS_INPROGRESS) {                                                                 \
            WAIT_FOR(#expr, completed, both());                                                     \
            e_ = completion_status;                                                                 \
        }                                                                                           \
        e_;                                                                                         \
    })

static void zero_copies(void)
{
    size_t hdr = a.attr.cap.am.max_hdr, entries = a.attr.cap.am.max_iov, limit = a.attr.cap.am.max_zcopy;
    size_t most = limit < LARGE / 2 ? limit : LARGE / 2;
    fill(want, hdr + 1, 7);
    HOLDS(hdr < LARGE && entries < 100000 && hdr <= limit);
    uct_iov_t *iov = pieces(entries, most - hdr, NULL);
    if (is("am_zcopy with the longest header and all pieces", ENDS(uct_ep_am_zcopy(ep, ID, want, hdr, iov, entries, 0, &comp)), UCS_OK))
        comes("am_zcopy at its limit", want, hdr, data, most - hdr);
    free(iov);
    iov = pieces(entries + 1, most, NULL);
    REFUSED(uct_ep_am_zcopy(ep, ID, want, hdr + 1, iov, 1, 0, &comp));
    REFUSED(uct_ep_am_zcopy(ep, ID, want, 1, iov, entries + 1, 0, &comp));
    iov[0].length = limit + 1;
    if (limit + 1) REFUSED(uct_ep_am_zcopy(ep, ID, NULL, 0, iov, 1, 0, &comp));
    iov[0].length = most;
    if (is("am_zcopy of the most bytes", ENDS(uct_ep_am_zcopy(ep, ID, NULL, 0, iov, 1, 0, &comp)), UCS_OK))
        comes("am_zcopy of the most bytes arrives", data, most, NULL, 0);
    if (is("am_zcopy of nothing", ENDS(uct_ep_am_zcopy(ep, ID, NULL, 0, NULL, 0, 0, &comp)), UCS_OK))
        comes("am_zcopy of nothing arrives", NULL, 0, NULL, 0);
    free(iov);
}

static void accesses(void)
{
    uct_allocated_memory_t mem = {0};
    uct_rkey_bundle_t rkey = {.rkey = UCT_INVALID_RKEY};
    char packed[4096];
    size_t size = 8 << 20;
    MUST(uct_iface_mem_alloc(peer->iface, size, UCT_MD_MEM_ACCESS_ALL, "limits", &mem));
    /* Valgrind does not know that process_vm_writev gives memory its bytes. */
    memset(mem.address, 0, size);
    if (domain.md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY) {
        MUST(uct_md_mkey_pack(domain.md, mem.memh, packed));
        MUST(uct_rkey_unpack(domain.component, packed, &rkey));
    }
    uint64_t at = (uintptr_t)mem.address;
#define FLUSH() WAIT_FOR("flush", uct_ep_flush(ep, 0, NULL) == UCS_OK, both())
    if (FLAG(PUT_ZCOPY)) {
        size_t entries = a.attr.cap.put.max_iov, limit = a.attr.cap.put.max_zcopy, most = limit < size ? limit : size;
        uct_iov_t *iov = pieces(entries, most, NULL);
        is("put_zcopy with all pieces", ENDS(uct_ep_put_zcopy(ep, iov, entries, at, rkey.rkey, &comp)), UCS_OK);
        FLUSH();
        is("put_zcopy at its limit", memcmp(mem.address, data, most), 0);
        free(iov);
        iov = pieces(entries + 1, most, NULL);
        REFUSED(uct_ep_put_zcopy(ep, iov, entries + 1, at, rkey.rkey, &comp));
        iov[0].length = limit + 1;
        if (limit + 1) REFUSED(uct_ep_put_zcopy(ep, iov, 1, at, rkey.rkey, &comp));
        iov[0].length = a.attr.cap.put.min_zcopy;
        is("put_zcopy of the least", ENDS(uct_ep_put_zcopy(ep, iov, 1, at, rkey.rkey, &comp)), UCS_OK);
        free(iov);
    }
    if (FLAG(GET_ZCOPY)) {
        size_t entries = a.attr.cap.get.max_iov, limit = a.attr.cap.get.max_zcopy, most = limit < size ? limit : size;
        uct_iov_t *iov = pieces(entries, most, NULL);
        fill(mem.address, most, 3);
        is("get_zcopy with all pieces", ENDS(uct_ep_get_zcopy(ep, iov, entries, at, rkey.rkey, &comp)), UCS_OK);
        is("get_zcopy at its limit", memcmp(mem.address, data, most), 0);
        free(iov);
        iov = pieces(entries + 1, most, NULL);
        REFUSED(uct_ep_get_zcopy(ep, iov, entries + 1, at, rkey.rkey, &comp));
        iov[0].length = limit + 1;
        if (limit + 1) REFUSED(uct_ep_get_zcopy(ep, iov, 1, at, rkey.rkey, &comp));
        iov[0].length = a.attr.cap.get.min_zcopy;
        is("get_zcopy of the least", ENDS(uct_ep_get_zcopy(ep, iov, 1, at, rkey.rkey, &comp)), UCS_OK);
        free(iov);
    }
    if (FLAG(PUT_SHORT)) {
        size_t most = a.attr.cap.put.max_short < size ? a.attr.cap.put.max_short : size;
        fill(data, most, 11);
        WORKS(uct_ep_put_short(ep, data, most, at, rkey.rkey));
        FLUSH();
        is("put_short of all", memcmp(mem.address, data, most), 0);
        WORKS(uct_ep_put_short(ep, NULL, 0, at, rkey.rkey));
    }
    if (FLAG(PUT_BCOPY)) {
        size_t most = a.attr.cap.put.max_bcopy < size ? a.attr.cap.put.max_bcopy : size;
        fill(data, most, 12);
        is("put_bcopy of all", POST("put_bcopy", uct_ep_put_bcopy(ep, pack_all, &most, at, rkey.rkey)), most);
        FLUSH();
        is("put_bcopy of all is there", memcmp(mem.address, data, most), 0);
    }
    if (domain.md_attr.cap.flags & UCT_MD_FLAG_NEED_RKEY) MUST(uct_rkey_release(domain.component, &rkey));
    uct_iface_mem_free(&mem);
}

/* Memory of the longest length, and beyond. */
static void registrations(void)
{
    uct_mem_h memh;
    size_t limit = domain.md_attr.cap.max_reg;
    if (!(domain.md_attr.cap.flags & UCT_MD_FLAG_REG)) {
        is("uct_md_mem_reg where there is none", uct_md_mem_reg(domain.md, data, 1, 0, &memh), UCS_ERR_UNSUPPORTED);
        return;
    }
    MUST(uct_md_mem_reg(domain.md, data, LARGE, 0, &memh));
    MUST(uct_md_mem_dereg(domain.md, memh));
    if (limit + 1) REFUSED(uct_md_mem_reg(domain.md, data, limit + 1, 0, &memh));
}

/* Events that are offered come. */
static void events(void)
{
    uint64_t offered = peer->attr.cap.event_flags;
    uint64_t header = 3;
    ucs_status_t s;
    int fd;

    if (!(offered & UCT_IFACE_FLAG_EVENT_FD) || !(offered & UCT_IFACE_FLAG_EVENT_RECV) || !FLAG(AM_SHORT)) {
        is("no descriptor where none is offered", uct_iface_event_fd_get(peer->iface, &fd) < 0, !(offered & UCT_IFACE_FLAG_EVENT_FD));
        return;
    }
    MUST(uct_iface_event_fd_get(peer->iface, &fd));
    /* The first one may have to wait for the connection, which takes progress. */
    if (!WORKS(uct_ep_am_short(ep, ID, header, NULL, 0))) return;
    comes("first message", &header, 8, NULL, 0);
    for (int round = 0; round < 10; round++) {
        WAIT_FOR("arming", (s = uct_iface_event_arm(peer->iface, UCT_EVENT_RECV)) != UCS_ERR_BUSY, uct_worker_progress(peer->worker));
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (!is("armed", s, UCS_OK) || !WORKS(uct_ep_am_short(ep, ID, header, NULL, 0))) return;
        is("the descriptor is readable", poll(&p, 1, 10000), 1);
        comes("message that was slept for", &header, 8, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: limits TRANSPORT DEVICE");
    open_pair(argv[1], argv[2]);
    data = malloc(LARGE), want = malloc(LARGE), arrived_at = malloc(LARGE);
    fill(data, LARGE, 1);
    MUST(uct_iface_set_am_handler(peer->iface, ID, on_large, NULL, 0));
    registrations();
    events();
    if (FLAG(AM_SHORT)) shorts();
    if (FLAG(AM_BCOPY)) copied();
    if (FLAG(AM_ZCOPY)) zero_copies();
    accesses();
    both();
    is("messages that came although they were refused", arrived_count, 0);
    close_pair();
    free(data), free(want), free(arrived_at);
    return finish();
}
