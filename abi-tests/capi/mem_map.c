/* Memory handles: ucp_mem_map in every mode, query, advise, pack and export, print_info, unmap. */
#define _GNU_SOURCE
#include "capi.h"
#include <sys/mman.h>

static ucp_context_h ctx;
static char *room; /* pages that fixed allocations may replace */
static const size_t ROOM = 1 << 20;

static void advice(ucp_mem_h m, const char *what, unsigned mask, void *at, size_t n, ucp_mem_advice_t a)
{
    ucp_mem_advise_params_t p = {.field_mask = mask, .address = at, .length = n, .advice = a};
    printf(", %s %s", what, name(ucp_mem_advise(ctx, m, &p)));
}

/* What a handle says of itself, and what can be done with it. */
static void look(ucp_mem_h m, void *wanted)
{
    ucp_mem_attr_t a;
    memset(&a, 0x55, sizeof a);
    a.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
    MUST(ucp_mem_query(m, &a));
    printf(", %zu bytes %s", a.length, !a.address ? "nowhere" : a.address == wanted ? "there" : "elsewhere");
    void *buf = NULL;
    size_t n = 0;
    MUST(ucp_rkey_pack(ctx, m, &buf, &n));
    HOLDS(buf && n);
    ucp_rkey_buffer_release(buf);
    const unsigned all = UCP_MEM_ADVISE_PARAM_FIELD_ADDRESS | UCP_MEM_ADVISE_PARAM_FIELD_LENGTH | UCP_MEM_ADVISE_PARAM_FIELD_ADVICE;
    if (!a.length) return;
    advice(m, "advise all", all, a.address, a.length, UCP_MADV_WILLNEED);
    advice(m, "a part", all, (char *)a.address + 3, 5, UCP_MADV_NORMAL);
    advice(m, "past the end", all, a.address, a.length + 1, UCP_MADV_NORMAL);
    advice(m, "before it", all, (char *)a.address - 1, 1, UCP_MADV_NORMAL);
    advice(m, "unknown", all, a.address, 1, 77);
    advice(m, "no length", all & ~UCP_MEM_ADVISE_PARAM_FIELD_LENGTH, a.address, 1, UCP_MADV_NORMAL);
    memset(a.address, 7, a.length);
}

static void map(const char *what, ucp_mem_map_params_t p)
{
    ucp_mem_h m = NULL;
    ucs_status_t s = ucp_mem_map(ctx, &p, &m);
    printf("%s: %s", what, name(s));
    if (s == UCS_OK) {
        HOLDS(m);
        look(m, p.field_mask & UCP_MEM_MAP_PARAM_FIELD_ADDRESS ? p.address : NULL);
        printf(", unmap %s", name(ucp_mem_unmap(ctx, m)));
    }
    printf("\n");
}

#define MASK (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS)

static ucp_mem_map_params_t ask(void *at, size_t n, unsigned flags)
{
    return (ucp_mem_map_params_t){.field_mask = MASK, .address = at, .length = n, .flags = flags};
}

static void modes(void)
{
    static char mine[10000];
    map("registered", ask(mine, sizeof mine, 0));
    map("a byte of it", ask(mine + 77, 1, 0));
    map("not at once", ask(mine, sizeof mine, UCP_MEM_MAP_NONBLOCK));
    map("of no length", ask(mine, 0, 0));
    map("nothing", ask(NULL, 0, 0));
    map("NULL with a length", ask(NULL, 10, 0));
    map("fixed, but not allocated", ask(room, 10, UCP_MEM_MAP_FIXED));
    map("allocated", ask(NULL, 100000, UCP_MEM_MAP_ALLOCATE));
    map("a byte", ask(NULL, 1, UCP_MEM_MAP_ALLOCATE));
    map("two pages", ask(NULL, 8192, UCP_MEM_MAP_ALLOCATE));
    map("allocated, but not at once", ask(NULL, 100000, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_NONBLOCK));
    map("allocated, of no length", ask(NULL, 0, UCP_MEM_MAP_ALLOCATE));
    map("fixed, unaligned", ask(room + 1, 4096, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_FIXED));
    map("fixed at NULL", ask(NULL, 4096, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_FIXED));
    /* Each takes pages of its own: what is unmapped is free for others. */
    map("fixed", ask(room, 4096, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_FIXED));
    map("fixed, some pages", ask(room + 65536, 20000, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_FIXED));
    map("fixed, not at once", ask(room + 131072, 20000, UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_FIXED | UCP_MEM_MAP_NONBLOCK));
    ucp_mem_map_params_t p = ask(mine, 100, 0);
    p.field_mask = 0;
    map("no field", p);
    p.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
    map("no length", p);
    p.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    p.flags = 0xffff;
    map("no flags", p);
    p = ask(mine, 100, 0);
    p.field_mask |= UCP_MEM_MAP_PARAM_FIELD_PROT | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
    p.memory_type = UCS_MEMORY_TYPE_HOST;
    p.prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_REMOTE_READ;
    map("host memory to be read", p);
    p.memory_type = UCS_MEMORY_TYPE_UNKNOWN;
    map("memory of a type to be found out", p);
}

/* A thousand times over, nothing is left. */
static void often(void)
{
    for (int i = 0; i < 1000; i++) {
        ucp_mem_map_params_t p = ask(NULL, 5000, UCP_MEM_MAP_ALLOCATE);
        ucp_mem_h m;
        MUST(ucp_mem_map(ctx, &p, &m));
        MUST(ucp_mem_unmap(ctx, m));
    }
    printf("1000 times allocated and unmapped\n");
    ucp_mem_h m[300];
    for (int i = 0; i < 300; i++) {
        ucp_mem_map_params_t p = ask(NULL, 5000, UCP_MEM_MAP_ALLOCATE);
        MUST(ucp_mem_map(ctx, &p, &m[i]));
    }
    for (int i = 0; i < 300; i++) MUST(ucp_mem_unmap(ctx, m[i]));
    printf("300 at once\n");
}

/* The lines of print_info without what differs: addresses, and sizes of keys. */
static void info(const char *spec)
{
    char *text = NULL;
    size_t n = 0;
    fflush(stdout);
    FILE *f = open_memstream(&text, &n);
    ucp_mem_print_info(spec, ctx, f);
    fclose(f);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *at = strstr(line, " at address ");
        if (at) printf("%.*s%s\n", (int)(at - line), line, strstr(line, " with "));
        else if (!strstr(line, "rkey size")) printf("%s\n", line);
    }
    free(text);
}

int main(void)
{
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
    MUST(ucp_init(&p, NULL, &ctx));
    room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(room != MAP_FAILED);
    modes();
    often();
    info("1m");
    info("1000");
    info("3k,host");
    ucp_cleanup(ctx);
    return finish();
}
