/* Two processes of which the parent owns device memory and the child uses it: how they begin, how
 * keys get across, and how they end. */
#ifndef TWO_H
#define TWO_H
#include "pair.h"
#include "memory.h"
#include <sched.h>
#include <sys/wait.h>

static pid_t child; /* 0 in the child */

struct offer {
    uint64_t at;
    size_t len;
    char key[1024];
};

/* The child of the child goes on, as process 1. */
static void apart(void)
{
    int status;
    HOLDS(unshare(CLONE_NEWPID) == 0);
    pid_t first = fork();
    if (!first) return;
    HOLDS(waitpid(first, &status, 0) == first);
    _exit(status != 0);
}

/* CHILD_NAMESPACE: the child is process 1 of a pid namespace of its own. CHILD_DEVICES: those that it
 * sees, in its order. */
static void split(void)
{
    int s[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    child = fork();
    if (!child && getenv("CHILD_NAMESPACE")) apart();
    if (!child && getenv("CHILD_DEVICES")) setenv("CUDA_VISIBLE_DEVICES", getenv("CHILD_DEVICES"), 1);
    fd = s[child == 0];
    close(s[child != 0]);
}

static void connect_both(void)
{
    char other[4096];
    HOLDS(A.len <= sizeof other);
    memcpy(other, A.addr, A.len);
    give(other, sizeof other);
    take(other, sizeof other);
    connect_to(&A, (ucp_address_t *)other);
}

/* A barrier with progress. */
static void both(void)
{
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1);
}

/* Progress until the other process says that it is there. */
static void serve(void)
{
    char c;
    take_either(fd, &c, 1, 1);
    give(&c, 1);
}

static void send_key(ucp_mem_h m, uint64_t at)
{
    void *key;
    struct offer o = {.at = at};
    MUST(ucp_rkey_pack(A.ctx, m, &key, &o.len));
    HOLDS(o.len <= sizeof o.key);
    memcpy(o.key, key, o.len);
    ucp_rkey_buffer_release(key);
    give(&o, sizeof o);
}

static ucp_mem_h map_memory(uint64_t at, size_t n)
{
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                              .address = (void *)at, .length = n};
    ucp_mem_h m;
    MUST(ucp_mem_map(A.ctx, &p, &m));
    return m;
}

static struct offer take_offer(void)
{
    struct offer o;
    take_either(fd, &o, sizeof o, 1);
    return o;
}

static ucp_rkey_h unpack(const struct offer *o)
{
    ucp_rkey_h key;
    MUST(ucp_ep_rkey_unpack(A.ep, o->key, &key));
    return key;
}

/* How much less memory is free than before. */
static void say_free(size_t before)
{
    size_t after = free_memory();
    if (after == before) printf("free memory: as before\n");
    else printf("free memory: %zu bytes less\n", before - after);
}

static void is_open(uint64_t n)
{
    if (cudasim_open && open_now() != n) DIE("%lu are open, not %lu", (unsigned long)open_now(), (unsigned long)n);
}

/* What a real driver makes for the first copies is no memory that was lost. */
static void warm_up(void)
{
    enum { SOME = 1 << 16 };
    if (cudasim_open) return;
    CUdeviceptr at;
    CU(cuMemAlloc_v2(&at, SOME));
    if (child) {
        ucp_mem_h m = map_memory(at, SOME);
        send_key(m, at);
        serve();
        MUST(ucp_mem_unmap(A.ctx, m));
    } else {
        struct offer o = take_offer();
        ucp_rkey_h key = unpack(&o);
        MUST(settled(ucp_get_nbx(A.ep, (void *)at, SOME, o.at, key, &plain)));
        ucp_rkey_destroy(key);
        meet();
    }
    CU(cuMemFree_v2(at));
}

/* Both are in progress until both have closed. */
static void close_both(void)
{
    if (A.ep) MUST(settled(ucp_ep_close_nbx(A.ep, &plain)));
    both();
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
}

/* The child ends here. On a library that is to close all that it opens, it has. */
static void end_both(void)
{
    int status;
    if (getenv("ALL_IS_CLOSED")) is_open(0);
    if (!child) _exit(0);
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

/* Two connected processes with a device each, from the beginning to the end. */
static void run_two(void (*owner)(void), void (*user)(void))
{
    split();
    use_device(0);
    open_side(&A);
    connect_both();
    warm_up();
    if (child) owner();
    else user();
    close_both();
    ucp_cleanup(A.ctx);
    is_open(0);
    end_both();
}
#endif
