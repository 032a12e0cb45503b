/* A flush is about one-sided operations: it ends although messages are under way that the peer has not
 * received yet, and may receive only after what the flush comes before. */
#include "am.h"
#include "rma.h"

enum { BIG = 4 << 20, ID = 3 };
static unsigned char out[BIG], in[BIG];

static void *offered;
static ucs_status_t keep(void *arg, const void *h, size_t hl, void *data, size_t len, const ucp_am_recv_param_t *p)
{
    if (!(p->recv_attr & AM_RNDV)) return UCS_OK;
    offered = data;
    return UCS_INPROGRESS;
}

static void flushes(const char *what)
{
    ucs_status_t ep = finished(ucp_ep_flush_nbx(A.ep, &plain));
    ucs_status_t worker = finished(ucp_worker_flush_nbx(A.w, &plain));
    printf("%s: flush of the endpoint %s, of the worker %s\n", what, name(ep), name(worker));
}

static void unreceived_tag(const char *what, ucs_status_ptr_t sent)
{
    HOLDS(UCS_PTR_IS_PTR(sent));
    flushes(what);
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, in, sizeof in, 1, ALL, &plain);
    ucs_status_t s = finished(sent);
    printf("%s: sent %s, received %s\n", what, name(s), name(finished(r)));
}

/* Puts that were posted after the message are waited for all the same. */
static void put_behind(void)
{
    struct region r = map_region(&B, USER, 300000);
    ucp_rkey_h key = key_of(A.ep, r.packed);
    static unsigned char bytes[300000];
    const char *target = r.at;
    memset(bytes, 0x77, sizeof bytes);
    ucs_status_ptr_t sent = ucp_tag_send_nbx(A.ep, out, BIG, 1, &plain);
    ucs_status_ptr_t put = ucp_put_nbx(A.ep, bytes, sizeof bytes, (uintptr_t)target, key, &plain);
    flushes("a put behind a message");
    printf("a put behind a message: %s\n", target[0] == 0x77 && target[sizeof bytes - 1] == 0x77 ? "all there" : "MISSING");
    HOLDS(finished(put) == UCS_OK);
    unreceived_tag("a put behind a message", sent);
    ucp_rkey_destroy(key);
    unmap_region(&B, &r);
}

int main(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
    pair_open(0);
    MUST(set_with(B.w, ID, keep, NULL, 0));
    fill(out, BIG, 5);
    unreceived_tag("rendezvous", ucp_tag_send_nbx(A.ep, out, BIG, 1, &plain));
    unreceived_tag("synchronous", ucp_tag_send_sync_nbx(A.ep, out, 8, 1, &plain));
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_RNDV};
    ucs_status_ptr_t sent = ucp_am_send_nbx(A.ep, ID, NULL, 0, out, BIG, &p);
    UNTIL(offered != NULL);
    flushes("active message");
    ucs_status_t got = finished(ucp_am_recv_data_nbx(B.w, offered, in, BIG, &plain));
    ucs_status_t s = finished(sent);
    printf("active message: sent %s, received %s\n", name(s), name(got));
    put_behind();
    pair_close();
    return finish();
}
