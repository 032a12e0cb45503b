/* Bad input and scarce resources around memory and keys: each case in its own process, which must end
 * by itself with the right status. Run on our libraries only: genuine UCX believes any key.
 * Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "cases.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static ucp_mem_h mapped(ucp_context_h ctx, size_t n, unsigned flags)
{
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS, .length = n, .flags = flags};
    ucp_mem_h m;
    MUST(ucp_mem_map(ctx, &p, &m));
    return m;
}

static unsigned char key[1024];
static size_t key_len;

/* Two sides, and a sound key of memory that B allocated; with `export` an exported handle. */
static ucp_mem_h begin(int export)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    pair_open(0);
    ucp_mem_h m = mapped(B.ctx, 4096, UCP_MEM_MAP_ALLOCATE);
    ucp_memh_pack_params_t p = {.field_mask = UCP_MEMH_PACK_PARAM_FIELD_FLAGS, .flags = export ? UCP_MEMH_PACK_FLAG_EXPORT : 0};
    void *buf;
    MUST(ucp_memh_pack(m, &p, &buf, &key_len));
    HOLDS(key_len <= sizeof key);
    memcpy(key, buf, key_len);
    ucp_memh_buffer_release_params_t r = {0};
    ucp_memh_buffer_release(buf, &r);
    return m;
}

static void end(ucp_mem_h m)
{
    still_works();
    MUST(ucp_mem_unmap(B.ctx, m));
    pair_close();
}

/* Uses bytes that end where the page ends. */
static ucs_status_t use(const void *bytes, size_t n, int import)
{
    static char *pages;
    if (!pages) {
        pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HOLDS(pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    }
    char *at = pages + 4096 - n;
    memcpy(at, bytes, n);
    if (import) {
        ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER, .exported_memh_buffer = at};
        ucp_mem_h m;
        ucs_status_t s = ucp_mem_map(A.ctx, &p, &m);
        if (s == UCS_OK) MUST(ucp_mem_unmap(A.ctx, m));
        return s;
    }
    ucp_rkey_h k;
    ucs_status_t s = ucp_ep_rkey_unpack(A.ep, at, &k);
    if (s == UCS_OK) ucp_rkey_destroy(k);
    return s;
}

/* Every byte changed, every length: all refused alike, and the sound one is accepted before and after. */
static ucs_status_t damaged(int import)
{
    ucp_mem_h m = begin(import);
    ucs_status_t all = UCS_ERR_INVALID_PARAM;
    MUST(use(key, key_len, import));
    for (size_t i = 0; i < key_len; i++)
        for (int bit = 0; bit < 8; bit++) {
            key[i] ^= 1 << bit;
            ucs_status_t s = use(key, key_len, import);
            if (s != UCS_ERR_INVALID_PARAM) all = s;
            key[i] ^= 1 << bit;
        }
    for (size_t n = 0; n < key_len; n++) {
        ucs_status_t s = use(key, n, import);
        if (s != UCS_ERR_INVALID_PARAM) all = s;
    }
    MUST(use(key, key_len, import));
    end(m);
    return all;
}
static ucs_status_t damaged_keys(void) { return damaged(0); }
static ucs_status_t damaged_handles(void) { return damaged(1); }

static ucs_status_t random_keys(void)
{
    ucp_mem_h m = begin(0);
    ucs_status_t all = UCS_ERR_INVALID_PARAM;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        size_t n = i % 3 ? 4 + rand() % 200 : key_len;
        unsigned char bytes[256];
        for (size_t k = 0; k < n; k++) bytes[k] = rand() >> 7;
        if (i & 1) memcpy(bytes, key, 4 + i % 5);
        ucs_status_t s = use(bytes, n, i & 2);
        if (s != UCS_ERR_INVALID_PARAM) all = s;
    }
    end(m);
    return all;
}
/* As genuine UCX packs them: a map of memory domains, a memory type, for each domain a length and bytes. */
static ucs_status_t genuine_key(void)
{
    static const unsigned char bytes[] = {4, 0, 0, 0, 0, 0, 0, 0, 0, 12, 7, 0, 0, 0, 0, 16, 160, 72, 149, 127, 0, 0, 255, 0, 0, 0};
    ucp_mem_h m = begin(0);
    ucs_status_t s = use(bytes, sizeof bytes, 0);
    end(m);
    return s;
}
static ucs_status_t null_key(void)
{
    ucp_mem_h m = begin(0);
    ucp_rkey_h k;
    ucs_status_t s = ucp_ep_rkey_unpack(A.ep, NULL, &k);
    HOLDS(ucp_ep_rkey_unpack(A.ep, key, NULL) == UCS_ERR_INVALID_PARAM);
    HOLDS(ucp_ep_rkey_unpack(NULL, key, &k) == UCS_ERR_INVALID_PARAM);
    HOLDS(ucp_rkey_ptr(NULL, 0, (void **)&k) == UCS_ERR_INVALID_PARAM);
    ucp_rkey_destroy(NULL);
    ucp_rkey_buffer_release(NULL);
    end(m);
    return s;
}
static ucs_status_t key_as_handle(void)
{
    ucp_mem_h m = begin(0);
    ucs_status_t s = use(key, key_len, 1);
    end(m);
    return s;
}
static ucs_status_t handle_as_key(void)
{
    ucp_mem_h m = begin(1);
    ucs_status_t s = use(key, key_len, 0);
    end(m);
    return s;
}
/* An exported handle of what is no more. */
static ucs_status_t late_handle(void)
{
    ucp_mem_h m = begin(1);
    MUST(ucp_mem_unmap(B.ctx, m));
    ucp_mem_h next = mapped(B.ctx, 4096, UCP_MEM_MAP_ALLOCATE);
    ucs_status_t s = use(key, key_len, 1);
    end(next);
    return s;
}
/* A key of what is no more unpacks (the peer decides what it is worth), but leads nowhere. */
static ucs_status_t late_key(void)
{
    ucp_mem_h m = begin(0);
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    MUST(ucp_mem_query(m, &a));
    MUST(ucp_mem_unmap(B.ctx, m));
    ucp_mem_h next = mapped(B.ctx, 4096, UCP_MEM_MAP_ALLOCATE);
    ucp_rkey_h k;
    MUST(ucp_ep_rkey_unpack(A.ep, key, &k));
    void *p;
    ucs_status_t s = ucp_rkey_ptr(k, (uintptr_t)a.address, &p);
    ucp_rkey_destroy(k);
    end(next);
    return s;
}
static ucs_status_t nulls(void)
{
    ucp_mem_h m = begin(0);
    ucp_mem_attr_t a = {0};
    ucp_mem_advise_params_t advice = {0};
    void *buf;
    size_t n;
    ucs_status_t all[] = {
        ucp_mem_map(NULL, &(ucp_mem_map_params_t){0}, &m), ucp_mem_map(B.ctx, NULL, &m), ucp_mem_map(B.ctx, &(ucp_mem_map_params_t){0}, NULL),
        ucp_mem_query(NULL, &a), ucp_mem_query(m, NULL), ucp_mem_advise(B.ctx, NULL, &advice), ucp_mem_advise(B.ctx, m, NULL),
        ucp_rkey_pack(B.ctx, NULL, &buf, &n), ucp_rkey_pack(B.ctx, m, NULL, &n), ucp_rkey_pack(B.ctx, m, &buf, NULL),
        ucp_memh_pack(NULL, &(ucp_memh_pack_params_t){0}, &buf, &n), ucp_memh_pack(m, NULL, &buf, &n)};
    ucs_status_t s = ucp_mem_unmap(B.ctx, NULL);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != UCS_ERR_INVALID_PARAM) {
            printf("  call %zu gave %s\n", i, name(all[i]));
            s = all[i];
        }
    ucp_mem_print_info(NULL, B.ctx, stdout);
    ucp_mem_print_info("1k", NULL, stdout);
    ucp_mem_print_info("1k", B.ctx, NULL);
    end(m);
    return s;
}
static ucs_status_t other_memory(void)
{
    static char mine[100];
    ucp_mem_h m = begin(0), n;
    ucp_mem_map_params_t p = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = mine, .length = 100, .memory_type = UCS_MEMORY_TYPE_CUDA};
    ucs_status_t s = ucp_mem_map(B.ctx, &p, &n);
    end(m);
    return s;
}
static ucs_status_t wraps_around(void)
{
    ucp_mem_h m = begin(0), n;
    ucp_mem_map_params_t p = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = (void *)-4096, .length = 8192};
    ucs_status_t s = ucp_mem_map(B.ctx, &p, &n);
    end(m);
    return s;
}
static ucs_status_t too_much(void)
{
    ucp_mem_h m = begin(0), n;
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS, .flags = UCP_MEM_MAP_ALLOCATE};
    ucs_status_t s = UCS_ERR_NO_MEMORY;
    for (int i = 0; i < 4; i++) {
        p.length = (size_t[]){-1, -4096, 1ul << 62, 1ul << 50}[i];
        ucs_status_t t = ucp_mem_map(B.ctx, &p, &n);
        if (t != UCS_ERR_NO_MEMORY) s = t;
    }
    end(m);
    return s;
}
static ucs_status_t bad_priorities(void)
{
    setenv("UCX_ALLOC_PRIO", "md:posix,heep", 1);
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA};
    ucp_context_h c;
    return ucp_init(&p, NULL, &c);
}

/* ---- scarcity ------------------------------------------------------------------------------------ */

/* Writes to all of an allocation: memory that is not really there would end the process. */
static void fill_all(ucp_mem_h m)
{
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH};
    MUST(ucp_mem_query(m, &a));
    memset(a.address, 1, a.length);
}
static ucs_status_t small_folder(unsigned flags)
{
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", "/dev/shm", "tmpfs", 0, "size=1m")) {
        printf("  (may not mount: not tried)\n");
        return UCS_OK;
    }
    setenv("UCX_ALLOC_PRIO", "md:posix,mmap", 1);
    ucp_mem_h first = begin(0);
    ucp_mem_h large = mapped(B.ctx, 64 << 20, UCP_MEM_MAP_ALLOCATE | flags);
    fill_all(large);
    ucp_mem_h many[40];
    for (int i = 0; i < 40; i++) {
        many[i] = mapped(B.ctx, 100000, UCP_MEM_MAP_ALLOCATE | flags);
        fill_all(many[i]);
    }
    for (int i = 0; i < 40; i++) MUST(ucp_mem_unmap(B.ctx, many[i]));
    MUST(ucp_mem_unmap(B.ctx, large));
    end(first);
    return UCS_OK;
}
static ucs_status_t folder_of_1_mib(void) { return small_folder(0); }
static ucs_status_t folder_of_1_mib_lazily(void) { return small_folder(UCP_MEM_MAP_NONBLOCK); }

static ucs_status_t few_files(void)
{
    setenv("UCX_ALLOC_PRIO", "md:posix,mmap", 1);
    struct rlimit l = {64, 64};
    setrlimit(RLIMIT_NOFILE, &l);
    ucp_mem_h first = begin(0), many[200];
    for (int i = 0; i < 200; i++) {
        many[i] = mapped(B.ctx, 5000, UCP_MEM_MAP_ALLOCATE);
        fill_all(many[i]);
    }
    for (int i = 0; i < 200; i++) MUST(ucp_mem_unmap(B.ctx, many[i]));
    end(first);
    return UCS_OK;
}
/* Mapping fails: the key is none the worse for the rest. */
static ucs_status_t no_room(void)
{
    ucp_mem_h m = begin(0);
    ucp_mem_h large = mapped(B.ctx, 512 << 20, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_NONBLOCK);
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    MUST(ucp_mem_query(large, &a));
    void *buf, *p;
    MUST(ucp_rkey_pack(B.ctx, large, &buf, &key_len));
    ucp_rkey_h k;
    MUST(ucp_ep_rkey_unpack(A.ep, buf, &k));
    ucp_rkey_buffer_release(buf);
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    HOLDS(f && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    struct rlimit l = {pages * 4096 + (64 << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &l);
    ucs_status_t s = ucp_rkey_ptr(k, (uintptr_t)a.address, &p);
    ucp_rkey_destroy(k);
    MUST(ucp_mem_unmap(B.ctx, large));
    end(m);
    return s;
}
/* Empty regions, with every line of the log written. */
static ucs_status_t empty_traced(void)
{
    setenv("UCX_LOG_LEVEL", "trace", 1);
    setenv("UCX_LOG_FILE", "/dev/null", 1);
    ucp_mem_h m = begin(0);
    for (int i = 0; i < 2; i++) {
        ucp_mem_h empty = mapped(B.ctx, 0, i ? UCP_MEM_MAP_ALLOCATE : 0);
        void *buf;
        ucp_rkey_h k;
        MUST(ucp_rkey_pack(B.ctx, empty, &buf, &key_len));
        MUST(ucp_ep_rkey_unpack(A.ep, buf, &k));
        ucp_rkey_buffer_release(buf);
        ucp_rkey_destroy(k);
        MUST(ucp_mem_unmap(B.ctx, empty));
    }
    end(m);
    return UCS_OK;
}
/* A peer in namespaces of its own finds other processes under our numbers: its key maps nothing, and the
 * rest works. */
static ucs_status_t other_namespaces(void)
{
    int to[2], from[2];
    setenv("UCX_TLS", "self,sm,tcp", 1);
    HOLDS(pipe(to) == 0 && pipe(from) == 0);
    if (unshare(CLONE_NEWPID | CLONE_NEWIPC)) {
        printf("  (may not make namespaces: not tried)\n");
        return UCS_ERR_UNREACHABLE;
    }
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    pid_t pid = fork(); /* the first of the new pid namespace */
    if (pid == 0) {
        HOLDS(unshare(CLONE_NEWIPC) == 0);
        struct { uint64_t at; size_t n, len; char key[512], addr[2048]; } o;
        for (size_t at = 0; at < sizeof o;) {
            ssize_t k = read(to[0], (char *)&o + at, sizeof o - at);
            if (k <= 0) _exit(1);
            at += k;
        }
        open_side(&A);
        connect_to(&A, (ucp_address_t *)o.addr);
        ucp_rkey_h k;
        void *p;
        MUST(ucp_ep_rkey_unpack(A.ep, o.key, &k));
        signed char s = ucp_rkey_ptr(k, o.at, &p);
        ucp_rkey_destroy(k);
        long v = 77;
        if (finished(ucp_tag_send_nbx(A.ep, &v, sizeof v, 1, &plain)) != UCS_OK) s = UCS_ERR_IO_ERROR;
        close_side(&A);
        if (write(from[1], &s, 1) != 1) _exit(1);
        _exit(0);
    }
    open_side(&B);
    A = B;
    struct { uint64_t at; size_t n, len; char key[512], addr[2048]; } o;
    memset(&o, 0, sizeof o);
    ucp_mem_h m = mapped(B.ctx, 8192, UCP_MEM_MAP_ALLOCATE);
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    MUST(ucp_mem_query(m, &a));
    void *buf;
    MUST(ucp_rkey_pack(B.ctx, m, &buf, &o.n));
    HOLDS(o.n <= sizeof o.key && B.len <= sizeof o.addr);
    memcpy(o.key, buf, o.n);
    memcpy(o.addr, B.addr, B.len);
    o.at = (uintptr_t)a.address;
    HOLDS(write(to[1], &o, sizeof o) == sizeof o);
    long v = 0;
    HOLDS(finished(ucp_tag_recv_nbx(B.w, &v, sizeof v, 1, ALL, &plain)) == UCS_OK && v == 77);
    while (waitpid(pid, NULL, WNOHANG) == 0) progress();
    signed char s = UCS_ERR_IO_ERROR;
    HOLDS(read(from[0], &s, 1) == 1);
    MUST(ucp_mem_unmap(B.ctx, m));
    return s;
}
/* Nothing is left of a process that is killed while it allocates. */
static ucs_status_t killed(void)
{
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            setenv("UCX_ALLOC_PRIO", "md:posix", 1);
            begin(0);
            for (;;) {
                ucp_mem_h m = mapped(B.ctx, 1 << 20, UCP_MEM_MAP_ALLOCATE);
                fill_all(m);
                MUST(ucp_mem_unmap(B.ctx, m));
            }
        }
        usleep(30000 + i * 7000);
        kill(pid, 9);
        waitpid(pid, NULL, 0);
    }
    char line[256];
    FILE *f = popen("ls /dev/shm | grep -c ucx_shm", "r");
    HOLDS(f && fgets(line, sizeof line, f));
    pclose(f);
    return atoi(line) ? UCS_ERR_BUSY : UCS_OK;
}

#define CASE(f, want) check(#f, f, want)

int main(void)
{
    int tcp = !!strstr(getenv("UCX_TLS") ? getenv("UCX_TLS") : "", "tcp");
    CASE(damaged_keys, UCS_ERR_INVALID_PARAM);
    CASE(random_keys, UCS_ERR_INVALID_PARAM);
    CASE(genuine_key, UCS_ERR_INVALID_PARAM);
    CASE(null_key, UCS_ERR_INVALID_PARAM);
    CASE(key_as_handle, UCS_ERR_INVALID_PARAM);
    CASE(late_key, UCS_ERR_UNREACHABLE);
    CASE(nulls, UCS_ERR_INVALID_PARAM);
    CASE(other_memory, UCS_ERR_UNSUPPORTED);
    CASE(wraps_around, UCS_ERR_INVALID_PARAM);
    CASE(too_much, UCS_ERR_NO_MEMORY);
    CASE(bad_priorities, UCS_ERR_INVALID_PARAM);
    CASE(few_files, UCS_OK);
    CASE(empty_traced, UCS_OK);
    CASE(folder_of_1_mib, UCS_OK);
    CASE(folder_of_1_mib_lazily, UCS_OK);
    if (!tcp) { /* Only shared memory is exported and mapped. */
        CASE(damaged_handles, UCS_ERR_INVALID_PARAM);
        CASE(handle_as_key, UCS_ERR_INVALID_PARAM);
        CASE(late_handle, UCS_ERR_UNREACHABLE);
        CASE(no_room, UCS_ERR_UNREACHABLE);
        CASE(other_namespaces, UCS_ERR_UNREACHABLE);
        CASE(killed, UCS_OK);
    }
    say_maps();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
