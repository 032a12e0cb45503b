/* What the programs here share. Each prints lines that say what the API did, the same on every
 * correct library, so that the output on one can be compared with that on another. Nothing that is
 * free to differ is printed: times, sizes of addresses, whether an operation finished at once. */
#ifndef CAPI_H
#define CAPI_H

#include <ucp/api/ucp.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALL ((ucp_tag_t)-1)

__attribute__((constructor)) static void by_lines(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

static const char *name(ucs_status_t s)
{
    static char other[32];
    switch (s) {
    case UCS_OK: return "OK";
    case UCS_INPROGRESS: return "INPROGRESS";
    case UCS_ERR_NO_MESSAGE: return "NO_MESSAGE";
    case UCS_ERR_NO_RESOURCE: return "NO_RESOURCE";
    case UCS_ERR_IO_ERROR: return "IO_ERROR";
    case UCS_ERR_NO_MEMORY: return "NO_MEMORY";
    case UCS_ERR_INVALID_PARAM: return "INVALID_PARAM";
    case UCS_ERR_UNREACHABLE: return "UNREACHABLE";
    case UCS_ERR_INVALID_ADDR: return "INVALID_ADDR";
    case UCS_ERR_NOT_IMPLEMENTED: return "NOT_IMPLEMENTED";
    case UCS_ERR_MESSAGE_TRUNCATED: return "MESSAGE_TRUNCATED";
    case UCS_ERR_NO_PROGRESS: return "NO_PROGRESS";
    case UCS_ERR_BUFFER_TOO_SMALL: return "BUFFER_TOO_SMALL";
    case UCS_ERR_NO_ELEM: return "NO_ELEM";
    case UCS_ERR_BUSY: return "BUSY";
    case UCS_ERR_CANCELED: return "CANCELED";
    case UCS_ERR_NO_DEVICE: return "NO_DEVICE";
    case UCS_ERR_UNSUPPORTED: return "UNSUPPORTED";
    case UCS_ERR_NOT_CONNECTED: return "NOT_CONNECTED";
    case UCS_ERR_CONNECTION_RESET: return "CONNECTION_RESET";
    case UCS_ERR_REJECTED: return "REJECTED";
    case UCS_ERR_ENDPOINT_TIMEOUT: return "ENDPOINT_TIMEOUT";
    default: snprintf(other, sizeof other, "status %d", (int)s); return other;
    }
}

#define DIE(...)                                       \
    do {                                               \
        printf("FAILED %s:%d: ", __FILE__, __LINE__);  \
        printf(__VA_ARGS__);                           \
        printf("\n");                                  \
        fflush(stdout);                                \
        _exit(3);                                      \
    } while (0)

#define MUST(expr)                                            \
    do {                                                      \
        ucs_status_t s_ = (expr);                             \
        if (s_ != UCS_OK) DIE("%s gave %s", #expr, name(s_)); \
    } while (0)

#define HOLDS(cond) \
    do { if (!(cond)) DIE("does not hold: %s", #cond); } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- data ----------------------------------------------------------------------------------- */

static unsigned char pattern(unsigned seed, size_t i) { return (unsigned char)((i * 2654435761u >> 7) + i + seed * 101u); }

static void fill(void *buf, size_t n, unsigned seed)
{
    unsigned char *p = buf;
    for (size_t i = 0; i < n; i++) p[i] = pattern(seed, i);
}

static int same(const void *buf, size_t n, unsigned seed)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++)
        if (p[i] != pattern(seed, i)) return 0;
    return 1;
}

static int untouched(const void *buf, size_t n, unsigned char v)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++)
        if (p[i] != v) return 0;
    return 1;
}

/* ---- two sides, in one process ------------------------------------------------------------------ */

struct side {
    ucp_context_h ctx;
    ucp_worker_h w;
    ucp_ep_h ep; /* to the other side */
    ucp_address_t *addr;
    size_t len;
};

static struct side A, B; /* the same when the endpoint leads back to its own worker */

static uint64_t features = UCP_FEATURE_TAG;
static ucs_thread_mode_t threads = UCS_THREAD_MODE_SINGLE;
static ucp_params_t extra_params;         /* request_size and its callbacks, with their bits */
static ucp_ep_params_t extra_ep_params;

static void open_side(struct side *s)
{
    ucp_params_t p = extra_params;
    p.field_mask |= UCP_PARAM_FIELD_FEATURES;
    p.features = features;
    MUST(ucp_init(&p, NULL, &s->ctx));
    ucp_worker_params_t wp;
    memset(&wp, 0, sizeof wp);
    wp.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    wp.thread_mode = threads;
    MUST(ucp_worker_create(s->ctx, &wp, &s->w));
    MUST(ucp_worker_get_address(s->w, &s->addr, &s->len));
    HOLDS(s->len > 0);
}

static void connect_to(struct side *s, const ucp_address_t *addr)
{
    ucp_ep_params_t p = extra_ep_params;
    p.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    p.address = addr;
    MUST(ucp_ep_create(s->w, &p, &s->ep));
}

static void progress(void)
{
    ucp_worker_progress(A.w);
    if (B.w && B.w != A.w) ucp_worker_progress(B.w);
}

/* Progress until `cond`, at most 30 seconds: a hang is a failure that says where. */
#define UNTIL(cond)                                                                   \
    do {                                                                              \
        double end_ = now() + 30;                                                     \
        while (!(cond)) {                                                             \
            progress();                                                               \
            if (now() > end_) DIE("nothing happens any more, waiting for %s", #cond); \
        }                                                                             \
    } while (0)

static ucs_status_t finished(ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    UNTIL(ucp_request_check_status(r) != UCS_INPROGRESS);
    ucs_status_t s = ucp_request_check_status(r);
    ucp_request_free(r);
    return s;
}

static const ucp_request_param_t plain; /* no bit set */

static void pair_open(int loop)
{
    open_side(&A);
    if (loop) {
        connect_to(&A, A.addr);
        B = A;
    } else {
        open_side(&B);
        connect_to(&A, B.addr);
        connect_to(&B, A.addr);
    }
}

static void close_side(struct side *s)
{
    if (s->ep) {
        ucs_status_ptr_t r = ucp_ep_close_nbx(s->ep, &plain);
        ucs_status_t st = finished(r);
        if (st != UCS_OK) DIE("close gave %s", name(st));
        s->ep = NULL;
    }
}

static void pair_close(void)
{
    int loop = A.w == B.w;
    close_side(&A);
    if (!loop) {
        close_side(&B);
        ucp_worker_release_address(B.w, B.addr);
        ucp_worker_destroy(B.w);
        ucp_cleanup(B.ctx);
    }
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    memset(&A, 0, sizeof A);
    memset(&B, 0, sizeof B);
}

/* Descriptors that this process has open, and the one that it takes to look. */
static int descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    HOLDS(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* One message from A to B must get through: the connection is in order. */
static void still_works(void)
{
    long out = 0x1234567, in = 0;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, &in, sizeof in, 0x515, ALL, &plain);
    ucs_status_t s = finished(ucp_tag_send_nbx(A.ep, &out, sizeof out, 0x515, &plain));
    ucs_status_t t = finished(r);
    if (s != UCS_OK || t != UCS_OK || in != out) DIE("the next message: %s, %s", name(s), name(t));
}

/* A message that needs an answer, so that the peer gets to know the sender's end. */
static void introduce(struct side *from, struct side *to)
{
    long v = 5, w = 0;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(to->w, &w, sizeof w, 3, ALL, &plain);
    MUST(finished(ucp_tag_send_sync_nbx(from->ep, &v, sizeof v, 3, &plain)));
    MUST(finished(r));
    HOLDS(v == w);
}

static void let_it_arrive(void)
{
    for (int i = 0; i < 200; i++) progress();
    usleep(2000);
    for (int i = 0; i < 200; i++) progress();
}

/* The loaded UCX objects, for the proof of which library served (stderr: not compared). */
static void say_maps(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "/libuc")) fprintf(stderr, "MAPS %s", strchr(line, '/'));
    if (f) fclose(f);
}

static int finish(void)
{
    say_maps();
    printf("end\n");
    return 0;
}

#endif
