/* Many threads that free requests of one worker of mode multi, cancelled, completed and in flight, while others take them and
 * progress: none is handed out twice, and none is lost.
 * usage: free_threads [N]     requests of each thread (100000) */
#include "capi.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, HELD = 4, ENOUGH = 1024 };
static long each = 100000;
static atomic_long made, twice, unexpected, working = THREADS;
static const ucp_request_param_t later = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};

/* The user's part of a request holds who has it; nobody does at first. */
static void init(void *request)
{
    atomic_store((atomic_long *)request, 0);
    made++;
}

static void *taken(void *request, long by)
{
    HOLDS(UCS_PTR_IS_PTR(request));
    twice += atomic_exchange((atomic_long *)request, by) != 0;
    return request;
}

static void released(void *request, long by)
{
    twice += atomic_exchange((atomic_long *)request, 0) != by;
    ucp_request_free(request);
}

static void wait_and_release(void *request, long by, ucs_status_t want)
{
    double end = now() + 30;
    ucs_status_t s;
    while ((s = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(A.w);
        if (now() > end) DIE("nothing happens any more");
    }
    unexpected += s != want;
    released(request, by);
}

static void *work(void *arg)
{
    long me = (long)arg, in[HELD], out = me;
    void *held[HELD];
    for (long i = 0; i < each; i += HELD) {
        ucp_tag_t tag = (ucp_tag_t)me << 32;
        for (int k = 0; k < HELD; k++) held[k] = taken(ucp_tag_recv_nbx(A.w, &in[k], sizeof in[k], tag + k, ALL, &plain), me);
        void *sent = taken(ucp_tag_send_nbx(A.ep, &out, sizeof out, tag, &later), me);
        if (i / HELD % 4 == 0) {
            /* In flight still, perhaps. */
            released(held[0], me);
            held[0] = NULL;
        }
        wait_and_release(sent, me, UCS_OK);
        if (held[0]) wait_and_release(held[0], me, UCS_OK);
        for (int k = 1; k < HELD; k++) {
            ucp_request_cancel(A.w, held[k]);
            wait_and_release(held[k], me, UCS_ERR_CANCELED);
        }
    }
    working--;
    return NULL;
}

static void *only_progress(void *arg)
{
    while (working) ucp_worker_progress(A.w);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t all[THREADS + 1];
    if (argc > 1) each = atol(argv[1]);
    threads = UCS_THREAD_MODE_MULTI;
    extra_params.field_mask = UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_REQUEST_INIT;
    extra_params.request_size = sizeof(atomic_long);
    extra_params.request_init = init;
    pair_open(1);
    still_works();
    for (long i = 0; i < THREADS; i++) HOLDS(pthread_create(&all[i], NULL, work, (void *)(i + 1)) == 0);
    HOLDS(pthread_create(&all[THREADS], NULL, only_progress, NULL) == 0);
    for (int i = 0; i <= THREADS; i++) HOLDS(pthread_join(all[i], NULL) == 0);
    printf("requests handed out twice: %s, lost: %s, with another end: %s\n", twice ? "WRONG, some" : "none",
           made > ENOUGH ? "WRONG, some" : "none", unexpected ? "WRONG, some" : "none");
    pair_close();
    return finish();
}
