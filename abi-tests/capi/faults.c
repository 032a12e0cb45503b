/* Bad input and scarce resources: each case in its own process, which must end by itself with the
 * right status. Run on our libraries only: genuine UCX crashes in several of these.
 * Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "cases.h"
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

/* ---- arguments ---------------------------------------------------------------------------------- */

static ucs_status_t init_with(uint64_t mask, uint64_t f)
{
    ucp_params_t p;
    memset(&p, 0xff, sizeof p); /* what the mask does not name may be anything */
    p.field_mask = mask;
    p.features = f;
    ucp_context_h c;
    ucs_status_t s = ucp_init(&p, NULL, &c);
    if (s == UCS_OK) ucp_cleanup(c);
    return s;
}
static ucs_status_t init_null(void) { ucp_context_h c; return ucp_init(NULL, NULL, &c); }
static ucs_status_t init_null_out(void) { ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG}; return ucp_init(&p, NULL, NULL); }
static ucs_status_t init_no_features(void) { return init_with(0, UCP_FEATURE_TAG); }
static ucs_status_t init_unknown_bits(void) { return init_with(UCP_PARAM_FIELD_FEATURES | 1ull << 50, UCP_FEATURE_TAG); }
static ucs_status_t worker_null(void)
{
    ucp_worker_h w;
    ucp_worker_params_t p = {0};
    return ucp_worker_create(NULL, &p, &w);
}
static ucs_status_t worker_null_params(void) { open_side(&A); ucp_worker_h w; return ucp_worker_create(A.ctx, NULL, &w); }
static ucs_status_t worker_unknown_bits(void)
{
    open_side(&A);
    ucp_worker_h w;
    ucp_worker_params_t p;
    memset(&p, 0xff, sizeof p);
    p.field_mask = 1ull << 50;
    return ucp_worker_create(A.ctx, &p, &w);
}
static ucs_status_t ep_null_params(void) { open_side(&A); return ucp_ep_create(A.w, NULL, &A.ep); }
static ucs_status_t ep_no_address(void)
{
    open_side(&A);
    ucp_ep_params_t p;
    memset(&p, 0xff, sizeof p);
    p.field_mask = 0;
    return ucp_ep_create(A.w, &p, &A.ep);
}
static ucs_status_t ep_null_address(void)
{
    open_side(&A);
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    return ucp_ep_create(A.w, &p, &A.ep);
}
static ucs_status_t send_null_ep(void) { ucs_status_ptr_t r = ucp_tag_send_nbx(NULL, "x", 1, 1, &plain); return UCS_PTR_STATUS(r); }
static ucs_status_t recv_null_worker(void) { char c; ucs_status_ptr_t r = ucp_tag_recv_nbx(NULL, &c, 1, 1, 1, &plain); return UCS_PTR_STATUS(r); }
static ucs_status_t bad_datatype(void)
{
    pair_open(0);
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = 7};
    return UCS_PTR_STATUS(ucp_tag_send_nbx(A.ep, "x", 1, 1, &p));
}
static ucs_status_t free_nulls(void)
{
    ucp_request_free(NULL);
    ucp_config_release(NULL);
    ucp_cleanup(NULL);
    ucp_worker_destroy(NULL);
    return UCS_OK;
}

/* ---- addresses ---------------------------------------------------------------------------------- */

static ucs_status_t try_address(const void *bytes, size_t n)
{
    char *copy = malloc(4096);
    memset(copy, 0xe7, 4096); /* not zeros: a cut must not put back what it took */
    memcpy(copy, bytes, n);
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = (ucp_address_t *)copy};
    ucp_ep_h ep;
    ucs_status_t s = ucp_ep_create(A.w, &p, &ep);
    free(copy);
    return s;
}
/* Every bit of an address flipped, one after another: never accepted, and never harmful. */
static ucs_status_t flipped(void)
{
    freopen("/dev/null", "w", stdout);
    setenv("UCX_LOG_LEVEL", "fatal", 1);
    pair_open(0);
    char bad[4096];
    int accepted = 0;
    for (size_t bit = 0; bit < B.len * 8; bit++) {
        memcpy(bad, B.addr, B.len);
        bad[bit / 8] ^= 1 << bit % 8;
        accepted += try_address(bad, B.len) == UCS_OK;
    }
    still_works();
    return accepted ? UCS_OK : UCS_ERR_INVALID_ADDR;
}
static ucs_status_t cut(void)
{
    setenv("UCX_LOG_LEVEL", "fatal", 1);
    pair_open(0);
    int accepted = 0;
    for (size_t n = 0; n < B.len; n++) accepted += try_address(B.addr, n) == UCS_OK;
    still_works();
    return accepted ? UCS_OK : UCS_ERR_INVALID_ADDR;
}
static ucs_status_t random_bytes(void)
{
    setenv("UCX_LOG_LEVEL", "fatal", 1);
    pair_open(0);
    unsigned char bytes[300];
    int accepted = 0;
    srand(1);
    for (int k = 0; k < 3000; k++) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = k == 0 ? 0 : k == 1 ? 0xff : rand() >> 7;
        accepted += try_address(bytes, sizeof bytes) == UCS_OK;
    }
    still_works();
    return accepted ? UCS_OK : UCS_ERR_INVALID_ADDR;
}

/* ---- environment ---------------------------------------------------------------------------------- */

static ucs_status_t read_with(const char *key, const char *value)
{
    setenv(key, value, 1);
    ucp_config_t *c;
    ucs_status_t s = ucp_config_read(NULL, NULL, &c);
    if (s != UCS_OK) return s;
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_context_h ctx;
    s = ucp_init(&p, c, &ctx);
    ucp_config_release(c);
    if (s == UCS_OK) ucp_cleanup(ctx);
    return s;
}
static ucs_status_t bad_thresh(void) { return read_with("UCX_RNDV_THRESH", "abc"); }
static ucs_status_t bad_bool(void) { return read_with("UCX_WARN_UNUSED_ENV_VARS", "perhaps"); }
static ucs_status_t bad_level(void) { return read_with("UCX_LOG_LEVEL", "loud"); }
static ucs_status_t unknown_tl(void) { return read_with("UCX_TLS", "tpc"); }
static ucs_status_t partly_unknown_tl(void) { return read_with("UCX_TLS", "tpc,tcp"); }
static ucs_status_t unknown_device(void) { setenv("UCX_TLS", "tcp", 1); return read_with("UCX_NET_DEVICES", "eth9"); }
static ucs_status_t unreachable(void)
{
    setenv("UCX_TLS", "self", 1);
    open_side(&A);
    setenv("UCX_TLS", "tcp", 1);
    open_side(&B);
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = B.addr};
    return ucp_ep_create(A.w, &p, &A.ep);
}

/* ---- scarcity ---------------------------------------------------------------------------------- */

/* /dev/shm has no room: another transport is used. Needs the right to mount, in a namespace of its own. */
static ucs_status_t shm_full(void)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16k")) {
        printf("  (may not mount: not tried)\n");
        return UCS_OK;
    }
    setenv("UCX_TLS", "posix,tcp,self", 1);
    pair_open(0);
    still_works();
    pair_close();
    return UCS_OK;
}
static ucs_status_t few_files(void)
{
    struct rlimit l = {64, 64};
    setrlimit(RLIMIT_NOFILE, &l);
    for (int i = 0; i < 3; i++) {
        pair_open(0);
        still_works();
        pair_close();
    }
    return UCS_OK;
}
/* No descriptor at all: an error, and the process goes on. */
static ucs_status_t no_files(void)
{
    struct rlimit l = {3, 3}, old;
    getrlimit(RLIMIT_NOFILE, &old);
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t wp = {0};
    l.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
    ucp_context_h c;
    ucp_worker_h w;
    if (ucp_init(&p, NULL, &c) == UCS_OK) {
        if (ucp_worker_create(c, &wp, &w) == UCS_OK) ucp_worker_destroy(w);
        ucp_cleanup(c);
    }
    setrlimit(RLIMIT_NOFILE, &old);
    pair_open(0);
    still_works();
    pair_close();
    return UCS_OK;
}

/* ---- what stays behind ---------------------------------------------------------------------------------- */

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d)))
        n += strncmp(dir, "/dev/shm", 8) ? 1 : strstr(e->d_name, "uc") != NULL;
    if (d) closedir(d);
    return n;
}
static int lines(const char *file)
{
    int n = 0, c;
    FILE *f = fopen(file, "r");
    while (f && (c = fgetc(f)) != EOF) n += c == '\n';
    if (f) fclose(f);
    return n;
}
static int sysv_of(pid_t pid)
{
    /* Segments made by `pid` (the fifth column). */
    int n = 0;
    char line[512];
    FILE *f = fopen("/proc/sysvipc/shm", "r");
    while (f && fgets(line, sizeof line, f)) {
        int key, id, mode;
        long size, creator;
        if (sscanf(line, "%d %d %o %ld %ld", &key, &id, &mode, &size, &creator) == 5) n += creator == pid;
    }
    if (f) fclose(f);
    return n;
}
static ucs_status_t killed(void)
{
    for (int moment = 0; moment < 4; moment++) {
        int go[2], shm = entries("/dev/shm");
        HOLDS(pipe(go) == 0);
        pid_t pid = fork();
        if (pid == 0) {
            static char big[8 << 20];
            char c = 0;
            pair_open(0);
            if (moment > 0) still_works();
            if (write(go[1], &c, 1) != 1) _exit(1);
            if (moment > 1)
                for (;;) {
                    ucs_status_ptr_t r = ucp_tag_recv_nbx(B.w, big, sizeof big, 1, ALL, &plain);
                    finished(ucp_tag_send_nbx(A.ep, big, moment == 2 ? 9000 : sizeof big, 1, &plain));
                    finished(r);
                }
            pause();
        }
        char c;
        HOLDS(read(go[0], &c, 1) == 1);
        usleep(moment * 10000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (entries("/dev/shm") > shm || sysv_of(pid) > 0) {
            printf("  moment %d: %d files more in /dev/shm, %d segments\n", moment, entries("/dev/shm") - shm, sysv_of(pid));
            return UCS_ERR_BUSY;
        }
    }
    return UCS_OK;
}

static long resident(void)
{
    long v = 0, r = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &v, &r) != 2) r = 0;
    if (f) fclose(f);
    return r * 4;
}
static ucs_status_t teardown(void)
{
    int fds = 0, tasks = 0, shm = 0, maps = 0;
    long rss = 0;
    for (int i = 0; i < 40; i++) {
        if (i == 8) fds = entries("/proc/self/fd"), tasks = entries("/proc/self/task"), shm = entries("/dev/shm"), maps = lines("/proc/self/maps"), rss = resident();
        pair_open(0);
        still_works();
        pair_close();
    }
    int f = entries("/proc/self/fd") - fds, t = entries("/proc/self/task") - tasks, s = entries("/dev/shm") - shm, m = lines("/proc/self/maps") - maps;
    long more = resident() - rss;
    /* The sanitizer's heap keeps what was freed for a while; it knows better what was not. */
#ifdef __SANITIZE_ADDRESS__
    int leaks = __lsan_do_recoverable_leak_check(), most = 31; /* it grows by mappings; one per round is a leak */
#else
    int leaks = more >= 2048, most = 4;
#endif
    int good = !f && !t && !s && m <= most && !leaks;
    if (!good) printf("  32 rounds leave %d descriptors, %d threads, %d files, %d mappings, %ld KB\n", f, t, s, m, more);
    return good ? UCS_OK : UCS_ERR_BUSY;
}

#define CASE(f, want) check(#f, f, want)

int main(void)
{
    CASE(init_null, UCS_ERR_INVALID_PARAM);
    CASE(init_null_out, UCS_ERR_INVALID_PARAM);
    CASE(init_no_features, UCS_OK); /* a warning, as with genuine UCX */
    CASE(init_unknown_bits, UCS_OK);
    CASE(worker_null, UCS_ERR_INVALID_PARAM);
    CASE(worker_null_params, UCS_ERR_INVALID_PARAM);
    CASE(worker_unknown_bits, UCS_OK);
    CASE(ep_null_params, UCS_ERR_INVALID_PARAM);
    CASE(ep_no_address, UCS_ERR_INVALID_PARAM);
    CASE(ep_null_address, UCS_ERR_INVALID_PARAM);
    CASE(send_null_ep, UCS_ERR_INVALID_PARAM);
    CASE(recv_null_worker, UCS_ERR_INVALID_PARAM);
    CASE(bad_datatype, UCS_ERR_INVALID_PARAM);
    CASE(free_nulls, UCS_OK);
    CASE(flipped, UCS_ERR_INVALID_ADDR);
    CASE(cut, UCS_ERR_INVALID_ADDR);
    CASE(random_bytes, UCS_ERR_INVALID_ADDR);
    CASE(bad_thresh, UCS_ERR_INVALID_PARAM);
    CASE(bad_bool, UCS_OK); /* global variables: an error line, and the default */
    CASE(bad_level, UCS_OK);
    CASE(unknown_tl, UCS_ERR_NO_DEVICE);
    CASE(partly_unknown_tl, UCS_OK);
    CASE(unknown_device, UCS_ERR_NO_DEVICE);
    CASE(unreachable, UCS_ERR_UNREACHABLE);
    CASE(shm_full, UCS_OK);
    CASE(few_files, UCS_OK);
    CASE(no_files, UCS_OK);
    CASE(killed, UCS_OK);
    CASE(teardown, UCS_OK);
    say_maps();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
