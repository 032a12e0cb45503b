/* Two processes on two hosts, links between which go and come all the time; endpoints and workers that last for one
 * round each, and end in the middle of it: closed in order by one side or by both at once, closed by force, or destroyed
 * with their worker. What was sent before a close in order arrives, whole; the rest ends, and nothing is left.
 *
 *   torn_rails lead|follow DIR SEED ROUNDS      at least so many, until there is a file `stop` in DIR
 *
 * Prints counts, then "end". */
#define _GNU_SOURCE
#include "two_hosts.h"
#include <dirent.h>

enum { MESSAGES = 24, BIGGEST = 1 << 20, HOWS = 5 };
enum how { IN_ORDER, BOTH_IN_ORDER, BY_FORCE, BOTH_BY_FORCE, WITH_THE_WORKER };
static const size_t sizes[] = {8, 64, 1000, 8192, 30000, 200000, BIGGEST};
static unsigned long rnd_state;
static unsigned rnd(unsigned n)
{
    rnd_state = rnd_state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(rnd_state >> 33) % n;
}
static int failures;
static void on_error(void *arg, ucp_ep_h e, ucs_status_t s) { failures++; }

static struct half {
    ucs_status_ptr_t req;
    unsigned char *buf;
    size_t len;
} out[MESSAGES], in[MESSAGES];
static int over(ucs_status_ptr_t r) { return !UCS_PTR_IS_PTR(r) || ucp_request_check_status(r) != UCS_INPROGRESS; }
static ucs_status_t end_of(struct half *h)
{
    ucs_status_t s = UCS_PTR_STATUS(h->req);
    if (UCS_PTR_IS_PTR(h->req)) {
        s = ucp_request_check_status(h->req);
        ucp_request_free(h->req);
    }
    h->req = NULL;
    return s;
}

/* Both sides draw the same numbers. */
struct plan { enum how how; int back; unsigned steps; size_t len[2][MESSAGES]; };
static struct plan draw(void)
{
    struct plan p = {.how = rnd(HOWS), .back = rnd(2), .steps = rnd(3) ? rnd(4000) : rnd(60)};
    for (int s = 0; s < 2; s++) for (int i = 0; i < MESSAGES; i++) p.len[s][i] = sizes[rnd(sizeof sizes / sizeof *sizes)];
    return p;
}

static unsigned long whole[HOWS], cut[HOWS];
static void round_of(int leads, unsigned number)
{
    struct plan p = draw();
    int sends = leads || p.back || p.how == BOTH_IN_ORDER, receives = !leads || p.back || p.how == BOTH_IN_ORDER;
    int both = p.how == BOTH_IN_ORDER || p.how == BOTH_BY_FORCE, orderly = p.how == IN_ORDER || p.how == BOTH_IN_ORDER;
    ucp_request_param_t none = {0}, force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucp_request_param_t later = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    ucp_address_t *theirs = swap_addresses();
    open_ep(theirs, 2, on_error);
    for (int i = 0; i < MESSAGES && receives; i++) {
        memset(in[i].buf, 0, BIGGEST);
        in[i].req = ucp_tag_recv_nbx(A.w, in[i].buf, BIGGEST, i, ALL, &later);
        HOLDS(UCS_PTR_IS_PTR(in[i].req));
    }
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
    for (int i = 0; i < MESSAGES && sends; i++) {
        size_t len = out[i].len = p.len[!leads][i];
        fill(out[i].buf, len, number * 2 + leads + i);
        out[i].req = i % 4 ? ucp_tag_send_nbx(ep, out[i].buf, len, i, &none) : ucp_tag_send_sync_nbx(ep, out[i].buf, len, i, &none);
        if (UCS_PTR_IS_ERR(out[i].req) && orderly) DIE("round %u: a send gave %s", number, name(UCS_PTR_STATUS(out[i].req)));
        if (rnd(2)) ucp_worker_progress(A.w); /* the numbers need not be the same from here on */
    }
    int ends = leads || both;
    if (ends) {
        for (unsigned k = 0; k < p.steps; k++) ucp_worker_progress(A.w);
        if (p.how != WITH_THE_WORKER) {
            ucs_status_ptr_t r = ucp_ep_close_nbx(ep, orderly ? &none : &force);
            for (double end = now() + patience; !over(r); ucp_worker_progress(A.w)) {
                int left = 0;
                for (int i = 0; i < MESSAGES; i++) left += sends && !over(out[i].req);
                if (now() > end) DIE("round %u (%d): a close does not end, with %d sends under way", number, p.how, left);
            }
            ucs_status_t s = finished(r);
            if (orderly && s != UCS_OK) DIE("round %u: closing gave %s", number, name(s));
            for (int i = 0; i < MESSAGES && sends; i++)
                if (!over(out[i].req)) DIE("round %u: send %d of %zu bytes goes on after the close", number, i, out[i].len);
        }
    }
    /* What has to come comes although the other side may have closed its end; so do acknowledgements. */
    if (orderly)
        for (double end = now() + patience; ; ucp_worker_progress(A.w)) {
            int come = 0, sent = 0;
            for (int i = 0; i < MESSAGES; i++) come += receives && !over(in[i].req), sent += sends && !over(out[i].req);
            if (!come && !sent) break;
            if (now() > end) DIE("round %u (%d): %d messages do not come, %d sends do not end", number, p.how, come, sent);
        }
    if (ends && p.how == WITH_THE_WORKER) {
        ucp_worker_destroy(A.w);
        A.w = NULL;
    }
    give(&c, 1);
    if (A.w) take_either(fd, &c, 1, 1);
    else take(&c, 1);
    for (int i = 0; i < MESSAGES && receives && A.w; i++)
        if (!over(in[i].req)) ucp_request_cancel(A.w, in[i].req);
    if (!ends) settled(ucp_ep_close_nbx(ep, &force));
    for (double end = now() + patience; A.w; ucp_worker_progress(A.w)) {
        int left = 0;
        for (int i = 0; i < MESSAGES; i++) left += (sends && !over(out[i].req)) + (receives && !over(in[i].req));
        if (!left) break;
        if (now() > end) DIE("round %u (%d): %d requests do not end", number, p.how, left);
    }
    for (int i = 0; i < MESSAGES; i++) {
        if (receives && A.w) {
            ucs_status_t s = end_of(&in[i]);
            size_t len = p.len[leads][i];
            if (s == UCS_OK && !same(in[i].buf, len, number * 2 + !leads + i)) DIE("round %u (%d): message %d of %zu bytes is wrong", number, p.how, i, len);
            if (s != UCS_OK && orderly) DIE("round %u: a receive ended with %s", number, name(s));
            s == UCS_OK ? whole[p.how]++ : cut[p.how]++;
        }
        if (sends && A.w) {
            ucs_status_t s = end_of(&out[i]);
            if (s != UCS_OK && orderly) DIE("round %u: a send ended with %s", number, name(s));
        }
        in[i].req = out[i].req = NULL;
    }
    if (A.w) {
        ucp_worker_release_address(A.w, A.addr);
        ucp_worker_destroy(A.w);
    }
    free(theirs);
}

int main(int argc, char **argv)
{
    HOLDS(argc >= 5);
    int leads = !strcmp(argv[1], "lead"), first = 0, last = 0;
    dir = argv[2];
    unsigned long seed = strtoul(argv[3], 0, 0);
    unsigned rounds = atoi(argv[4]), n;
    features = UCP_FEATURE_TAG;
    free(find_each_other(leads));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    for (int i = 0; i < MESSAGES; i++) in[i].buf = malloc(BIGGEST), out[i].buf = malloc(BIGGEST);
    for (n = 0;; n++) {
        char go = n < rounds || !heard("stop"), other;
        give(&go, 1);
        take(&other, 1);
        if (!go && !other) break;
        rnd_state = seed + n;
        ucp_worker_params_t wp = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE};
        MUST(ucp_worker_create(A.ctx, &wp, &A.w));
        MUST(ucp_worker_get_address(A.w, &A.addr, &A.len));
        round_of(leads, n);
        last = descriptors();
        if (n == 5) first = last;
    }
    printf("%u rounds; messages whole and cut: in order %lu %lu, by both %lu %lu, by force %lu %lu, by both %lu %lu, with the worker %lu %lu; %d endpoints failed\n",
           n, whole[0], cut[0], whole[1], cut[1], whole[2], cut[2], whole[3], cut[3], whole[4], cut[4], failures);
    if (first && last > first) DIE("%d descriptors instead of %d", last, first);
    printf("end\n");
    return 0;
}
