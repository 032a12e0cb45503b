/* Memory lists for code on a device, and counters: what is in them, and what they hold.
 *
 *     lists
 *
 * The parent owns device memory; the child makes lists of it. */
#define _GNU_SOURCE
#include "pair.h"
#include "driver.h"
#include <sys/wait.h>
#include <ucp/api/device/ucp_device_types.h>
#include <ucp/api/device/ucp_host.h>

uint64_t cudasim_open(const char *kind) __attribute__((weak));

enum { SIZE = 1 << 20 };

struct offer {
    uint64_t at;
    size_t len;
    char key[1024];
};
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
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                              .address = (void *)at, .length = SIZE};
    ucp_mem_h m;
    MUST(ucp_mem_map(A.ctx, &p, &m));
    void *key;
    struct offer o = {.at = at};
    MUST(ucp_rkey_pack(A.ctx, m, &key, &o.len));
    memcpy(o.key, key, o.len);
    ucp_rkey_buffer_release(key);
    give(&o, sizeof o);
    char c;
    take_either(fd, &c, 1, 1);
    MUST(ucp_mem_unmap(A.ctx, m));
    CU(cuMemFree_v2(at));
    printf("free memory: %s\n", free_memory() == before ? "as before" : "less");
    give(&c, 1);
}

static void reader(void)
{
    struct offer o;
    CUdeviceptr mine;
    CU(cuMemAlloc_v2(&mine, SIZE));
    give(host, 1);
    take_either(fd, &o, sizeof o, 1);
    ucp_rkey_h key;
    MUST(ucp_ep_rkey_unpack(A.ep, o.key, &key));
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
    if (cudasim_open) HOLDS(cudasim_open("opened") == 1);
    ucp_device_mem_list_release(list);
    if (cudasim_open) HOLDS(cudasim_open("opened") == 0);

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
    int s[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    pid_t child = fork();
    fd = s[child == 0];
    close(s[child != 0]);
    use_device(0);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    open_side(&A);
    char other[4096];
    HOLDS(A.len <= sizeof other);
    memcpy(other, A.addr, A.len);
    give(other, sizeof other);
    take(other, sizeof other);
    connect_to(&A, (ucp_address_t *)other);
    if (child) owner();
    else reader();
    MUST(settled(ucp_ep_close_nbx(A.ep, &plain)));
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    if (!child) _exit(0);
    int status;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    return finish();
}
