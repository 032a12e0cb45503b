/* Every call that the library makes to the driver fails once: whatever was asked for either works,
 * with the right bytes, or ends with an error; nothing is left open, and the next try works.
 *
 *     faults KIND CODE      with memory of that kind (memory.h); CODE: what the driver fails with
 *     faults begin CODE     from the first call of a process on */
#define _GNU_SOURCE
#include "capi.h"
#include "memory.h"
#include <sys/wait.h>

enum { SMALL = 1000, MIDDLE = 50000, LARGE = 1300000, MOST = LARGE };

static const char *kind;
static CUdeviceptr one, other;
static unsigned char *host, *back;

static void write_to(void *at, size_t n, unsigned seed)
{
    fill(back, n, seed);
    CU(cuMemcpyHtoD_v2((CUdeviceptr)at, back, n));
}

static int holds(const void *at, size_t n, unsigned seed)
{
    CU(cuMemcpyDtoH_v2(back, (CUdeviceptr)at, n));
    return same(back, n, seed);
}

static int errors; /* operations that ended with one */

/* Ends a request within a second, or takes it back. */
static ucs_status_t end_or_cancel(ucp_worker_h w, ucs_status_ptr_t r)
{
    if (!UCS_PTR_IS_PTR(r)) return UCS_PTR_STATUS(r);
    for (double end = now() + 0.05; ucp_request_check_status(r) == UCS_INPROGRESS && now() < end;) progress();
    if (ucp_request_check_status(r) == UCS_INPROGRESS) ucp_request_cancel(w, r);
    return finished(r);
}

/* What an operation needs is made ready while nothing fails; faults are armed for the calls of UCX
 * alone. */
static long nth;
static int code;

static void arm(void) { cudasim_fail("*!", nth, code); }

/* Returns whether the fault had still to come. */
static int disarm(void) { return cudasim_heal() != 0; }

static void message(void *from, void *to, size_t n)
{
    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, to, n, 7, ALL, &plain);
    ucs_status_t s = finished(ucp_tag_send_nbx(A.ep, from, n, 7, &plain));
    ucs_status_t t = s == UCS_OK ? finished(r) : end_or_cancel(B.w, r);
    errors += s != UCS_OK || t != UCS_OK;
}

typedef void (*part)(void);

static void device_to_device(void) { message((void *)one, (void *)other, LARGE); }
static void device_to_device_short(void) { message((void *)one, (void *)other, SMALL); }
static void host_to_device(void) { message(host, (void *)other, LARGE); }
static void host_to_device_short(void) { message(host, (void *)other, SMALL); }
static void device_to_host(void) { message((void *)one, host, LARGE); }
static void device_to_host_short(void) { message((void *)one, host, SMALL); }

static void one_sided(void)
{
    ucp_mem_map_params_t mp = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                               .address = (void *)other, .length = MOST};
    ucp_mem_h m;
    void *bytes;
    size_t len;
    ucp_rkey_h key;
    if (ucp_mem_map(B.ctx, &mp, &m) != UCS_OK) {
        errors++;
        return;
    }
    ucs_status_t s = ucp_rkey_pack(B.ctx, m, &bytes, &len);
    if (s == UCS_OK) {
        s = ucp_ep_rkey_unpack(A.ep, bytes, &key);
        ucp_rkey_buffer_release(bytes);
    }
    if (s == UCS_OK) {
        s = finished(ucp_put_nbx(A.ep, (void *)one, MIDDLE, other, key, &plain));
        ucs_status_t f = finished(ucp_ep_flush_nbx(A.ep, &plain));
        ucs_status_t g = finished(ucp_get_nbx(A.ep, (void *)one, MIDDLE, other, key, &plain));
        errors += s != UCS_OK || f != UCS_OK || g != UCS_OK;
        ucp_rkey_destroy(key);
    } else {
        errors++;
    }
    MUST(ucp_mem_unmap(B.ctx, m));
}

static void allocate_as(ucs_memory_type_t type)
{
    ucp_mem_map_params_t mp = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .length = MOST, .flags = UCP_MEM_MAP_ALLOCATE, .memory_type = type};
    ucp_mem_h m;
    if (ucp_mem_map(A.ctx, &mp, &m) != UCS_OK) {
        errors++;
        return;
    }
    ucp_mem_unmap(A.ctx, m);
}

static void allocated(void) { allocate_as(UCS_MEMORY_TYPE_CUDA); }
static void allocated_managed(void) { allocate_as(UCS_MEMORY_TYPE_CUDA_MANAGED); }

/* ---- what is open -------------------------------------------------------------------------------- */

static const char *const what_is_open[] = {"device", "managed", "mapped", "pool", "opened", "imported", "registered",
                                           "handles", "reservations", "retained", "streams", "events"};
enum { WHATS = sizeof what_is_open / sizeof *what_is_open };
static uint64_t open_before[WHATS];
static int descriptors_before;

static void note_open(void)
{
    for (int i = 0; i < WHATS; i++) open_before[i] = cudasim_open(what_is_open[i]);
    descriptors_before = descriptors();
}

static void nothing_is_left(const char *part)
{
    for (int i = 0; i < WHATS; i++) {
        uint64_t n = cudasim_open(what_is_open[i]);
        if (n != open_before[i])
            DIE("%s, call %ld fails: %ld more %s", part, nth, (long)(n - open_before[i]), what_is_open[i]);
    }
    if (descriptors() != descriptors_before) DIE("%s, call %ld fails: descriptors", part, nth);
}

/* ---- parts that use what is open ------------------------------------------------------------------ */

static struct {
    const char *name;
    part run;
    int bytes; /* that reach `other` */
} parts[] = {
    {"device to device, short", device_to_device_short, SMALL}, {"device to device", device_to_device, LARGE},
    {"host to device, short", host_to_device_short, SMALL},     {"host to device", host_to_device, LARGE},
    {"device to host, short", device_to_host_short, 0},         {"device to host", device_to_host, 0},
    {"put and get", one_sided, MIDDLE},                          {"allocation", allocated, 0},
    {"managed allocation", allocated_managed, 0},
    {"the end", NULL, 0},
};

/* One part with one fault. Returns whether there were as many calls. */
static int once(unsigned i)
{
    int before = errors, left;
    write_to((void *)one, MOST, 1);
    write_to((void *)other, MOST, 2);
    fill(host, MOST, 1);
    pair_open(0);
    still_works();
    if (parts[i].run) {
        arm();
        parts[i].run();
        left = disarm();
        if (errors == before && parts[i].bytes && !holds((void *)other, parts[i].bytes, 1))
            DIE("%s, call %ld fails: no error, but wrong bytes", parts[i].name, nth);
        still_works();
        pair_close();
    } else {
        one_sided();
        device_to_device();
        HOLDS(errors == before);
        arm();
        pair_close();
        left = disarm();
    }
    nothing_is_left(parts[i].name);
    return !left;
}

static void with_memory(void)
{
    use_device(0);
    struct memory first = new_memory(kind, MOST), second = new_memory(kind, MOST);
    one = first.at, other = second.at;
    long all = 0;
    note_open();
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (nth = 1; once(i); nth++) all++;
        printf("%s: %ld calls, each failed once\n", parts[i].name, nth - 1);
    }
    printf("%ld faults, %d operations ended with an error, nothing was left open\n", all, errors);
    give_memory_back(&first);
    give_memory_back(&second);
    end_pool();
}

/* ---- from the first call on ------------------------------------------------------------------------ */

static ucs_status_t open_anyhow(struct side *s)
{
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = features};
    ucp_worker_params_t wp = {.field_mask = 0};
    ucs_status_t status = ucp_init(&p, NULL, &s->ctx);
    if (status != UCS_OK) return status;
    if ((status = ucp_worker_create(s->ctx, &wp, &s->w)) != UCS_OK) {
        ucp_cleanup(s->ctx);
        return status;
    }
    MUST(ucp_worker_get_address(s->w, &s->addr, &s->len));
    return UCS_OK;
}

/* In a process of its own: all from loading the driver to the end. 1: fewer calls were made. */
static int begin_once(void)
{
    arm();
    ucs_status_t s = open_anyhow(&A);
    if (s == UCS_OK) {
        connect_to(&A, A.addr);
        B = A;
        still_works();
        ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
        MUST(ucp_context_query(A.ctx, &attr));
        if (attr.memory_types & 1 << UCS_MEMORY_TYPE_CUDA) allocated();
        pair_close();
    }
    int left = disarm();
    /* Nobody but the library has used the driver. */
    nothing_is_left("the beginning");
    errors += s != UCS_OK;
    return left ? 1 : errors ? 2 : 0;
}

static void begin(void)
{
    long failed = 0;
    for (nth = 1;; nth++) {
        int status;
        pid_t child = fork();
        if (!child) {
            descriptors_before = descriptors();
            _exit(begin_once());
        }
        HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status));
        if (WEXITSTATUS(status) > 2) DIE("call %ld fails: the process too", nth);
        if (WEXITSTATUS(status) == 1) break;
        failed += WEXITSTATUS(status) == 2;
    }
    printf("%ld faults, %ld processes saw an error, nothing was left open\n", nth - 1, failed);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    kind = argv[1];
    code = argc > 2 ? atoi(argv[2]) : 999;
    host = malloc(MOST), back = malloc(MOST);
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    if (!strcmp(kind, "begin")) begin();
    else with_memory();
    return 0;
}
