/* Memory lists for code on a device, and counters: what is in them, and what they hold.
 *
 *     lists
 *
 * The parent owns device memory; the child makes lists of it. */
#define _GNU_SOURCE
#include "two.h"
#include <ucp/api/device/ucp_device_types.h>
#include <ucp/api/device/ucp_host.h>

enum { SIZE = 1 << 20 };

/* What a device reads. */
struct remote {
    uint16_t version, lanes;
    uint32_t length;
    struct { uint64_t address, ep, distance; } of[3];
};

static unsigned char host[SIZE];

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
    char c;
    take_either(fd, &c, 1, 1);
    MUST(ucp_mem_unmap(A.ctx, m));
    CU(cuMemFree_v2(at));
    say_free(before);
    give(&c, 1);
}

static void reader(void)
{
    CUdeviceptr mine;
    CU(cuMemAlloc_v2(&mine, SIZE));
    give(host, 1);
    struct offer o = take_offer();
    ucp_rkey_h key = unpack(&o);
    ucp_device_mem_list_elem_t e[3];
    memset(e, 0, sizeof e);
    e[0].field_mask = e[2].field_mask = UCP_DEVICE_MEM_LIST_ELEM_FIELD_RKEY | UCP_DEVICE_MEM_LIST_ELEM_FIELD_EP |
                                        UCP_DEVICE_MEM_LIST_ELEM_FIELD_REMOTE_ADDR;
    e[0].rkey = e[2].rkey = key;
    e[0].ep = e[2].ep = A.ep;
    e[0].remote_addr = o.at;
    e[2].remote_addr = o.at + 512;
    ucp_device_mem_list_params_t p = {.field_mask = UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENTS |
                                                    UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENT_SIZE |
                                                    UCP_DEVICE_MEM_LIST_PARAMS_FIELD_NUM_ELEMENTS,
                                      .element_size = sizeof *e, .num_elements = 3, .elements = e};
    void *list;
    ucs_status_t s;
    while ((s = ucp_device_remote_mem_list_create(&p, (void *)&list)) == UCS_ERR_NOT_CONNECTED) ucp_worker_progress(A.w);
    MUST(s);
    HOLDS(ucp_device_get_mem_list_length(list) == 3);
    struct remote got;
    CU(cuMemcpyDtoH_v2(&got, (CUdeviceptr)list, sizeof got));
    HOLDS(got.version == UCP_DEVICE_MEM_LIST_VERSION_V1 && got.lanes == 1 && got.length == 3);
    HOLDS(got.of[0].address == o.at && got.of[2].address == o.at + 512);
    HOLDS(got.of[0].ep && got.of[0].ep == got.of[2].ep && !got.of[1].address && !got.of[1].ep);
    unsigned char kind;
    CU(cuMemcpyDtoH_v2(&kind, got.of[0].ep, 1));
    HOLDS(kind == 1);
    /* The list holds what it leads to, when its key is gone. */
    ucp_rkey_destroy(key);
    CU(cuMemcpyDtoH_v2(host, o.at + got.of[0].distance, SIZE));
    HOLDS(same(host, SIZE, 3));
    is_open(1);
    ucp_device_mem_list_release(list);
    is_open(0);

    /* Refused: nothing, and nothing but gaps. */
    p.num_elements = 0;
    HOLDS(ucp_device_remote_mem_list_create(&p, (void *)&list) == UCS_ERR_INVALID_PARAM);
    e[0].field_mask = e[2].field_mask = 0;
    p.num_elements = 3;
    HOLDS(ucp_device_remote_mem_list_create(&p, (void *)&list) == UCS_ERR_INVALID_PARAM);

    uint64_t value = 77;
    CU(cuMemcpyHtoD_v2(mine, &value, 8));
    ucp_device_counter_params_t none = {.field_mask = 0};
    HOLDS(ucp_device_counter_read(A.w, &none, (void *)mine) == 77);
    MUST(ucp_device_counter_init(A.w, &none, (void *)mine));
    HOLDS(ucp_device_counter_read(A.w, &none, (void *)mine) == 0);
    char c = 0;
    give(&c, 1);
    take(&c, 1);
    CU(cuMemFree_v2(mine));
}

int main(void)
{
    split();
    use_device(0);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    open_side(&A);
    connect_both();
    if (child) owner();
    else reader();
    close_both();
    ucp_cleanup(A.ctx);
    end_both();
    return finish();
}
