/* More of what UCT must refuse: the calls of v2, of connection managers and listeners, and all that a
 * program reaches through the table of operations. Any status of a failure will do where several
 * would be right; a crash, a success or a hang never is. */
#include "uct.h"

#include <uct/api/v2/uct_v2.h>

static int wrong;

static void said(const char *what, int ok, long got)
{
    wrong += !ok;
    printf("%s %s: %s\n", ok ? "ok" : "WRONG", what, got <= 0 && got > -90 ? name((ucs_status_t)got) : "a value");
}

#define FAILS(expr) do { long s_ = (long)(expr); said(#expr, s_ < 0 && s_ > -90, s_); } while (0)
#define IS(expr, want) do { long s_ = (long)(expr); said(#expr, s_ == (want), s_); } while (0)
#define HAS(x) (a->attr.cap.flags & UCT_IFACE_FLAG_##x)

static size_t pack_none(void *dest, void *arg) { return 0; }
static void unpack(void *arg, const void *data, size_t length) {}
static ucs_status_t on_am(void *arg, void *data, size_t length, unsigned flags) { return UCS_OK; }

static void memory(domain_t *d)
{
    static char buffer[8192];
    uct_md_mem_reg_params_t reg = {.field_mask = UCT_MD_MEM_REG_FIELD_FLAGS, .flags = UCT_MD_MEM_ACCESS_ALL};
    uct_md_mem_dereg_params_t dereg = {.field_mask = 0};
    uct_md_mkey_pack_params_t pack = {.field_mask = UCT_MD_MKEY_PACK_FIELD_FLAGS, .flags = 0xffff0000u};
    uct_md_mem_attr_t attr = {.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE};
    uct_md_mem_attr_v2_t attr2 = {.field_mask = ~0ul};
    uct_rkey_unpack_params_t unpack_params = {.field_mask = ~0ul};
    uct_rkey_compare_params_t compare = {.field_mask = 0};
    uct_rkey_bundle_t rkey;
    uct_device_mem_elem_t *elem = (void *)buffer;
    uct_mem_h memh;
    int result;
    unsigned n;
    uct_tl_resource_desc_t *list;

    FAILS(uct_md_mem_reg_v2(NULL, buffer, 100, &reg, &memh));
    FAILS(uct_md_mem_reg_v2(d->md, buffer, 100, NULL, &memh));
    FAILS(uct_md_mem_reg_v2(d->md, buffer, 100, &reg, NULL));
    FAILS(uct_md_mem_reg_v2(d->md, buffer, 0, &reg, &memh));
    FAILS(uct_md_mem_dereg_v2(NULL, &dereg));
    FAILS(uct_md_mem_dereg_v2(d->md, NULL));
    FAILS(uct_md_mem_dereg_v2(d->md, &dereg));
    FAILS(uct_md_mem_dereg(NULL, (uct_mem_h)buffer));
    FAILS(uct_md_mkey_pack_v2(NULL, NULL, buffer, 8, &pack, buffer));
    FAILS(uct_md_mkey_pack_v2(d->md, NULL, buffer, 8, &pack, buffer));
    FAILS(uct_md_mkey_pack_v2(d->md, NULL, buffer, 8, NULL, NULL));
    FAILS(uct_md_mem_query(NULL, buffer, 8, &attr));
    FAILS(uct_md_mem_query(d->md, buffer, 8, NULL));
    FAILS(uct_md_mem_query_v2(NULL, buffer, 8, &attr2));
    FAILS(uct_md_mem_query_v2(d->md, buffer, 8, NULL));
    FAILS(uct_rkey_unpack_v2(NULL, buffer, &unpack_params, &rkey));
    FAILS(uct_rkey_unpack_v2(d->component, buffer, &unpack_params, NULL));
    FAILS(uct_rkey_compare(NULL, 0, 0, &compare, &result));
    FAILS(uct_rkey_compare(d->component, 0, 0, NULL, &result));
    FAILS(uct_rkey_compare(d->component, 0, 0, &compare, NULL));
    FAILS(uct_md_mem_elem_pack(NULL, NULL, 0, elem));
    FAILS(uct_md_mem_elem_pack(d->md, NULL, 0, elem));
    uct_md_mem_elem_release(d->md, elem);
    uct_md_mem_elem_release(NULL, NULL);
    FAILS(uct_md_query_tl_resources(NULL, &list, &n));
    FAILS(uct_md_query_tl_resources(d->md, NULL, &n));
    FAILS(uct_md_query_tl_resources(d->md, &list, NULL));
    uct_release_tl_resource_list(NULL);
    /* Keys of random bytes, whole and cut short. */
    if (d->md_attr.rkey_packed_size) {
        int accepted = 0;
        for (int i = 0; i < 20000; i++) {
            char *key = malloc(d->md_attr.rkey_packed_size);
            for (size_t k = 0; k < d->md_attr.rkey_packed_size; k++) key[k] = rand();
            accepted += uct_rkey_unpack(d->component, key, &rkey) == UCS_OK;
            free(key);
        }
        IS(accepted, 0);
    }
}

/* What no transport here has, and nonsense for what it has. */
static void operations(end_t *a, uct_ep_h ep)
{
    static char buffer[64];
    uct_iov_t iov = {.buffer = buffer, .length = 8, .count = 1};
    uct_completion_t comp = {.count = 1};
    uct_tag_context_t tag = {0};
    uct_device_ep_h device;
    void *const buffers[1] = {buffer};
    const size_t lengths[1] = {8};
    const uint64_t remote[1] = {0};
    const uct_rkey_t rkeys[1] = {0};
    const uct_mem_h memhs[1] = {NULL};
    uint32_t w32;
    uint64_t w64;
    char *odd = (char *)&w64 + 1;

    IS(uct_ep_tag_eager_short(ep, 1, buffer, 8), UCS_ERR_UNSUPPORTED);
    IS(uct_ep_tag_eager_bcopy(ep, 1, 0, pack_none, NULL, 0), UCS_ERR_UNSUPPORTED);
    IS(uct_ep_tag_eager_zcopy(ep, 1, 0, &iov, 1, 0, &comp), UCS_ERR_UNSUPPORTED);
    IS(UCS_PTR_STATUS(uct_ep_tag_rndv_zcopy(ep, 1, buffer, 8, &iov, 1, 0, &comp)), UCS_ERR_UNSUPPORTED);
    IS(uct_ep_tag_rndv_cancel(ep, buffer), UCS_ERR_UNSUPPORTED);
    IS(uct_ep_tag_rndv_request(ep, 1, buffer, 8, 0), UCS_ERR_UNSUPPORTED);
    IS(uct_iface_tag_recv_zcopy(a->iface, 1, ~0ul, &iov, 1, &tag), UCS_ERR_UNSUPPORTED);
    IS(uct_iface_tag_recv_cancel(a->iface, &tag, 0), UCS_ERR_UNSUPPORTED);
    FAILS(uct_iface_accept(a->iface, (uct_conn_request_h)buffer));
    FAILS(uct_iface_reject(a->iface, (uct_conn_request_h)buffer));
    FAILS(uct_ep_get_device_ep(ep, &device));
    FAILS(uct_ep_get_device_ep(NULL, &device));
    FAILS(uct_ep_put_sgl_zcopy(ep, buffers, lengths, memhs, remote, rkeys, NULL, NULL, 0, &comp));
    FAILS(uct_ep_put_sgl_zcopy(ep, NULL, lengths, memhs, remote, rkeys, NULL, NULL, 1, &comp));
    IS(uct_ep_put_sgl_zcopy(ep, buffers, lengths, memhs, remote, rkeys, NULL, NULL, 1, &comp), UCS_ERR_UNSUPPORTED);
    IS(uct_ep_get_sgl_zcopy(ep, buffers, lengths, memhs, remote, rkeys, NULL, NULL, 1, &comp), UCS_ERR_UNSUPPORTED);
    FAILS(uct_ep_get_sgl_zcopy(NULL, buffers, lengths, memhs, remote, rkeys, NULL, NULL, 1, &comp));
    uct_ep_outstanding_purge_params_t purge = {.field_mask = 0};
    IS(uct_ep_outstanding_purge(ep, &purge), UCS_ERR_UNSUPPORTED);
    FAILS(uct_ep_outstanding_purge(NULL, &purge));
    FAILS(uct_ep_connect_to_ep_v2(NULL, NULL, NULL, NULL));
    FAILS(uct_ep_connect_to_ep_v2(ep, NULL, NULL, NULL));
    FAILS(uct_ep_connect(ep, NULL));
    FAILS(uct_cm_client_ep_conn_notify(ep));
    if (!HAS(PUT_SHORT)) FAILS(uct_ep_put_short(ep, buffer, 8, 0, 0));
    if (!HAS(PUT_BCOPY)) FAILS(uct_ep_put_bcopy(ep, pack_none, NULL, 0, 0));
    FAILS(uct_ep_put_bcopy(ep, NULL, NULL, 0, 0));
    FAILS(uct_ep_get_bcopy(ep, NULL, NULL, 8, 0, 0, &comp));
    if (!HAS(GET_BCOPY)) FAILS(uct_ep_get_bcopy(ep, unpack, NULL, 8, 0, 0, &comp));
    FAILS(uct_ep_am_bcopy(ep, 1, NULL, NULL, 0));
    FAILS(uct_ep_am_short(ep, UCT_AM_ID_MAX, 0, NULL, 0));
    FAILS(uct_ep_am_zcopy(ep, UCT_AM_ID_MAX, NULL, 0, &iov, 1, 0, &comp));
    FAILS(uct_ep_am_zcopy(ep, 1, NULL, 8, &iov, 1, 0, &comp));
    FAILS(uct_ep_am_short_iov(ep, 1, NULL, 1));
    iov.length = SIZE_MAX;
    iov.count = 2;
    FAILS(uct_ep_am_short_iov(ep, 1, &iov, 1));
    FAILS(uct_ep_am_zcopy(ep, 1, NULL, 0, &iov, 1, 0, &comp));
    if (!HAS(PUT_ZCOPY)) FAILS(uct_ep_put_zcopy(ep, &iov, 1, 0, 0, &comp));
    if (!HAS(GET_ZCOPY)) FAILS(uct_ep_get_zcopy(ep, &iov, 1, 0, 0, &comp));
    FAILS(uct_ep_put_zcopy(ep, NULL, 1, 0, 0, &comp));
    FAILS(uct_ep_get_zcopy(ep, NULL, 1, 0, 0, &comp));
    /* A word that is not aligned, an operation that isn't one, no place for the result. */
    FAILS(uct_ep_atomic64_post(ep, UCT_ATOMIC_OP_ADD, 1, (uintptr_t)odd, 0));
    FAILS(uct_ep_atomic32_post(ep, UCT_ATOMIC_OP_ADD, 1, (uintptr_t)odd, 0));
    FAILS(uct_ep_atomic32_post(ep, 77, 1, (uintptr_t)&w32, 0));
    FAILS(uct_ep_atomic64_fetch(ep, 77, 1, &w64, (uintptr_t)&w64, 0, &comp));
    FAILS(uct_ep_atomic32_fetch(ep, UCT_ATOMIC_OP_ADD, 1, NULL, (uintptr_t)&w32, 0, &comp));
    FAILS(uct_ep_atomic_cswap32(ep, 1, 2, (uintptr_t)odd, 0, &w32, &comp));
    FAILS(uct_ep_atomic_cswap64(ep, 1, 2, (uintptr_t)&w64, 0, NULL, &comp));
    IS(comp.count, 1);
    IS(uct_ep_fence(ep, 0), UCS_OK);
    IS(uct_iface_fence(a->iface, 0), UCS_OK);
    uct_iface_progress(a->iface);
    comp.status = UCS_OK;
    uct_completion_update_status(&comp, UCS_ERR_IO_ERROR);
    uct_completion_update_status(&comp, UCS_ERR_CANCELED);
    IS(comp.status, UCS_ERR_IO_ERROR);
}

static unsigned calls;

static unsigned count_call(void *arg)
{
    calls++;
    return 1;
}

static void workers(end_t *a)
{
    uct_worker_cb_id_t id = UCS_CALLBACKQ_ID_NULL;

    uct_worker_progress_register_safe(a->worker, NULL, NULL, 0, &id);
    uct_worker_progress_register_safe(a->worker, count_call, NULL, 0, &id);
    uct_worker_progress(a->worker);
    uct_worker_progress_unregister_safe(a->worker, &id);
    IS(id, UCS_CALLBACKQ_ID_NULL);
    uct_worker_progress_unregister_safe(a->worker, &id);
    unsigned before = calls;
    uct_worker_progress(a->worker);
    IS(calls > 0 && calls == before, 1);
}

static void managers(domain_t *d, end_t *a)
{
    uct_cm_config_t *config;
    uct_cm_h cm = NULL;
    uct_cm_attr_t attr = {.field_mask = UCT_CM_ATTR_FIELD_MAX_CONN_PRIV};
    uct_listener_attr_t listener_attr = {.field_mask = UCT_LISTENER_ATTR_FIELD_SOCKADDR};
    uct_listener_params_t params = {.field_mask = 0};
    uct_listener_h listener;
    struct sockaddr_storage nothing = {.ss_family = 0xffff};
    ucs_sock_addr_t address = {.addr = (void *)&nothing, .addrlen = 2};

    FAILS(uct_cm_config_read(NULL, NULL, NULL, &config));
    FAILS(uct_cm_config_read(d->component, NULL, NULL, NULL));
    FAILS(uct_cm_query(NULL, &attr));
    FAILS(uct_listener_create(NULL, NULL, 0, &params, &listener));
    FAILS(uct_listener_query(NULL, &listener_attr));
    FAILS(uct_listener_reject(NULL, NULL));
    IS(uct_md_is_sockaddr_accessible(d->md, &address, UCT_SOCKADDR_ACC_LOCAL), 0);
    IS(uct_md_is_sockaddr_accessible(d->md, NULL, UCT_SOCKADDR_ACC_LOCAL), 0);
    uct_cm_close(NULL);
    uct_listener_destroy(NULL);
    if (uct_cm_config_read(d->component, NULL, NULL, &config) != UCS_OK) return;
    FAILS(uct_cm_open(NULL, a->worker, config, &cm));
    FAILS(uct_cm_open(d->component, NULL, config, &cm));
    FAILS(uct_cm_open(d->component, a->worker, config, NULL));
    if (uct_cm_open(d->component, a->worker, config, &cm) == UCS_OK) {
        FAILS(uct_cm_query(cm, NULL));
        FAILS(uct_listener_create(cm, NULL, 0, &params, &listener));
        FAILS(uct_listener_create(cm, (void *)&nothing, 2, &params, &listener));
        FAILS(uct_listener_create(cm, (void *)&nothing, 2, NULL, &listener));
        FAILS(uct_listener_create(cm, (void *)&nothing, 2, &params, NULL));
        uct_cm_close(cm);
    }
    uct_config_release(config);
}

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: refused TRANSPORT DEVICE");
    MUST(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
    domain_t d = find(argv[1], argv[2]);
    memory(&d);
    end_t a = open_iface(&d, argv[1], argv[2]);
    MUST(uct_iface_set_am_handler(a.iface, 1, on_am, NULL, 0));
    uct_ep_h ep = endpoint_to(&a, &a);
    operations(&a, ep);
    workers(&a);
    managers(&d, &a);
    uct_ep_destroy(ep);
    close_iface(&a);
    uct_md_close(d.md);
    ucs_async_context_destroy(async);
    printf("%d wrong\n", wrong);
    return finish();
}
