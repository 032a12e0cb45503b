/* What newer headers have: flags of ucp_mem_map, exported memory handles and their import in another
 * process. One line for each, since genuine UCX exports only with special hardware. */
#define _GNU_SOURCE
#include "capi.h"
#include <sys/socket.h>
#include <sys/wait.h>

static ucp_context_h ctx;
static int fd;

static void give(const void *p, size_t n) { HOLDS(write(fd, p, n) == (ssize_t)n); }
static void take(void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = read(fd, (char *)p + at, n - at);
        if (k <= 0) _exit(0); /* nothing was exported */
        at += k;
    }
}

static ucs_status_t map(void *at, size_t n, unsigned flags, ucp_mem_h *m)
{
    ucp_mem_map_params_t p = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = at, .length = n, .flags = flags};
    return ucp_mem_map(ctx, &p, m);
}

static ucs_status_t import(const void *exported, unsigned flags, ucp_mem_h *m)
{
    ucp_mem_map_params_t p = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .exported_memh_buffer = exported, .flags = flags};
    return ucp_mem_map(ctx, &p, m);
}

static ucs_status_t export(ucp_mem_h m, void **buf, size_t *n)
{
    ucp_memh_pack_params_t p = {.field_mask = UCP_MEMH_PACK_PARAM_FIELD_FLAGS, .flags = UCP_MEMH_PACK_FLAG_EXPORT};
    return ucp_memh_pack(m, &p, buf, n);
}

static void release(void *buf)
{
    ucp_memh_buffer_release_params_t p = {0};
    ucp_memh_buffer_release(buf, &p);
}

static char *start(ucp_mem_h m, size_t *n)
{
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH | UCP_MEM_ATTR_FIELD_MEM_TYPE};
    MUST(ucp_mem_query(m, &a));
    HOLDS(a.mem_type == UCS_MEMORY_TYPE_HOST);
    *n = a.length;
    return a.address;
}

static void flags(void)
{
    static char mine[5000];
    static const struct { const char *what; unsigned flags; } f[] = {
        {"lock", UCP_MEM_MAP_LOCK}, {"symmetric", UCP_MEM_MAP_SYMMETRIC_RKEY},
        {"lock, but not at once", UCP_MEM_MAP_LOCK | UCP_MEM_MAP_NONBLOCK}};
    for (int i = 0; i < 6; i++) {
        int allocate = i >= 3;
        ucp_mem_h m;
        ucs_status_t s = map(allocate ? NULL : mine, 5000, f[i % 3].flags | (allocate ? UCP_MEM_MAP_ALLOCATE : 0), &m);
        printf("%s%s: %s\n", f[i % 3].what, allocate ? ", allocated" : "", name(s));
        if (s == UCS_OK) MUST(ucp_mem_unmap(ctx, m));
    }
}

/* The other process: maps what is exported, changes it, packs a key of it, lets go. */
static int importer(void)
{
    char buf[1024];
    size_t n, len;
    ucp_mem_h m;
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_EXPORTED_MEMH};
    MUST(ucp_init(&p, NULL, &ctx));
    take(&n, sizeof n);
    HOLDS(n <= sizeof buf);
    take(buf, n);
    HOLDS(import(buf, UCP_MEM_MAP_ALLOCATE, &m) == UCS_ERR_INVALID_PARAM);
    ucs_status_t s = import(buf, 0, &m);
    if (s == UCS_OK) {
        char *at = start(m, &len);
        HOLDS(len == 8192 && same(at, len, 3));
        fill(at, len, 4);
        void *key;
        MUST(ucp_rkey_pack(ctx, m, &key, &n));
        ucp_rkey_buffer_release(key);
        MUST(export(m, &key, &n));
        release(key);
        MUST(ucp_mem_unmap(ctx, m));
    }
    give(&s, sizeof s);
    ucp_cleanup(ctx);
    return 0;
}

static const char *exported(void)
{
    static char text[64];
    ucp_mem_h m;
    void *buf;
    size_t n, len;
    MUST(map(NULL, 8192, UCP_MEM_MAP_ALLOCATE, &m));
    ucs_status_t s = export(m, &buf, &n);
    if (s != UCS_OK) {
        MUST(ucp_mem_unmap(ctx, m));
        return name(s);
    }
    char *at = start(m, &len);
    fill(at, len, 3);
    give(&n, sizeof n);
    give(buf, n);
    ucs_status_t other;
    take(&other, sizeof other);
    snprintf(text, sizeof text, "OK, imported %s, the owner sees %s", name(other), same(at, len, 4) ? "what was written" : "NOTHING");
    release(buf);
    MUST(ucp_mem_unmap(ctx, m));
    return text;
}

int main(void)
{
    int p[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0);
    pid_t pid = fork();
    fd = p[pid == 0];
    close(p[pid != 0]);
    if (pid == 0) return importer();
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_EXPORTED_MEMH};
    MUST(ucp_init(&params, NULL, &ctx));
    flags();
    printf("exported memory: %s\n", exported());
    static char mine[100];
    ucp_mem_h m, again;
    void *buf;
    size_t n;
    MUST(map(mine, sizeof mine, 0, &m));
    printf("the user's memory: %s\n", name(export(m, &buf, &n)));
    MUST(ucp_mem_unmap(ctx, m));
    MUST(map(NULL, 0, 0, &m));
    MUST(export(m, &buf, &n));
    printf("an empty region exported, imported: %s\n", name(import(buf, 0, &again)));
    release(buf);
    MUST(ucp_mem_unmap(ctx, again));
    MUST(ucp_mem_unmap(ctx, m));
    ucp_cleanup(ctx);
    close(fd);
    waitpid(pid, NULL, 0);
    return finish();
}
