/* The part of host.c that uses UCX: a shared object, opened and closed by the host as programs of
 * other languages do with their extensions. */
#include "capi.h"
#include <pthread.h>

/* Everything from start to end. */
int plugin_use(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* the sides are static */
    static char out[300000], in[300000];
    pthread_mutex_lock(&one);
    features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    memset(&extra_ep_params, 0, sizeof extra_ep_params);
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    if (strstr(getenv("UCX_TLS"), "tcp") || getenv("PEER_ERRORS")) extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    pair_open(0);
    still_works();
    fill(out, sizeof out, 3);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, sizeof in, 7, ALL, &plain);
    if (finished(ucp_tag_send_nbx(A.ep, out, sizeof out, 7, &plain)) != UCS_OK || finished(r) != UCS_OK || !same(in, sizeof in, 3)) DIE("a large message");
    pair_close();
    pthread_mutex_unlock(&one);
    return 0;
}

/* The same in steps. */
void plugin_open(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    pair_open(0);
    still_works();
}
void plugin_check(void) { still_works(); }
void plugin_close(void) { pair_close(); }
void plugin_maps(void) { say_maps(); }

/* A context and a worker of the caller's own; for several threads at once. */
void plugin_start_and_end(void)
{
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t wp = {0};
    ucp_context_h c;
    ucp_worker_h w;
    MUST(ucp_init(&p, NULL, &c));
    MUST(ucp_worker_create(c, &wp, &w));
    ucp_worker_progress(w);
    ucp_worker_destroy(w);
    ucp_cleanup(c);
}
