/* Every attribute that contexts, workers, endpoints, datatypes, requests and memory can be asked for, one
 * at a time into a struct of other bytes: nothing else of it may be written. */
#include "capi.h"
#include <stddef.h>

/* The bytes from `from` to `to` are still the filling, apart from those in [a, b). */
static int kept(const void *p, size_t n, size_t a, size_t b)
{
    const unsigned char *c = p;
    for (size_t i = sizeof(uint64_t); i < n; i++)
        if ((i < a || i >= b) && c[i] != 0x5a) return 0;
    return 1;
}

#define ASK(type, call, bit, first, last, ...)                                                         \
    do {                                                                                               \
        type at;                                                                                       \
        memset(&at, 0x5a, sizeof at);                                                                  \
        at.field_mask = bit;                                                                           \
        __VA_ARGS__;                                                                                   \
        ucs_status_t s_ = call;                                                                        \
        printf("%s: %s, %s\n", #bit, name(s_),                                                         \
               kept(&at, sizeof at, offsetof(type, first), offsetof(type, last) + sizeof at.last)      \
                   ? "nothing else written" : "MORE WRITTEN");                                         \
        if (s_ == UCS_OK) check_##type(&at, bit);                                                      \
    } while (0)

static void check_ucp_context_attr_t(ucp_context_attr_t *a, uint64_t bit)
{
    if (bit == UCP_ATTR_FIELD_REQUEST_SIZE) printf("  %s\n", a->request_size > 0 && a->request_size < 4096 ? "a size" : "NO SIZE");
    if (bit == UCP_ATTR_FIELD_THREAD_MODE) printf("  %d\n", a->thread_mode);
    if (bit == UCP_ATTR_FIELD_MEMORY_TYPES) printf("  host memory: %d\n", !!(a->memory_types & UCS_BIT(UCS_MEMORY_TYPE_HOST)));
    if (bit == UCP_ATTR_FIELD_NAME) printf("  %s\n", a->name);
    if (bit == UCP_ATTR_FIELD_DEVICE_COUNTER_SIZE) printf("  %zu\n", a->device_counter_size);
}
static void check_ucp_worker_attr_t(ucp_worker_attr_t *a, uint64_t bit)
{
    if (bit == UCP_WORKER_ATTR_FIELD_THREAD_MODE) printf("  %d\n", a->thread_mode);
    if (bit & UCP_WORKER_ATTR_FIELD_ADDRESS) {
        printf("  %s\n", a->address && a->address_length > 10 ? "an address" : "NO ADDRESS");
        ucp_worker_release_address(A.w, a->address);
    }
    if (bit == UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER) printf("  %s\n", a->max_am_header > 64 ? "some bytes" : "TOO FEW");
    if (bit == UCP_WORKER_ATTR_FIELD_NAME) printf("  %s\n", a->name[0] ? "a name" : "NO NAME");
    if (bit == UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING) printf("  %s\n", a->max_debug_string > 64 ? "some bytes" : "TOO FEW");
}
static void check_ucp_ep_attr_t(ucp_ep_attr_t *a, uint64_t bit)
{
    if (bit & UCP_EP_ATTR_FIELD_NAME) printf("  %s\n", a->name[0] ? "a name" : "NO NAME"); /* genuine: its address */
    if (bit == UCP_EP_ATTR_FIELD_USER_DATA) printf("  %p\n", a->user_data);
}
static void check_ucp_mem_attr_t(ucp_mem_attr_t *a, uint64_t bit)
{
    if (bit == UCP_MEM_ATTR_FIELD_ADDRESS) printf("  %s\n", a->address ? "an address" : "NO ADDRESS");
    if (bit == UCP_MEM_ATTR_FIELD_LENGTH) printf("  %zu\n", a->length);
    if (bit == UCP_MEM_ATTR_FIELD_MEM_TYPE) printf("  %d\n", a->mem_type);
}

static void contexts(void)
{
#define CTX(bit, field) ASK(ucp_context_attr_t, ucp_context_query(A.ctx, &at), bit, field, field)
    CTX(UCP_ATTR_FIELD_REQUEST_SIZE, request_size);
    CTX(UCP_ATTR_FIELD_THREAD_MODE, thread_mode);
    CTX(UCP_ATTR_FIELD_MEMORY_TYPES, memory_types);
    CTX(UCP_ATTR_FIELD_NAME, name);
    CTX(UCP_ATTR_FIELD_DEVICE_COUNTER_SIZE, device_counter_size);
    ucp_lib_attr_t l = {.field_mask = UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL};
    printf("library: %s", name(ucp_lib_query(&l)));
    printf(", %d\n", l.max_thread_level);
}

static void workers(void)
{
#define WORKER(bit, first, last, ...) ASK(ucp_worker_attr_t, ucp_worker_query(A.w, &at), bit, first, last, __VA_ARGS__)
    WORKER(UCP_WORKER_ATTR_FIELD_THREAD_MODE, thread_mode, thread_mode);
    WORKER(UCP_WORKER_ATTR_FIELD_ADDRESS, address, address_length);
    WORKER(UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS, address_flags, address_length, at.address_flags = 0);
    WORKER(UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER, max_am_header, max_am_header);
    WORKER(UCP_WORKER_ATTR_FIELD_NAME, name, name);
    WORKER(UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING, max_debug_string, max_debug_string);
}

static void endpoints(void)
{
#define EP(bit, first, last, ...) ASK(ucp_ep_attr_t, ucp_ep_query(A.ep, &at), bit, first, last, __VA_ARGS__)
    EP(UCP_EP_ATTR_FIELD_NAME, name, name);
    EP(UCP_EP_ATTR_FIELD_USER_DATA, user_data, user_data);
    EP(UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR, local_sockaddr, local_sockaddr);
    EP(UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR, remote_sockaddr, remote_sockaddr);
    EP(UCP_EP_ATTR_FIELD_NAME | UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR, name, name);
    for (unsigned room = 0; room < 20; room += 19) {
        ucp_transport_entry_t e[20];
        memset(e, 0, sizeof e);
        ucp_ep_attr_t a = {.field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS,
                           .transports = {.entries = e, .num_entries = room, .entry_size = sizeof *e}};
        ucs_status_t s = ucp_ep_query(A.ep, &a);
        printf("transports, room for %u: %s, %s\n", room, name(s),
               room ? (a.transports.num_entries > 0 && e[0].transport_name && e[0].device_name ? "some" : "NONE")
                    : (a.transports.num_entries == 0 ? "none" : "SOME"));
    }
}

static void *start(void *c, const void *b, size_t n) { (void)c; (void)b; (void)n; return (void *)77; }
static size_t size(void *s) { HOLDS(s == (void *)77); return 1234; }
static size_t pack(void *s, size_t o, void *d, size_t n) { (void)s; (void)o; (void)d; (void)n; return 0; }
static int finishes;
static void end(void *s) { (void)s; finishes++; }

static void datatype(const char *what, ucp_datatype_t dt, uint64_t mask, const void *buffer, size_t count)
{
    ucp_datatype_attr_t a = {.field_mask = mask, .buffer = buffer, .count = count, .packed_size = 99};
    printf("%s: %s", what, name(ucp_dt_query(dt, &a)));
    printf(", %zu\n", a.packed_size);
}

static void datatypes(void)
{
    const uint64_t S = UCP_DATATYPE_ATTR_FIELD_PACKED_SIZE, B = UCP_DATATYPE_ATTR_FIELD_BUFFER, C = UCP_DATATYPE_ATTR_FIELD_COUNT;
    char b[100];
    ucp_dt_iov_t iov[3] = {{b, 10}, {NULL, 0}, {b, 20}};
    datatype("contiguous", ucp_dt_make_contig(8), S | C, NULL, 5);
    datatype("one", ucp_dt_make_contig(8), S, NULL, 5);
    datatype("not the size", ucp_dt_make_contig(8), C, NULL, 5);
    datatype("IOV", ucp_dt_make_iov(), S | B | C, iov, 3);
    datatype("IOV, one", ucp_dt_make_iov(), S | B, iov, 3);
    datatype("IOV without buffer", ucp_dt_make_iov(), S | C, iov, 3);
    datatype("IOV at NULL", ucp_dt_make_iov(), S | B | C, NULL, 0);
    ucp_generic_dt_ops_t ops = {.start_pack = start, .packed_size = size, .pack = pack, .finish = end};
    ucp_datatype_t dt;
    MUST(ucp_dt_create_generic(&ops, NULL, &dt));
    datatype("generic", dt, S | B | C, b, 3);
    datatype("generic without buffer", dt, S | C, b, 3);
    printf("started and finished %d times\n", finishes);
    ucp_dt_destroy(dt);
}

static void requests(void)
{
    static char in[100], text[300];
    ucs_status_ptr_t r = ucp_tag_recv_nbx(A.w, in, sizeof in, 1, ALL, &plain);
    HOLDS(UCS_PTR_IS_PTR(r));
    ucp_request_attr_t a = {.field_mask = UCP_REQUEST_ATTR_FIELD_STATUS | UCP_REQUEST_ATTR_FIELD_MEM_TYPE, .mem_type = 77};
    printf("a receive: %s", name(ucp_request_query(r, &a)));
    printf(", %s, %d\n", name(a.status), a.mem_type);
    a.field_mask = UCP_REQUEST_ATTR_FIELD_INFO_STRING;
    a.debug_string = text;
    printf("as text, no size: %s\n", name(ucp_request_query(r, &a)));
    a.field_mask |= UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE;
    for (size_t n = 1; n <= sizeof text; n += 99) {
        memset(text, 0x5a, sizeof text);
        a.debug_string_size = n;
        MUST(ucp_request_query(r, &a));
        HOLDS(memchr(text, 0, n) && untouched(text + n, sizeof text - n, 0x5a));
    }
    printf("as text: terminated, inside its room\n");
    ucp_request_cancel(A.w, r);
    printf("cancelled: %s\n", name(finished(r)));
}

static void memories(void)
{
    ucp_mem_map_params_t p = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS, .length = 4096, .flags = UCP_MEM_MAP_ALLOCATE};
    ucp_mem_h m;
    MUST(ucp_mem_map(A.ctx, &p, &m));
#define MEM(bit, field) ASK(ucp_mem_attr_t, ucp_mem_query(m, &at), bit, field, field)
    MEM(UCP_MEM_ATTR_FIELD_ADDRESS, address);
    MEM(UCP_MEM_ATTR_FIELD_LENGTH, length);
    MEM(UCP_MEM_ATTR_FIELD_MEM_TYPE, mem_type);
    MEM(0, field_mask);
    MUST(ucp_mem_unmap(A.ctx, m));
}

int main(void)
{
    extra_params.field_mask = UCP_PARAM_FIELD_NAME;
    extra_params.name = "a context of mine";
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_NAME | UCP_EP_PARAM_FIELD_USER_DATA;
    extra_ep_params.name = "an endpoint of mine";
    extra_ep_params.user_data = (void *)0x1234;
    features |= UCP_FEATURE_AM;
    pair_open(0);
    contexts();
    workers();
    endpoints();
    datatypes();
    requests();
    memories();
    still_works();
    pair_close();
    return finish();
}
