/* Remote keys of two sides in one process: pack, unpack, pointers and their bounds, compare, keys of
 * empty regions, the order in which things are destroyed. */
#include "capi.h"

static ucp_mem_h allocated, user, empty;
static char mine[5000];

static ucp_mem_h mapped(void *at, size_t n, unsigned flags)
{
    ucp_mem_map_params_t p = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = at, .length = n, .flags = flags};
    ucp_mem_h m;
    MUST(ucp_mem_map(B.ctx, &p, &m));
    return m;
}

static char *start(ucp_mem_h m)
{
    ucp_mem_attr_t a = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    MUST(ucp_mem_query(m, &a));
    return a.address;
}

/* The packed bytes are copied to where nothing of what follows them can be read by chance. */
static ucp_rkey_h unpacked(ucp_mem_h m)
{
    void *buf;
    size_t n;
    MUST(ucp_rkey_pack(B.ctx, m, &buf, &n));
    void *copy = malloc(n);
    memcpy(copy, buf, n);
    ucp_rkey_buffer_release(buf);
    ucp_rkey_h k = NULL;
    MUST(ucp_ep_rkey_unpack(A.ep, copy, &k));
    free(copy);
    HOLDS(k);
    return k;
}

static const char *outside(ucp_rkey_h k, char *remote)
{
    void *p;
    return name(ucp_rkey_ptr(k, (uintptr_t)remote, &p));
}

static const char *pointer(ucp_rkey_h k, char *remote)
{
    static char text[64];
    void *p = (void *)1;
    ucs_status_t s = ucp_rkey_ptr(k, (uintptr_t)remote, &p);
    snprintf(text, sizeof text, "%s", name(s));
    if (s == UCS_OK) {
        *remote = 'a';
        int right = *(volatile char *)p == 'a';
        *(volatile char *)p = 'b';
        snprintf(text, sizeof text, "OK, %s", right && *(volatile char *)remote == 'b' ? "the same byte" : "ANOTHER BYTE");
    }
    return text;
}

static void pointers(int loop)
{
    printf("%s\n", loop ? "to itself" : "to the other side");
    ucp_rkey_h k = unpacked(allocated);
    char *at = start(allocated);
    printf("allocated: first %s", pointer(k, at));
    printf("; last %s", pointer(k, at + 8191));
    printf("; behind %s", outside(k, at + 8192));
    printf("; before %s\n", outside(k, at - 1));
    ucp_rkey_destroy(k);
    k = unpacked(user);
    printf("the user's: first %s", pointer(k, mine));
    printf("; last %s\n", pointer(k, mine + sizeof mine - 1));
    ucp_rkey_destroy(k);
    k = unpacked(empty);
    printf("empty: %s\n", outside(k, NULL));
    ucp_rkey_destroy(k);
}

static int order(ucp_rkey_h a, ucp_rkey_h b)
{
    ucp_rkey_compare_params_t p = {0};
    int r = 77;
    MUST(ucp_rkey_compare(A.w, a, b, &p, &r));
    return r;
}

static void compares(void)
{
    ucp_mem_h other = mapped(NULL, 8192, UCP_MEM_MAP_ALLOCATE);
    ucp_rkey_h a = unpacked(allocated), b = unpacked(allocated), c = unpacked(other);
    ucp_rkey_h e = unpacked(empty), f = unpacked(empty);
    printf("the same key %d, the empty one %d\n", order(a, a), order(e, f));
    printf("keys of one region %d\n", order(a, b));
    int ac = order(a, c), ca = order(c, a);
    printf("of two regions: %s, %s\n", ac ? "different" : "alike", ac == -ca ? "an order" : "NO ORDER");
    ucp_rkey_compare_params_t p = {.field_mask = 1};
    int r;
    printf("unknown field: %s", name(ucp_rkey_compare(A.w, a, b, &p, &r)));
    p.field_mask = 0;
    printf(", no result: %s\n", name(ucp_rkey_compare(A.w, a, b, &p, NULL)));
    ucp_rkey_h all[] = {a, b, c, e, f};
    for (int i = 0; i < 5; i++) ucp_rkey_destroy(all[i]);
    MUST(ucp_mem_unmap(B.ctx, other));
}

/* A second key goes on when the first is destroyed; keys may outlive their region. */
static void lives(void)
{
    ucp_rkey_h a = unpacked(allocated), b = unpacked(allocated);
    char *at = start(allocated);
    pointer(a, at);
    ucp_rkey_destroy(a);
    printf("the second key: %s\n", pointer(b, at));
    ucp_rkey_destroy(b);
    ucp_mem_h m = mapped(NULL, 4096, UCP_MEM_MAP_ALLOCATE);
    ucp_rkey_h c = unpacked(m), d = unpacked(m);
    pointer(d, start(m));
    MUST(ucp_mem_unmap(B.ctx, m));
    ucp_rkey_destroy(c);
    ucp_rkey_destroy(d);
    ucp_rkey_h many[200];
    for (int i = 0; i < 200; i++) many[i] = unpacked(i % 2 ? allocated : user);
    for (int i = 0; i < 200; i++) ucp_rkey_destroy(many[(i * 77) % 200]);
    printf("200 keys destroyed in another order\n");
}

int main(void)
{
    features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    for (int loop = 0; loop < 2; loop++) {
        pair_open(loop);
        allocated = mapped(NULL, 8192, UCP_MEM_MAP_ALLOCATE);
        user = mapped(mine, sizeof mine, 0);
        empty = mapped(NULL, 0, 0);
        pointers(loop);
        compares();
        lives();
        ucp_rkey_h late = unpacked(user);
        ucp_mem_h all[] = {allocated, user, empty};
        for (int i = 0; i < 3; i++) printf("unmap %s\n", name(ucp_mem_unmap(B.ctx, all[i])));
        still_works();
        ucp_rkey_destroy(late);
        pair_close();
    }
    return finish();
}
