/* What programs do with the headers: inline functions, macros, unnamed members. Compiled as C and C++. */
#include <ucm/api/ucm.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>
#include <ucs/arch/atomic.h>
#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/string_buffer.h>
#include <ucs/debug/log_def.h>
#include <ucs/memory/rcache.h>
#include <ucs/sys/string.h>
#include <ucs/type/class.h>
#include <ucs/type/init_once.h>
#include <ucs/type/param.h>
#include <ucs/type/spinlock.h>

struct item {
    ucs_list_link_t link;
    ucs_hlist_link_t hlink;
    int value;
};

int sum_list(ucs_list_link_t *head, ucs_hlist_head_t *hhead);
ucs_status_t start(ucp_context_h *context, ucp_ep_h ep);
unsigned transports(uct_worker_h worker, uct_ep_h ep, uct_rkey_t rkey);
unsigned services(ucs_spinlock_t *lock, const ucp_params_t *params, uint32_t *word);

int sum_list(ucs_list_link_t *head, ucs_hlist_head_t *hhead)
{
    struct item *item, *next;
    ucs_hlist_head_t at;
    int sum = 0;

    ucs_list_for_each(item, head, link) {
        sum += item->value;
    }
    ucs_list_for_each_safe(item, next, head, link) {
        ucs_list_del(&item->link);
    }
    ucs_hlist_for_each(item, hhead, hlink) {
        sum += item->value;
    }
    ucs_hlist_for_each_safe(item, next, hhead, &at, hlink) {
        ucs_hlist_del(hhead, &item->hlink);
    }
    ucs_hlist_for_each_extract(item, hhead, hlink) {
        sum += item->value;
    }
    return sum;
}

ucs_status_t start(ucp_context_h *context, ucp_ep_h ep)
{
    ucp_params_t params;
    ucp_request_param_t param;
    ucs_status_ptr_t request;

    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG | UCP_FEATURE_AM;
    if (ucp_init(&params, NULL, context) != UCS_OK) {
        return UCS_ERR_NO_DEVICE;
    }
    param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK;
    param.datatype     = ucp_dt_make_contig(8);
    param.cb.send      = NULL;
    request            = ucp_tag_send_nbx(ep, NULL, 0, 1, &param);
    if (UCS_PTR_IS_ERR(request)) {
        return UCS_PTR_STATUS(request);
    }
    return UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_OK;
}

unsigned transports(uct_worker_h worker, uct_ep_h ep, uct_rkey_t rkey)
{
    uct_ep_op_info_t info;

    info.am.am_id  = 1;
    info.operation = UCT_EP_OP_AM_SHORT;
    if (uct_ep_am_short(ep, info.am.am_id, 2, NULL, 0) != UCS_OK) {
        return 0;
    }
    if (uct_ep_put_short(ep, NULL, 0, 0, rkey) == UCS_ERR_NO_RESOURCE) {
        return uct_ep_flush(ep, 0, NULL) == UCS_OK;
    }
    return uct_worker_progress(worker);
}

typedef struct base {
    int first;
} base_t;

typedef struct derived {
    base_t super;
    int second;
} derived_t;

UCS_CLASS_DECLARE(base_t, int)
UCS_CLASS_DECLARE(derived_t, int, int)
UCS_CLASS_DECLARE_NEW_FUNC(derived_t, base_t, int, int);
UCS_CLASS_DECLARE_DELETE_FUNC(derived_t, base_t);

UCS_CLASS_INIT_FUNC(base_t, int first)
{
    self->first = first;
    return UCS_OK;
}

UCS_CLASS_CLEANUP_FUNC(base_t)
{
}

UCS_CLASS_INIT_FUNC(derived_t, int first, int second)
{
    UCS_CLASS_CALL_SUPER_INIT(base_t, first);
    self->second = second;
    return UCS_OK;
}

UCS_CLASS_CLEANUP_FUNC(derived_t)
{
}

UCS_CLASS_DEFINE_NEW_FUNC(derived_t, base_t, int, int)
UCS_CLASS_DEFINE_DELETE_FUNC(derived_t, base_t)

static ucs_init_once_t once = UCS_INIT_ONCE_INITIALIZER;

unsigned services(ucs_spinlock_t *lock, const ucp_params_t *params, uint32_t *word)
{
    unsigned index, bits = 0;
    char buffer[16];
    UCS_STRING_BUFFER_STATIC(text, buffer);

    UCS_INIT_ONCE(&once) {
        ucs_spinlock_init(lock, 0);
    }
    ucs_spin_lock(lock);
    ucs_spin_unlock(lock);
    ucs_string_buffer_appendf(&text, "%s", ucs_basename("a/b"));
    ucs_for_each_bit(index, 5ul) {
        bits += index;
    }
    ucs_debug("bits %u", bits);
    ucs_atomic_add32(word, 1);
    return bits + ucs_ilog2(bits + 1) +
           (unsigned)UCS_PARAM_VALUE(UCP_PARAM_FIELD, params, estimated_num_eps, ESTIMATED_NUM_EPS, 1);
}
