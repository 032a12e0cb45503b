/* Keys and memory of devices in the hands of a stranger: keys with other bytes in them, keys of
 * processes and of memory that are gone, buffers that lie half inside of an allocation, empty ones,
 * memory that is freed too early, processes that were forked. Each try ends with a status; nothing
 * crashes, and nothing stays open.
 *
 *     hostile flips|forged|halves|empty|types|freed|early|forked|left|dead
 *
 * The parent owns the memory, but in `dead`, where it kills the owner. A line "-- TRY: STATUS" follows
 * what is logged of each try. */
#define _GNU_SOURCE
#include "two.h"
#include <signal.h>

enum { SIZE = 4 << 20, PART = 1000 };

static unsigned char *host;
static CUdeviceptr to, here; /* of the reader, of the owner */
static ucp_mem_h region;
static struct offer good;
static size_t before;

static void tried(const char *what, ucs_status_t s) { printf("-- %s: %s\n", what, name(s)); }

static void own(void)
{
    CU(cuMemAlloc_v2(&here, SIZE));
    fill(host, SIZE, 1);
    CU(cuMemcpyHtoD_v2(here, host, SIZE));
    region = map_memory(here, SIZE);
    send_key(region, here);
}

static void disown(void)
{
    MUST(ucp_mem_unmap(A.ctx, region));
    CU(cuMemFree_v2(here));
}

static void owner(void)
{
    serve();
    before = free_memory();
    own();
    serve();
    disown();
    serve();
    serve();
    own();
    serve();
    disown();
    say_free(before);
    serve();
}

/* Reads by a key, and asks it for a pointer. What the key has opened goes with it. */
static ucs_status_t use(const struct offer *o, uint64_t at, size_t n)
{
    ucp_rkey_h key;
    void *p;
    ucs_status_t s = ucp_ep_rkey_unpack(A.ep, o->key, &key);
    if (s != UCS_OK) return s;
    s = settled(ucp_get_nbx(A.ep, (void *)to, n, at, key, &plain));
    ucs_status_t t = ucp_rkey_ptr(key, at, &p);
    if (t != UCS_OK && s == UCS_OK) tried("pointer", t);
    ucp_rkey_destroy(key);
    is_open(0);
    return s;
}

static void still_good(void)
{
    MUST(use(&good, good.at, SIZE));
    CU(cuMemcpyDtoH_v2(host, to, SIZE));
    HOLDS(same(host, SIZE, 1));
}

/* Every byte changed, and bytes at random. */
static void flips(void)
{
    srand(1);
    for (size_t i = 0; i < good.len; i++) {
        struct offer o = good;
        o.key[i] ^= 1 << rand() % 8;
        ucs_status_t s = use(&o, o.at, PART);
        if (s != UCS_ERR_INVALID_PARAM) DIE("byte %zu is another: %s", i, name(s));
        tried("one byte", s);
    }
    for (int i = 0; i < 100; i++) {
        struct offer o = good;
        for (size_t k = i % 8 ? 12 : 0; k < sizeof o.key; k++) o.key[k] = rand();
        tried("random bytes", use(&o, o.at, PART));
    }
    still_good();
}

/* ---- keys whose checksums are right ------------------------------------------------------------- */

static uint32_t crc(const unsigned char *p, size_t n)
{
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

/* Of the whole key (src/ucp/rkey/wire.rs). */
static uint32_t sum(const unsigned char *p, size_t n)
{
    uint32_t h = 0x811c9dc5;
    for (size_t i = 0; i < n; i++)
        if (i < 8 || i >= 12) h = (h ^ p[i]) * 0x01000193;
    return h;
}

static void seal(struct offer *o, unsigned char *entry, size_t n)
{
    uint32_t c = crc(entry + 4, n - 4);
    memcpy(entry, &c, 4);
    c = sum((unsigned char *)o->key, o->len);
    memcpy(o->key + 8, &c, 4);
}

/* What cuda_ipc has put into a key (src/uct/cuda/ipc/wire.rs): it has the owner's address at 16. */
enum { KIND = 5, PID = 8, BASE = 16, LENGTH = 24, ID = 32, DEVICE = 40, HANDLE = 56, ALL_BYTES = 120 };

static unsigned char *entry_of(struct offer *o)
{
    pid_t pid = getppid();
    for (unsigned char *p = (unsigned char *)o->key; p + ALL_BYTES <= (unsigned char *)o->key + o->len; p++)
        if (!memcmp(p + PID, &pid, 4) && !memcmp(p + BASE, &o->at, 8) && crc(p + 4, ALL_BYTES - 4) == *(uint32_t *)p) return p;
    DIE("the key has no part of cuda_ipc");
}

static void forge(const char *what, size_t at, uint64_t value, size_t n)
{
    struct offer o = good;
    unsigned char *e = entry_of(&o);
    memcpy(e + at, &value, n);
    seal(&o, e, ALL_BYTES);
    tried(what, use(&o, o.at, PART));
}

static void forged(void)
{
    for (int kind = 0; kind < 7; kind++) forge("kind of handle", KIND, kind, 1);
    forge("own process", PID, getpid(), 4);
    forge("no process", PID, 0x7fffffff, 4);
    forge("process -1", PID, -1, 4);
    forge("other namespace", PID + 4, 7, 4);
    forge("address 0", BASE, 0, 8);
    forge("address in the middle", BASE, good.at + SIZE / 2, 8);
    forge("no length", LENGTH, 0, 8);
    forge("length of nearly all", LENGTH, ~(uint64_t)0 - good.at, 8);
    forge("length beyond the end", LENGTH, ~(uint64_t)0, 8);
    forge("longer than it is", LENGTH, 64 * (uint64_t)SIZE, 8);
    forge("number of another allocation", ID, 12345, 8);
    forge("device that nobody has", DEVICE, 0x1234567890, 8);
    forge("damaged handle", HANDLE, -1, 8);
    srand(2);
    for (int i = 0; i < 300; i++) {
        struct offer o = good;
        unsigned char *e = entry_of(&o);
        for (size_t k = KIND + 1; k < ALL_BYTES; k++)
            if (rand() % 8 == 0) e[k] = rand();
        seal(&o, e, ALL_BYTES);
        tried("random contents", use(&o, o.at, PART));
    }
    /* Past the end by what the key says, but not by what there is. */
    struct offer o = good;
    unsigned char *e = entry_of(&o);
    uint64_t more = 64 * (uint64_t)SIZE;
    memcpy(e + LENGTH, &more, 8);
    seal(&o, e, ALL_BYTES);
    tried("past the end", use(&o, o.at + SIZE - PART / 2, PART));
    still_good();
}

/* ---- buffers ------------------------------------------------------------------------------------ */

/* Memory with nothing behind it, while a key has opened what it leads to. */
static CUdeviceptr before_a_hole(ucp_rkey_h key)
{
    CUdeviceptr mine, hole;
    CU(cuMemAlloc_v2(&mine, SIZE));
    CU(cuMemAlloc_v2(&hole, SIZE));
    MUST(settled(ucp_get_nbx(A.ep, (void *)mine, SIZE, good.at, key, &plain)));
    CU(cuMemFree_v2(hole));
    if (hole != mine + SIZE) printf("something lies behind it\n");
    return mine;
}

static void fails(const char *what, ucs_status_t s)
{
    tried(what, s);
    HOLDS(UCS_STATUS_IS_ERR(s));
}

/* A long message; what became of it at the worse end. */
static ucs_status_t to_ourselves(const void *from, void *into)
{
    struct side s = A;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, into, 20 * PART, 9, ALL, &plain);
    connect_to(&s, A.addr);
    ucs_status_t sent = settled(ucp_tag_send_nbx(s.ep, from, 20 * PART, 9, &plain));
    if (sent != UCS_OK && UCS_PTR_IS_PTR(r)) {
        for (double end = now() + 0.2; ucp_request_check_status(r) == UCS_INPROGRESS && now() < end;) ucp_worker_progress(A.w);
        if (ucp_request_check_status(r) == UCS_INPROGRESS) ucp_request_cancel(A.w, r);
    }
    ucs_status_t received = settled(r);
    MUST(settled(ucp_ep_close_nbx(s.ep, &plain)));
    return sent != UCS_OK ? sent : received;
}

static void halves(void)
{
    /* Of ours: the end of the allocation is in the middle of the buffer. */
    ucp_rkey_h key = unpack(&good);
    CUdeviceptr mine = before_a_hole(key), edge = mine + SIZE - 100;
    fails("get to it", settled(ucp_get_nbx(A.ep, (void *)edge, PART, good.at, key, &plain)));
    fails("put from it", settled(ucp_put_nbx(A.ep, (void *)edge, PART, good.at, key, &plain)));
    MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
    fails("send from it", settled(ucp_tag_send_nbx(A.ep, (void *)edge, PART, 7, &plain)));
    fails("send much from it", to_ourselves((void *)edge, (void *)to));
    fails("receive much in it", to_ourselves((void *)to, (void *)edge));
    ucp_mem_map_params_t mp = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                               .address = (void *)edge, .length = PART};
    ucp_mem_h m;
    ucs_status_t s = ucp_mem_map(A.ctx, &mp, &m);
    tried("map it", s);
    if (s == UCS_OK) MUST(ucp_mem_unmap(A.ctx, m));
    /* Of the owner's. */
    uint64_t end = good.at + SIZE;
    fails("get from the end", settled(ucp_get_nbx(A.ep, (void *)to, PART, end - 100, key, &plain)));
    fails("get from outside", settled(ucp_get_nbx(A.ep, (void *)to, PART, end + SIZE, key, &plain)));
    fails("put before the beginning", settled(ucp_put_nbx(A.ep, (void *)to, PART, good.at - 100, key, &plain)));
    ucp_rkey_destroy(key);
    CU(cuMemFree_v2(mine));
    is_open(0);
    still_good();
}

static void empty(void)
{
    ucp_rkey_h key = unpack(&good);
    CUdeviceptr at[] = {to, to + SIZE, 0};
    for (int i = 0; i < 3; i++) {
        MUST(settled(ucp_get_nbx(A.ep, (void *)at[i], 0, good.at, key, &plain)));
        MUST(settled(ucp_put_nbx(A.ep, (void *)at[i], 0, good.at + SIZE, key, &plain)));
        MUST(settled(ucp_ep_flush_nbx(A.ep, &plain)));
        MUST(settled(ucp_tag_send_nbx(A.ep, (void *)at[i], 0, 7, &plain)));
    }
    is_open(0);
    for (int i = 0; i < 2; i++) {
        ucp_mem_map_params_t mp = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                   .address = (void *)at[i], .length = 0};
        ucp_mem_h m;
        void *bytes;
        size_t n;
        ucs_status_t s = ucp_mem_map(A.ctx, &mp, &m);
        tried("map nothing", s);
        if (s != UCS_OK) continue;
        if (ucp_rkey_pack(A.ctx, m, &bytes, &n) == UCS_OK) ucp_rkey_buffer_release(bytes);
        MUST(ucp_mem_unmap(A.ctx, m));
    }
    ucp_rkey_destroy(key);
    still_good();
}

/* Types of memory that are none, or no device's here: what is said of memory is not believed blindly. */
static void types(void)
{
    static const int all[] = {99, -1, UCS_MEMORY_TYPE_ROCM, UCS_MEMORY_TYPE_ZE_HOST, UCS_MEMORY_TYPE_RDMA, UCS_MEMORY_TYPE_LAST, UCS_MEMORY_TYPE_UNKNOWN};
    ucp_rkey_h key = unpack(&good);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE, .memory_type = all[i]};
        printf("type %d\n", all[i]);
        tried("get", settled(ucp_get_nbx(A.ep, (void *)to, PART, good.at, key, &p)));
        tried("send nothing", settled(ucp_tag_send_nbx(A.ep, (void *)to, 0, 7, &p)));
        tried("send", settled(ucp_tag_send_nbx(A.ep, (void *)to, PART, 7, &p)));
        for (int allocate = 0; allocate < 2; allocate++) {
            ucp_mem_map_params_t mp = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                                                     UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
                                       .address = allocate ? NULL : (void *)to, .length = SIZE, .memory_type = all[i],
                                       .flags = allocate ? UCP_MEM_MAP_ALLOCATE : 0};
            ucp_mem_h m;
            ucs_status_t s = ucp_mem_map(A.ctx, &mp, &m);
            tried(allocate ? "allocate" : "map", s);
            HOLDS((s == UCS_ERR_INVALID_PARAM) == ((unsigned)all[i] > UCS_MEMORY_TYPE_LAST));
            if (s == UCS_OK) MUST(ucp_mem_unmap(A.ctx, m));
        }
    }
    ucp_rkey_destroy(key);
    is_open(0);
    still_good();
}

/* ---- what goes too early ------------------------------------------------------------------------ */

static void early(void)
{
    CUdeviceptr mine;
    void *bytes;
    size_t n;
    /* Memory before its handle, packed or not. */
    for (int packed = 0; packed < 2; packed++) {
        CU(cuMemAlloc_v2(&mine, SIZE));
        ucp_mem_h m = map_memory(mine, SIZE);
        if (packed) {
            MUST(ucp_rkey_pack(A.ctx, m, &bytes, &n));
            ucp_rkey_buffer_release(bytes);
        }
        CU(cuMemFree_v2(mine));
        if (!packed) {
            ucs_status_t s = ucp_rkey_pack(A.ctx, m, &bytes, &n);
            tried("pack what is freed", s);
            if (s == UCS_OK) ucp_rkey_buffer_release(bytes);
        }
        MUST(ucp_mem_unmap(A.ctx, m));
    }
    /* The context in which a copy was made, while the endpoint and its streams are there. */
    CUcontext own, back;
    CU(cuCtxCreate_v2(&own, 0, 0));
    CU(cuMemAlloc_v2(&mine, SIZE));
    ucp_rkey_h key = unpack(&good);
    MUST(settled(ucp_get_nbx(A.ep, (void *)mine, SIZE, good.at, key, &plain)));
    CU(cuMemFree_v2(mine));
    CU(cuCtxDestroy_v2(own));
    CU(cuCtxGetCurrent(&back));
    HOLDS(back);
    MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, good.at, key, &plain)));
    ucp_rkey_destroy(key);
    is_open(0);
    still_good();
}

/* The owner frees and allocates again at the address, under keys that nothing was read by. */
static void freed(void)
{
    ucp_rkey_h old = unpack(&good);
    meet();
    meet();
    tried("freed", use(&good, good.at, PART));
    meet();
    struct offer again = take_offer();
    ucs_status_t s = settled(ucp_get_nbx(A.ep, (void *)to, PART, good.at, old, &plain));
    tried("freed, and allocated again", s);
    ucp_rkey_destroy(old);
    is_open(0);
    good = again;
    still_good();
}

/* A child of ours has no driver, and leaves ours alone. */
static void forked(void)
{
    int status;
    ucp_rkey_h key = unpack(&good);
    MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, good.at, key, &plain)));
    pid_t other = fork();
    if (!other) {
        /* In a context of its own there are no devices. */
        struct side s = {0};
        ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
        open_side(&s);
        MUST(ucp_context_query(s.ctx, &attr));
        connect_to(&s, s.addr);
        A = B = s;
        still_works();
        close_side(&A);
        ucp_worker_release_address(s.w, s.addr);
        ucp_worker_destroy(s.w);
        ucp_cleanup(s.ctx);
        ucp_rkey_destroy(key);
        exit(0);
    }
    HOLDS(waitpid(other, &status, 0) == other);
    if (status) DIE("the forked process: %x", status);
    is_open(1);
    MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, good.at, key, &plain)));
    ucp_rkey_destroy(key);
    is_open(0);
    still_good();
}

static void (*part)(void);

static void reader(void)
{
    CU(cuMemAlloc_v2(&to, SIZE));
    meet();
    good = take_offer();
    still_good();
    part();
    if (part != freed) {
        for (int i = 0; i < 3; i++) meet();
        take_offer();
    }
    meet();
    meet();
    CU(cuMemFree_v2(to));
}

/* ---- an owner that is killed -------------------------------------------------------------------- */

static void killed(void)
{
    own();
    for (double end = now() + 60; now() < end;)
        if (!ucp_worker_progress(A.w)) sched_yield();
    _exit(4);
}

static void dead(void)
{
    int status;
    void *p;
    CU(cuMemAlloc_v2(&to, SIZE));
    good = take_offer();
    ucp_rkey_h used = unpack(&good), unused = unpack(&good);
    MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, good.at, used, &plain)));
    is_open(1);
    kill(child, SIGKILL);
    HOLDS(waitpid(child, &status, 0) == child);
    ucp_rkey_destroy(used);
    is_open(0);
    ucs_status_t s = settled(ucp_get_nbx(A.ep, (void *)to, SIZE, good.at, unused, &plain));
    fails("get from a process that is gone", s);
    tried("pointer to memory that is gone", ucp_rkey_ptr(unused, good.at, &p));
    ucp_rkey_destroy(unused);
    is_open(0);
    CU(cuMemFree_v2(to));
    say_free(before);
    settled(ucp_ep_close_nbx(A.ep, &plain));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    is_open(0);
}

/* The reader is killed with the memory open; then it is the owner's to free. */
static void left(void)
{
    int status;
    char c;
    before = free_memory();
    own();
    take_either(fd, &c, 1, 1);
    size_t with_both = free_memory();
    kill(child, SIGKILL);
    HOLDS(waitpid(child, &status, 0) == child);
    HOLDS(free_memory() > with_both); /* what was the reader's own */
    disown();
    say_free(before + SIZE);
    settled(ucp_ep_close_nbx(A.ep, &plain));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
}

static void leaves(void)
{
    good = take_offer();
    ucp_rkey_h key = unpack(&good);
    MUST(settled(ucp_get_nbx(A.ep, (void *)to, SIZE, good.at, key, &plain)));
    is_open(1);
    give(&good, 1);
    pause();
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { (void)arg, (void)ep, (void)s; }

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } parts[] = {
        {"flips", flips}, {"forged", forged}, {"halves", halves}, {"empty", empty}, {"types", types}, {"freed", freed}, {"early", early}, {"forked", forked}};
    if (argc < 2) return 2;
    host = malloc(SIZE);
    features = UCP_FEATURE_RMA | UCP_FEATURE_TAG;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    extra_ep_params.err_handler.cb = on_error;
    int is_dead = !strcmp(argv[1], "dead");
    if (is_dead || !strcmp(argv[1], "left")) {
        split();
        use_device(0);
        before = free_memory();
        open_side(&A);
        connect_both();
        if (!is_dead && !child) CU(cuMemAlloc_v2(&to, SIZE));
        both();
        if (child) is_dead ? dead() : left();
        else is_dead ? killed() : leaves();
        return finish();
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(parts[i].name, argv[1])) part = parts[i].run;
    if (!part) return 2;
    run_two(owner, reader);
    return finish();
}
