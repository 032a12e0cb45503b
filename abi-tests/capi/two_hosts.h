/* Two processes on two hosts that share a folder: how they find each other, and how they part. */
#ifndef TWO_HOSTS_H
#define TWO_HOSTS_H
#include "am.h"
#include "pair.h"
#include <sys/stat.h>
#include <sys/un.h>

static const char *dir; /* the folder */
static ucp_ep_h ep;
static int leaving; /* both are done: the other may go first */

/* Whether there is this file in the folder. */
__attribute__((unused)) static int heard(const char *file)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return stat(path, &st) == 0;
}
__attribute__((unused)) static void say(const char *file)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *f = fopen(path, "w");
    HOLDS(f);
    fclose(f);
}

/* Opens A; returns the other worker's address. */
static ucp_address_t *find_each_other(int lead)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    open_side(&A);
    snprintf(a.sun_path, sizeof a.sun_path, "%s/meet", dir);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (lead) {
        HOLDS(bind(s, (void *)&a, sizeof a) == 0 && listen(s, 1) == 0);
        fd = accept(s, NULL, NULL);
    } else {
        for (double end = now() + 20; connect(s, (void *)&a, sizeof a); usleep(10000))
            if (now() > end) DIE("the other process does not come");
        fd = s;
    }
    HOLDS(fd >= 0);
    return swap_addresses();
}
static void open_ep(const ucp_address_t *theirs, int mode, ucp_err_handler_cb_t on_error)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = theirs, .err_mode = (ucp_err_handling_mode_t)mode, .err_handler.cb = on_error};
    MUST(ucp_ep_create(A.w, &p, &ep));
}

/* The other process may read and write this memory of ours. */
static void give_window(void *at, size_t bytes)
{
    ucp_mem_map_params_t m = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = at, .length = bytes};
    ucp_mem_h mem;
    void *packed;
    size_t len;
    uint64_t va = (uintptr_t)at;
    MUST(ucp_mem_map(A.ctx, &m, &mem));
    MUST(ucp_rkey_pack(A.ctx, mem, &packed, &len));
    give(&va, sizeof va);
    give(&len, sizeof len);
    give(packed, len);
}
static ucp_rkey_h take_window(uint64_t *va, void **packed)
{
    ucp_rkey_h rkey;
    size_t len;
    take(va, sizeof *va);
    take(&len, sizeof len);
    *packed = malloc(len);
    take(*packed, len);
    MUST(ucp_ep_rkey_unpack(ep, *packed, &rkey));
    return rkey;
}

/* Both go on until both are done: answers may still be on their way. */
static int part(void)
{
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
    leaving = 1;
    for (double end = now() + 0.3; now() < end;) ucp_worker_progress(A.w);
    /* What a worker has counted is told at its end. */
    if (getenv("UCX_FAILOVER_STATS")) ucp_worker_destroy(A.w);
    printf("end\n");
    return 0;
}
#endif
