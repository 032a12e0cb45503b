/* Keys between two processes: pointers to memory that the other allocated, mappings that go with the
 * last key, new memory at an old address. The child (which has the endpoint) prints. */
#define _GNU_SOURCE
#include "pair.h"
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct offer {
    uint64_t at, len;
    size_t n;
    char key[1024];
};

/* ---- the owner ----------------------------------------------------------------------------------- */

static ucp_mem_h offered(size_t n, void *fixed, char v)
{
    unsigned flags = UCP_MEM_MAP_ALLOCATE | (fixed ? UCP_MEM_MAP_FIXED : 0);
    ucp_mem_map_params_t p = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = fixed, .length = n, .flags = flags};
    ucp_mem_h m;
    MUST(ucp_mem_map(A.ctx, &p, &m));
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH};
    MUST(ucp_mem_query(m, &a));
    HOLDS(!fixed || a.address == fixed);
    memset(a.address, v, a.length);
    struct offer o = {.at = (uintptr_t)a.address, .len = a.length};
    void *key;
    MUST(ucp_rkey_pack(A.ctx, m, &key, &o.n));
    HOLDS(o.n <= sizeof o.key);
    memcpy(o.key, key, o.n);
    ucp_rkey_buffer_release(key);
    give(&o, sizeof o);
    return m;
}

/* Serves until the other says so. */
static char next(void)
{
    char c;
    while (recv(fd, &c, 1, MSG_DONTWAIT) != 1) progress();
    return c;
}

static void owner(int rounds)
{
    ucp_mem_h m = offered(3 << 20, NULL, 'A');
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    MUST(ucp_mem_query(m, &a));
    if (next() == 'w') HOLDS(((char *)a.address)[12345] == 'w' && ((char *)a.address)[12346] == 'A');
    MUST(ucp_mem_unmap(A.ctx, m));
    void *room = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int i = 0; i < rounds; i++) {
        m = offered(1 << 16, room, 'a' + i % 26);
        next();
        MUST(ucp_mem_unmap(A.ctx, m));
    }
    next();
}

/* ---- the peer ------------------------------------------------------------------------------------ */

static ucp_rkey_h unpacked(struct offer *o)
{
    take(o, sizeof *o);
    ucp_rkey_h k;
    MUST(ucp_ep_rkey_unpack(A.ep, o->key, &k));
    return k;
}

/* What is mapped at an address of this process: the length, 0 if nothing. */
static unsigned long mapping(const void *at)
{
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long from, to, len = 0;
    char line[512];
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= (uintptr_t)at && (uintptr_t)at < to) len = to - from;
    fclose(f);
    return len;
}

static int segments(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;
    while (fgets(line, sizeof line, f)) n += !!strstr(line, "rw-s");
    fclose(f);
    return n;
}

static void peer(int rounds, int mappable)
{
    int before = segments();
    struct offer o;
    ucp_rkey_h k = unpacked(&o), second;
    MUST(ucp_ep_rkey_unpack(A.ep, o.key, &second));
    void *p = NULL, *q = NULL;
    ucs_status_t s = ucp_rkey_ptr(k, o.at, &p);
    printf("a pointer to the other's memory: %s\n", name(s));
    HOLDS(mappable == (s == UCS_OK));
    if (s == UCS_OK) {
        char *c = p;
        int right = 1;
        for (size_t i = 0; i < o.len; i++) right &= c[i] == 'A';
        printf("what is there: %s\n", right ? "right" : "WRONG");
        MUST(ucp_rkey_ptr(second, o.at, &q));
        c[12345] = 'w';
        HOLDS(((char *)q)[12345] == 'w');
        printf("behind the end: %s\n", name(ucp_rkey_ptr(k, o.at + o.len, &p)));
        p = c;
    }
    ucp_rkey_destroy(k);
    if (mappable) {
        MUST(ucp_rkey_ptr(second, o.at, &q));
        printf("the second key reads %c\n", ((char *)q)[12345]);
    }
    ucp_rkey_destroy(second);
    if (mappable) printf("after the last key: %s\n", mapping(q) >= o.len ? "STILL MAPPED" : "unmapped");
    give(mappable ? "w" : "n", 1);
    int wrong = 0;
    for (int i = 0; i < rounds; i++) {
        k = unpacked(&o);
        if (mappable) {
            MUST(ucp_rkey_ptr(k, o.at + 4000, &p));
            wrong += *(char *)p != 'a' + i % 26;
        }
        char got[100] = "";
        size_t at = i % 2 ? 0 : o.len - sizeof got;
        MUST(finished(ucp_get_nbx(A.ep, got, sizeof got, o.at + at, k, &plain)));
        for (size_t j = 0; j < sizeof got; j++) wrong += got[j] != 'a' + i % 26;
        ucp_rkey_destroy(k);
        give("n", 1);
    }
    printf("%d times new memory at the same address: %d wrong\n", rounds, wrong);
    printf("shared mappings that stayed: %d\n", segments() - before);
    give("n", 1);
}

/* System V segments that these two processes made and that are still there. */
static int left(pid_t other)
{
    int n = 0;
    char line[512];
    FILE *f = fopen("/proc/sysvipc/shm", "r");
    while (f && fgets(line, sizeof line, f)) {
        int key, id, mode;
        long size, creator;
        if (sscanf(line, "%d %d %o %ld %ld", &key, &id, &mode, &size, &creator) == 5) n += creator == getpid() || creator == other;
    }
    if (f) fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    int mappable = !strstr(getenv("UCX_TLS") ? getenv("UCX_TLS") : "", "tcp");
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, p[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0);
    pid_t pid = fork();
    int child = pid == 0;
    fd = p[child];
    close(p[!child]);
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    open_side(&A);
    if (child) {
        char addr[4096];
        size_t n;
        take(&n, sizeof n);
        HOLDS(n <= sizeof addr);
        take(addr, n);
        connect_to(&A, (ucp_address_t *)addr);
        peer(rounds, mappable);
        say_maps();
        fflush(stdout);
        close_side(&A);
        give("q", 1);
    } else {
        give(&A.len, sizeof A.len);
        give(A.addr, A.len);
        owner(rounds);
        while (next() != 'q') {}
        int st;
        HOLDS(waitpid(pid, &st, 0) == pid);
        if (st) DIE("the child ended with %d", st);
    }
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    if (child) return 0;
    printf("segments left: %d\n", left(pid));
    return finish();
}
