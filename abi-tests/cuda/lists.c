/* Memory lists for code on a device, and counters: what is in them, what they hold, when they can be
 * had, and that nothing is left where they can't.
 *
 *     lists
 *
 * The parent owns device memory; the child makes lists of it. */
#define _GNU_SOURCE
#include "two.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <ucp/api/device/ucp_device_types.h>
#include <ucp/api/device/ucp_host.h>

enum { SIZE = 1 << 20, PIECES = 3 };

/* What a device reads. */
struct remote {
    uint16_t version, lanes;
    uint32_t length;
    struct { uint64_t address, ep, distance; } of[PIECES];
};
struct local {
    uint16_t version, lanes;
    uint32_t length;
    uint64_t address[2];
};

static unsigned char host[SIZE];

/* ---- the owner, who listens too -------------------------------------------------------------------- */

static ucp_ep_h accepted;

static void on_request(ucp_conn_request_h request, void *arg)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
                         .conn_request = request, .err_mode = UCP_ERR_HANDLING_MODE_PEER};
    MUST(ucp_ep_create(A.w, &p, &accepted));
}

static ucp_listener_h listens(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_h l;
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)&at, sizeof at}, .conn_handler = {on_request, NULL}};
    MUST(ucp_listener_create(A.w, &p, &l));
    ucp_listener_attr_t a = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    MUST(ucp_listener_query(l, &a));
    give(&a.sockaddr, sizeof a.sockaddr);
    return l;
}

static void owner(void)
{
    take_either(fd, host, 1, 1);
    size_t before = free_memory();
    CUdeviceptr at;
    CU(cuMemAlloc_v2(&at, SIZE));
    fill(host, SIZE, 3);
    CU(cuMemcpyHtoD_v2(at, host, SIZE));
    ucp_mem_h m = map_memory(at, SIZE);
    send_key(m, at);
    ucp_listener_h l = listens();
    char c;
    take_either(fd, &c, 1, 1);
    HOLDS(accepted);
    ucp_listener_destroy(l);
    settled(ucp_ep_close_nbx(accepted, &plain));
    MUST(ucp_mem_unmap(A.ctx, m));
    CU(cuMemFree_v2(at));
    say_free(before);
    give(&c, 1);
}

/* ---- lists ----------------------------------------------------------------------------------------- */

static CUdeviceptr mine;
static ucp_device_mem_list_elem_t e[PIECES];
static ucp_device_mem_list_params_t params = {
    .field_mask = UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENTS | UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENT_SIZE |
                  UCP_DEVICE_MEM_LIST_PARAMS_FIELD_NUM_ELEMENTS,
    .element_size = sizeof *e, .num_elements = PIECES, .elements = e};

/* Two pieces of the memory, and a gap. */
static void describe(ucp_ep_h ep, ucp_rkey_h key, uint64_t at)
{
    memset(e, 0, sizeof e);
    e[0].field_mask = e[2].field_mask = UCP_DEVICE_MEM_LIST_ELEM_FIELD_RKEY | UCP_DEVICE_MEM_LIST_ELEM_FIELD_EP |
                                        UCP_DEVICE_MEM_LIST_ELEM_FIELD_REMOTE_ADDR;
    e[0].rkey = e[2].rkey = key;
    e[0].ep = e[2].ep = ep;
    e[0].remote_addr = at;
    e[2].remote_addr = at + 512;
}

/* As callers do it: progress as long as it isn't connected. How often it wasn't. */
static int remote_list(void **list)
{
    ucs_status_t s;
    int times = 0;
    double end = now() + 60;
    while ((s = ucp_device_remote_mem_list_create(&params, (void *)list)) == UCS_ERR_NOT_CONNECTED) {
        if (now() > end) DIE("it is not connected any more");
        times++;
        ucp_worker_progress(A.w);
    }
    MUST(s);
    return times;
}

static void remote_lists(const struct offer *o)
{
    ucp_rkey_h key = unpack(o);
    void *list;
    describe(A.ep, key, o->at);
    remote_list(&list);
    HOLDS(ucp_device_get_mem_list_length(list) == PIECES);
    struct remote got;
    CU(cuMemcpyDtoH_v2(&got, (CUdeviceptr)list, sizeof got));
    HOLDS(got.version == UCP_DEVICE_MEM_LIST_VERSION_V1 && got.lanes == 1 && got.length == PIECES);
    HOLDS(got.of[0].address == o->at && got.of[2].address == o->at + 512);
    HOLDS(got.of[0].ep && got.of[0].ep == got.of[2].ep && !got.of[1].address && !got.of[1].ep);
    unsigned char kind;
    CU(cuMemcpyDtoH_v2(&kind, got.of[0].ep, 1));
    HOLDS(kind == 1);
    /* The list holds what it leads to, when its key is gone. */
    ucp_rkey_destroy(key);
    CU(cuMemcpyDtoH_v2(host, o->at + got.of[0].distance, SIZE));
    HOLDS(same(host, SIZE, 3));
    is_open(1);
    ucp_device_mem_list_release(list);
    is_open(0);

    /* Refused: nothing, and nothing but gaps. */
    params.num_elements = 0;
    HOLDS(ucp_device_remote_mem_list_create(&params, (void *)&list) == UCS_ERR_INVALID_PARAM);
    e[0].field_mask = e[2].field_mask = 0;
    params.num_elements = PIECES;
    HOLDS(ucp_device_remote_mem_list_create(&params, (void *)&list) == UCS_ERR_INVALID_PARAM);
}

/* Of our own memory, with pieces of it. */
static void describe_local(ucp_device_mem_list_params_t *p, ucp_mem_h m)
{
    memset(e, 0, sizeof e);
    for (int i = 0; i < 2; i++) {
        e[i].field_mask = UCP_DEVICE_MEM_LIST_ELEM_FIELD_MEMH | UCP_DEVICE_MEM_LIST_ELEM_FIELD_LOCAL_ADDR;
        e[i].memh = m;
        e[i].local_addr = (char *)mine + 100 * i;
    }
    *p = params;
    p->field_mask |= UCP_DEVICE_MEM_LIST_PARAMS_FIELD_WORKER;
    p->worker = A.w;
    p->num_elements = 2;
}

static void local_lists(void)
{
    ucp_device_mem_list_params_t p;
    ucp_mem_h m = map_memory(mine, SIZE), of_host = map_memory((uintptr_t)host, SIZE);
    void *list;
    describe_local(&p, m);
    MUST(ucp_device_local_mem_list_create(&p, (void *)&list));
    HOLDS(ucp_device_get_mem_list_length(list) == 2);
    struct local got;
    CU(cuMemcpyDtoH_v2(&got, (CUdeviceptr)list, sizeof got));
    HOLDS(got.version == UCP_DEVICE_MEM_LIST_VERSION_V1 && got.length == 2);
    HOLDS(got.address[0] == mine && got.address[1] == mine + 100);
    ucp_device_mem_list_release(list);
    describe_local(&p, of_host);
    HOLDS(ucp_device_local_mem_list_create(&p, (void *)&list) == UCS_ERR_UNSUPPORTED);
    p.field_mask &= ~UCP_DEVICE_MEM_LIST_PARAMS_FIELD_WORKER;
    HOLDS(ucp_device_local_mem_list_create(&p, (void *)&list) == UCS_ERR_INVALID_PARAM);
    MUST(ucp_mem_unmap(A.ctx, of_host));
    MUST(ucp_mem_unmap(A.ctx, m));
}

/* A client's endpoint is not connected before the server has answered. */
static void not_connected(const struct offer *o, const struct sockaddr_storage *server)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
                         .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER, .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                         .sockaddr = {(struct sockaddr *)server, sizeof(struct sockaddr_in)}};
    ucp_ep_h ep;
    ucp_rkey_h key;
    void *list;
    size_t before = free_memory();
    MUST(ucp_ep_create(A.w, &p, &ep));
    MUST(ucp_ep_rkey_unpack(ep, o->key, &key));
    describe(ep, key, o->at);
    HOLDS(ucp_device_remote_mem_list_create(&params, (void *)&list) == UCS_ERR_NOT_CONNECTED);
    HOLDS(free_memory() == before);
    is_open(0);
    HOLDS(remote_list(&list) > 0);
    is_open(1);
    ucp_device_mem_list_release(list);
    ucp_rkey_destroy(key);
    is_open(0);
    settled(ucp_ep_close_nbx(ep, &plain));
}

/* ---- faults ---------------------------------------------------------------------------------------- */

static unsigned errors;

/* With the nth call failing: a list, or none, and nothing left of it. Whether there were as many calls. */
static int once(uint64_t nth, ucs_status_t (*create)(void **))
{
    void *list;
    size_t before = free_memory();
    uint64_t open = open_now();
    cudasim_fail("*!", nth, 2);
    ucs_status_t s = create(&list);
    int left = cudasim_heal() != 0;
    errors += s != UCS_OK;
    HOLDS(s == UCS_OK || UCS_STATUS_IS_ERR(s));
    if (s == UCS_OK) {
        cudasim_fail("*!", nth, 2);
        ucp_device_mem_list_release(list);
        left = cudasim_heal() != 0 && left;
    }
    if (free_memory() != before || open_now() != open)
        DIE("call %lu fails: %ld bytes and %ld mappings are left", (unsigned long)nth, (long)(before - free_memory()),
            (long)(open_now() - open));
    return !left;
}

static ucs_status_t one_remote(void **list) { return ucp_device_remote_mem_list_create(&params, (void *)list); }

static ucp_mem_h own;

static ucs_status_t one_local(void **list)
{
    ucp_device_mem_list_params_t p;
    describe_local(&p, own);
    return ucp_device_local_mem_list_create(&p, (void *)list);
}

static void failing(const struct offer *o)
{
    if (!cudasim_fail) return;
    uint64_t nth, all = 0;
    ucp_rkey_h key = unpack(o);
    void *list;
    describe(A.ep, key, o->at);
    remote_list(&list);
    ucp_device_mem_list_release(list);
    for (nth = 1; once(nth, one_remote); nth++) all++;
    ucp_rkey_destroy(key);
    is_open(0);
    /* The first of a key opens, too. */
    for (nth = 1;; nth++) {
        key = unpack(o);
        describe(A.ep, key, o->at);
        cudasim_fail("*!", nth, 2);
        ucs_status_t s = one_remote(&list);
        int left = cudasim_heal() != 0;
        errors += s != UCS_OK;
        if (s == UCS_OK) ucp_device_mem_list_release(list);
        ucp_rkey_destroy(key);
        is_open(0);
        if (left) break;
        all++;
    }
    own = map_memory(mine, SIZE);
    for (nth = 1; once(nth, one_local); nth++) all++;
    MUST(ucp_mem_unmap(A.ctx, own));
    printf("lists: %lu calls failed once, %u errors\n", (unsigned long)all, errors);
    HOLDS(all > 10 && errors > 5);
}

static void counters(void)
{
    uint64_t value = 77;
    CU(cuMemcpyHtoD_v2(mine, &value, 8));
    ucp_device_counter_params_t none = {.field_mask = 0};
    HOLDS(ucp_device_counter_read(A.w, &none, (void *)mine) == 77);
    MUST(ucp_device_counter_init(A.w, &none, (void *)mine));
    HOLDS(ucp_device_counter_read(A.w, &none, (void *)mine) == 0);
    ucs_status_t s = cudasim_fail ? UCS_OK : UCS_ERR_NO_DEVICE;
    for (uint64_t nth = 1, left = !cudasim_fail; !left; nth++) {
        cudasim_fail("*!", nth, 999);
        ucs_status_t now_ = ucp_device_counter_init(A.w, &none, (void *)mine);
        if (now_ == UCS_OK) ucp_device_counter_read(A.w, &none, (void *)mine);
        else s = now_;
        left = cudasim_heal();
    }
    HOLDS(s != UCS_OK);
    HOLDS(ucp_device_counter_init(A.w, &none, NULL) == UCS_ERR_INVALID_PARAM);
}

static void reader(void)
{
    struct sockaddr_storage server;
    CU(cuMemAlloc_v2(&mine, SIZE));
    give(host, 1);
    struct offer o = take_offer();
    take_either(fd, &server, sizeof server, 1);
    not_connected(&o, &server);
    remote_lists(&o);
    local_lists();
    failing(&o);
    counters();
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
    CU(cuMemFree_v2(mine));
}

int main(void)
{
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    run_two(owner, reader);
    return finish();
}
