/* Two interfaces of a transport and an endpoint between them; messages that arrive, operations that
 * are posted until there is room and awaited to their end. */
#ifndef UCT_PAIR_H
#define UCT_PAIR_H

#include "uct.h"

static domain_t domain;
static end_t a, b;
static end_t *peer; /* b, or a where only loopback is possible */
static uct_ep_h ep;

static void both(void)
{
    uct_worker_progress(a.worker);
    if (peer == &b) uct_worker_progress(b.worker);
}

#define FLAG(x) (a.attr.cap.flags & UCT_IFACE_FLAG_##x)

enum { ID = 7, OTHER = 31 };

static unsigned char got[1 << 20];
static size_t got_len;
static int got_count;

static ucs_status_t on_am(void *arg, void *data, size_t length, unsigned flags)
{
    HOLDS(arg == &got_len && length <= sizeof got);
    memcpy(got, data, length);
    got_len = length;
    got_count++;
    return UCS_OK;
}

static void arrives(const char *what, const void *want, size_t n)
{
    int before = got_count;
    WAIT_FOR(what, got_count != before || got_count > 0, both());
    got_count = 0;
    if (got_len != n || memcmp(got, want, n)) DIE("%s of %zu bytes: %zu bytes arrive, or others", what, n, got_len);
}

/* Posts until there is room. */
#define POST(what, expr)                                                       \
    ({                                                                         \
        long s_;                                                               \
        WAIT_FOR(what, (s_ = (long)(expr)) != UCS_ERR_NO_RESOURCE, both());       \
        s_;                                                                    \
    })

static size_t packed_len;
static unsigned packed_seed;

static size_t pack(void *dest, void *arg)
{
    HOLDS(arg == &packed_len);
    fill(dest, packed_len, packed_seed);
    return packed_len;
}

static int completed;
static ucs_status_t completion_status;

static void on_completion(uct_completion_t *self)
{
    completed++;
    completion_status = self->status;
}

/* A zcopy operation, to its end. */
#define ZCOPY(what, expr, comp)                                                \
    do {                                                                       \
        long s_;                                                               \
        completed = 0;                                                         \
        *(comp) = (uct_completion_t){.func = on_completion, .count = 1};       \
        s_ = POST(what, expr);                                                 \
        if (s_ == UCS_INPROGRESS) {                                            \
            WAIT_FOR(what, completed, both());                                    \
            if (completion_status != UCS_OK) DIE("%s ends with %s", what, name(completion_status)); \
        } else if (s_ != UCS_OK) DIE("%s gave %s", what, name((ucs_status_t)s_)); \
    } while (0)

static void open_pair(const char *tl, const char *dev)
{
    int loopback = !strcmp(tl, "self");

    MUST(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
    domain = find(tl, dev);
    a = open_iface(&domain, tl, dev);
    if (!loopback) b = open_iface(&domain, tl, dev);
    peer = loopback ? &a : &b;
    ep = endpoint_to(&a, peer);
}

static void close_pair(void)
{
    uct_ep_destroy(ep);
    if (peer == &b) close_iface(&b);
    close_iface(&a);
    uct_md_close(domain.md);
    ucs_async_context_destroy(async);
}

#endif
