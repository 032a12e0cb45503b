/* Every call that the library makes to the driver fails once: whatever was asked for either works,
 * with the right bytes, or ends with an error; nothing is left open, and the next try works.
 *
 *     faults CODE [FIRST]         CODE: what the driver fails with */
#define _GNU_SOURCE
#include "capi.h"
#include "driver.h"

void cudasim_fail(const char *name, uint64_t nth, int code);
uint64_t cudasim_open(const char *kind);
void cudasim_report(int fd);

enum { SMALL = 1000, MIDDLE = 50000, LARGE = 1300000, MOST = LARGE };

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

static void arm(void) { cudasim_fail("*", nth, code); }

/* Returns whether the fault had still to come; then it comes here. */
static int disarm(void)
{
    int n;
    for (long i = 0; i <= nth; i++)
        if (cuDeviceGetCount(&n)) return 1;
    return 0;
}

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

static void allocated(void)
{
    ucp_mem_map_params_t mp = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .length = MOST, .flags = UCP_MEM_MAP_ALLOCATE, .memory_type = UCS_MEMORY_TYPE_CUDA};
    ucp_mem_h m;
    if (ucp_mem_map(A.ctx, &mp, &m) != UCS_OK) {
        errors++;
        return;
    }
    ucp_mem_unmap(A.ctx, m);
}

static int number_of(const char *report, const char *what)
{
    const char *at = strstr(report, what);
    return at ? atoi(at + strlen(what)) : -1;
}

static void nothing_is_open(const char *what)
{
    static char report[65536];
    int p[2];
    HOLDS(pipe(p) == 0);
    cudasim_report(p[1]);
    close(p[1]);
    size_t n = 0;
    for (ssize_t k; (k = read(p[0], report + n, sizeof report - 1 - n)) > 0;) n += k;
    close(p[0]);
    report[n] = 0;
    const char *kinds[] = {"open streams ", "open events ", "open opened ", "open handles ", "open registered "};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (number_of(report, kinds[i])) DIE("%s, call %ld fails: %s%d", what, nth, kinds[i], number_of(report, kinds[i]));
    if (cudasim_open("device") != 2) DIE("%s, call %ld fails: %d allocations", what, nth, (int)cudasim_open("device"));
}

int main(int argc, char **argv)
{
    struct {
        const char *name;
        part run;
        int bytes; /* that reach `other` */
    } parts[] = {
        {"device to device, short", device_to_device_short, SMALL}, {"device to device", device_to_device, LARGE},
        {"host to device, short", host_to_device_short, SMALL},     {"host to device", host_to_device, LARGE},
        {"device to host, short", device_to_host_short, 0},         {"device to host", device_to_host, 0},
        {"put and get", one_sided, MIDDLE},                          {"allocation", allocated, 0},
    };
    code = argc > 1 ? atoi(argv[1]) : 999;
    host = malloc(MOST), back = malloc(MOST);
    use_device(0);
    CU(cuMemAlloc_v2(&one, MOST));
    CU(cuMemAlloc_v2(&other, MOST));
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    long all = 0;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (nth = argc > 2 ? atol(argv[2]) : 1;; nth++) {
            int before = errors;
            write_to((void *)one, MOST, 1);
            write_to((void *)other, MOST, 2);
            fill(host, MOST, 1);
            pair_open(0);
            still_works();
            arm();
            parts[i].run();
            int left = disarm(); /* the part had fewer calls */
            if (errors == before && parts[i].bytes && !holds((void *)other, parts[i].bytes, 1))
                DIE("%s, call %ld fails: no error, but wrong bytes", parts[i].name, nth);
            still_works();
            pair_close();
            nothing_is_open(parts[i].name);
            if (left) break;
            all++;
        }
        printf("%s: %ld calls, each failed once\n", parts[i].name, nth - 1);
    }
    printf("%ld faults, %d operations ended with an error, nothing was left open\n", all, errors);
    return 0;
}
