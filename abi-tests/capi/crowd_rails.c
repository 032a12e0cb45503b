/* Two processes on two hosts: one worker with thousands of endpoints, each to a worker of its own at the other side, all
 * over the same links, one of which is lost and comes back. Everybody gets answers all the time.
 *
 *   crowd_rails lead|follow DIR COUNT
 *
 * Files in DIR: `met` (all have answered once), `lost` (from outside: a link is down), `passed` (all have answered since),
 * `back` (from outside: it is up), `stop` (from outside). Prints counts and times, then "end". */
#define _GNU_SOURCE
#include "two_hosts.h"
#include <sys/resource.h>

enum { MOST = 20000, BYTES = 9000, WINDOW = 64 };
static int count;
static void on_error(void *arg, ucp_ep_h e, ucs_status_t s) { if (!leaving) DIE("endpoint %ld failed: %s", (long)arg, name(s)); }
static ucp_ep_h connect_from(ucp_worker_h w, const ucp_address_t *to, long number)
{
    ucp_ep_h e;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = to, .err_mode = (ucp_err_handling_mode_t)2, .err_handler.cb = on_error, .err_handler.arg = (void *)number};
    MUST(ucp_ep_create(w, &p, &e));
    return e;
}
static ucp_request_param_t none, later = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
static int over(ucs_status_ptr_t r) { return !UCS_PTR_IS_PTR(r) || ucp_request_check_status(r) != UCS_INPROGRESS; }
static void end_of(ucs_status_ptr_t r)
{
    if (UCS_PTR_IS_ERR(r)) DIE("a request: %s", name(UCS_PTR_STATUS(r)));
    if (!UCS_PTR_IS_PTR(r)) return;
    if (ucp_request_check_status(r) != UCS_OK) DIE("a request: %s", name(ucp_request_check_status(r)));
    ucp_request_free(r);
}

static struct member {
    ucp_worker_h w;
    ucp_ep_h ep;
    ucs_status_ptr_t in, out;
    unsigned char buf[BYTES];
    unsigned turns;
} *members;

/* The n-th message to or from a member. */
static size_t length(unsigned turn) { return turn % 3 ? 8 : BYTES; }

static void follow(void)
{
    const ucp_address_t *theirs;
    size_t n;
    for (int i = 0; i < count; i++) {
        struct member *m = &members[i];
        ucp_worker_params_t wp = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE};
        ucp_address_t *addr;
        MUST(ucp_worker_create(A.ctx, &wp, &m->w));
        MUST(ucp_worker_get_address(m->w, &addr, &n));
        give(&n, sizeof n);
        give(addr, n);
        ucp_worker_release_address(m->w, addr);
    }
    theirs = A.addr;
    take(&n, sizeof n);
    theirs = malloc(n);
    take((void *)theirs, n);
    for (int i = 0; i < count; i++) {
        members[i].ep = connect_from(members[i].w, theirs, i);
        members[i].in = ucp_tag_recv_nbx(members[i].w, members[i].buf, BYTES, 1, ALL, &later);
    }
    char c;
    while (recv(fd, &c, 1, MSG_DONTWAIT) != 1)
        for (int i = 0; i < count; i++) {
            struct member *m = &members[i];
            ucp_worker_progress(m->w);
            if (!over(m->in) || !over(m->out)) continue;
            end_of(m->in);
            end_of(m->out);
            if (!same(m->buf, length(m->turns), m->turns + i)) DIE("message %u to %d is wrong", m->turns, i);
            m->out = ucp_tag_send_nbx(m->ep, m->buf, length(m->turns), i + 2, &none);
            /* The answer goes from the same bytes: the next message comes after it has arrived. */
            while (!over(m->out)) ucp_worker_progress(m->w);
            end_of(m->out);
            m->out = NULL;
            m->turns++;
            m->in = ucp_tag_recv_nbx(m->w, m->buf, BYTES, 1, ALL, &later);
        }
}

/* Everybody answers once more. */
static double pass(void)
{
    static unsigned char sent[BYTES];
    double start = now();
    for (int from = 0; from < count; from += WINDOW) {
        int upto = from + WINDOW < count ? from + WINDOW : count, left = upto - from;
        for (int i = from; i < upto; i++) {
            struct member *m = &members[i];
            fill(sent, length(m->turns), m->turns + i);
            m->in = ucp_tag_recv_nbx(A.w, m->buf, BYTES, i + 2, ALL, &later);
            end_of(m->out);
            m->out = ucp_tag_send_nbx(m->ep, sent, length(m->turns), 1, &none);
            /* `sent` is for the next one. */
            for (double end = now() + patience; !over(m->out); ucp_worker_progress(A.w))
                if (now() > end) DIE("a send to %d does not end", i);
        }
        for (double end = now() + patience; left;) {
            if (!ucp_worker_progress(A.w)) sched_yield();
            for (int i = from; i < upto; i++) {
                struct member *m = &members[i];
                if (!m->in || !over(m->in)) continue;
                end_of(m->in);
                m->in = NULL;
                if (!same(m->buf, length(m->turns), m->turns + i)) DIE("answer %u of %d is wrong", m->turns, i);
                m->turns++;
                left--;
            }
            if (now() > end) DIE("%d of %d don't answer", left, count);
        }
    }
    return now() - start;
}
/* What a round of progress costs where nothing comes, in us. */
static double idle(void)
{
    double start = now();
    int n = 0;
    for (; now() < start + 0.1; n++) ucp_worker_progress(A.w);
    return 1e5 / n;
}
static double passes_until(const char *file, int *n)
{
    double took = 0, end = now() + 300;
    for (*n = 0; !heard(file) || !*n; ++*n) {
        took += pass();
        if (now() > end) DIE("no %s", file);
    }
    return took / *n;
}

static void lead(void)
{
    ucp_address_t *addr;
    size_t n;
    int k[4];
    for (int i = 0; i < count; i++) {
        take(&n, sizeof n);
        addr = malloc(n);
        take(addr, n);
        members[i].ep = connect_from(A.w, addr, i);
        free(addr);
    }
    give(&A.len, sizeof A.len);
    give(A.addr, A.len);
    double first = pass(), idle_before = idle();
    say("met");
    double before = passes_until("lost", &k[0]), during = pass(), idle_during = idle();
    say("passed");
    during += passes_until("back", &k[1]);
    double after = passes_until("stop", &k[2]), idle_after = idle();
    char c = 0;
    leaving = 1;
    give(&c, 1);
    printf("%d endpoints: first pass %.2f s; then %.3f, %.3f while a link is lost, %.3f s; idle rounds %.2f, %.2f, %.2f us; %d, %d, %d passes\n", count, first,
           before, during / 2, after, idle_before, idle_during, idle_after, k[0], k[1], k[2]);
}

int main(int argc, char **argv)
{
    HOLDS(argc >= 4);
    int leads = !strcmp(argv[1], "lead");
    dir = argv[2];
    count = atoi(argv[3]);
    HOLDS(count > 0 && count <= MOST);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    members = calloc(count, sizeof *members);
    features = UCP_FEATURE_TAG;
    free(find_each_other(leads));
    leads ? lead() : follow();
    printf("end\n");
    return 0;
}
