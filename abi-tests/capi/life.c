/* Contexts, workers and endpoints: queries, flush, fence, close in each mode, thread modes. */
#include "capi.h"

static void queries(void)
{
    unsigned ma, mi, re;
    ucp_get_version(&ma, &mi, &re);
    printf("version at least 1.13: %s, text agrees: %d\n", ma == 1 && mi >= 13 ? "yes" : "NO", atoi(strchr(ucp_get_version_string(), '.') + 1) == (int)mi);
    ucp_lib_attr_t la = {.field_mask = UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL};
    printf("lib query: %s", name(ucp_lib_query(&la)));
    printf(", thread level %d\n", la.max_thread_level);

    ucp_context_attr_t ca;
    memset(&ca, 0xee, sizeof ca);
    ca.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE | UCP_ATTR_FIELD_THREAD_MODE | UCP_ATTR_FIELD_MEMORY_TYPES | UCP_ATTR_FIELD_NAME;
    printf("context query: %s", name(ucp_context_query(A.ctx, &ca)));
    printf(", request size %s, thread mode %d, host memory %s, name %s\n", ca.request_size > 0 && ca.request_size < 1024 ? "sane" : "STRANGE", ca.thread_mode,
           ca.memory_types & 1 ? "yes" : "NO", ca.name);
    memset(&ca, 0xee, sizeof ca);
    ca.field_mask = 0;
    printf("context query of nothing: %s", name(ucp_context_query(A.ctx, &ca)));
    printf(", written: %s\n", untouched((char *)&ca + 8, sizeof ca - 8, 0xee) ? "nothing" : "SOMETHING");

    ucp_worker_attr_t wa;
    memset(&wa, 0xee, sizeof wa);
    wa.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE | UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER | UCP_WORKER_ATTR_FIELD_NAME |
                    UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
    wa.address_flags = 0;
    printf("worker query: %s", name(ucp_worker_query(A.w, &wa)));
    printf(", thread mode %d, address %s, info string %s, name %s\n", wa.thread_mode, wa.address_length == A.len && !memcmp(wa.address, A.addr, A.len) ? "as got" : "DIFFERS",
           wa.max_debug_string > 0 ? "sized" : "NONE", wa.name[0] && strlen(wa.name) < UCP_ENTITY_NAME_MAX ? "given" : "NONE");
    ucp_worker_release_address(A.w, wa.address);
    wa.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
    wa.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
    printf("network address: %s", name(ucp_worker_query(A.w, &wa)));
    printf(", not longer: %d\n", wa.address_length <= A.len);
    ucp_worker_release_address(A.w, wa.address);

    ucp_worker_address_attr_t aa = {.field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID}, ab = aa;
    printf("address query: %s", name(ucp_worker_address_query(A.addr, &aa)));
    printf(" %s, workers differ: %d\n", name(ucp_worker_address_query(B.addr, &ab)), aa.worker_uid != ab.worker_uid);

    ucp_ep_attr_t ea;
    ucp_transport_entry_t entries[8];
    memset(&ea, 0xee, sizeof ea);
    ea.field_mask = UCP_EP_ATTR_FIELD_NAME | UCP_EP_ATTR_FIELD_TRANSPORTS;
    ea.transports.entries = entries;
    ea.transports.num_entries = 8;
    ea.transports.entry_size = sizeof entries[0];
    printf("endpoint query: %s", name(ucp_ep_query(A.ep, &ea)));
    int named = ea.transports.num_entries > 0;
    for (unsigned i = 0; i < ea.transports.num_entries; i++) named &= entries[i].transport_name && entries[i].device_name && entries[i].transport_name[0];
    printf(", name %s, transports %s\n", ea.name[0] ? "given" : "NONE", named ? "named" : "NONE");
    ea.transports.num_entries = 0;
    printf("endpoint query, room for no transport: %s %u\n", name(ucp_ep_query(A.ep, &ea)), ea.transports.num_entries);
    ea.field_mask = UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR;
    printf("endpoint query of socket address: %s\n", name(ucp_ep_query(A.ep, &ea)));
    ea.field_mask = 1ull << 60;
    printf("endpoint query of unknown bits: %s\n", name(ucp_ep_query(A.ep, &ea)));
    int fd;
    printf("efd without the wakeup feature: %s\n", name(ucp_worker_get_efd(A.w, &fd)));
}

static void texts(void)
{
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    ucp_context_print_info(A.ctx, f);
    fclose(f);
    printf("context text: resource lines %s\n", strstr(text, "resource 0") && strstr(text, "flags --") ? "yes" : "NO");
    free(text);
    f = open_memstream(&text, &n);
    ucp_worker_print_info(A.w, f);
    fclose(f);
    printf("worker text: %s\n", strstr(text, "UCP worker") && strstr(text, "address:") ? "yes" : "NO");
    free(text);
    f = open_memstream(&text, &n);
    ucp_ep_print_info(A.ep, f);
    fclose(f);
    printf("endpoint text: %s\n", strstr(text, "UCP endpoint") && strstr(text, "lane[0]") ? "yes" : "NO");
    free(text);
    ucp_config_t *c;
    MUST(ucp_config_read(NULL, NULL, &c));
    f = open_memstream(&text, &n);
    ucp_config_print(c, f, "title", UCS_CONFIG_PRINT_HEADER | UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_DOC);
    fclose(f);
    printf("config text: %s\n", strstr(text, "UCX_TLS=") && strstr(text, "UCX_RNDV_THRESH=") && strstr(text, "title") ? "yes" : "NO");
    free(text);
    printf("config modify: %s\n", name(ucp_config_modify(c, "RNDV_THRESH", "8k")));
    printf("another: %s\n", name(ucp_config_modify(c, "TLS", "self")));
    printf("unknown: %s\n", name(ucp_config_modify(c, "NO_SUCH_THING", "1")));
    printf("bad value: %s\n", name(ucp_config_modify(c, "RNDV_THRESH", "abc")));
    ucp_config_release(c);
}

static int done;
static ucs_status_t done_status;
static void on_done(void *r, ucs_status_t s) { done++; done_status = s; }

static unsigned char out[200][5000], in[200][5000];

/* All that was sent before a flush, with none of its receives posted. */
/* The blocking ones drive one worker only, so they need a loopback here. */
static void flushes(int loop)
{
    for (int how = 0; how < (loop ? 6 : 4); how++) {
        for (int i = 0; i < 40; i++) {
            size_t n = i % 2 ? 8 : 5000;
            fill(out[i], n, i);
            ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, out[i], n, 50, &plain);
            HOLDS(!UCS_PTR_IS_ERR(r));
            if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
            if (i == 20) HOLDS(ucp_worker_fence(A.w) == UCS_OK);
        }
        done = 0;
        ucs_status_ptr_t r = NULL;
        switch (how) {
        case 0: r = ucp_ep_flush_nb(A.ep, 0, on_done); break;
        case 1: r = ucp_ep_flush_nbx(A.ep, &plain); break;
        case 2: r = ucp_worker_flush_nb(A.w, 0, on_done); break;
        case 3: r = ucp_worker_flush_nbx(A.w, &plain); break;
        default: break; /* below, blocking */
        }
        ucs_status_t s = finished(r);
        if (how == 4) s = ucp_ep_flush(A.ep);
        if (how == 5) s = ucp_worker_flush(A.w);
        int right = 0;
        for (int i = 0; i < 40; i++) {
            size_t n = i % 2 ? 8 : 5000;
            memset(in[i], 0, n);
            HOLDS(finished(ucp_tag_recv_nbx(B.w, in[i], n, 50, ALL, &plain)) == UCS_OK);
            right += same(in[i], n, i);
        }
        printf("flush %d: %s, then %d right\n", how, name(s), right);
    }
}

/* Close: flushing, what was sent arrives; by force, at once. Then a new endpoint to the same peer. */
static void closes(int loop)
{
    for (int how = 0; how < 6; how++) {
        if (how == 3 && !loop) continue; /* drives one worker only */
        int n_sent = 0;
        for (int i = 0; i < 100; i++, n_sent++) {
            fill(out[i], 1000, i);
            ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, out[i], 1000, 60, &plain);
            HOLDS(!UCS_PTR_IS_ERR(r));
            if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
        }
        ucs_status_ptr_t r = NULL;
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
        switch (how) {
        case 0: r = ucp_ep_close_nbx(A.ep, &plain); break;
        case 1: r = ucp_ep_close_nb(A.ep, UCP_EP_CLOSE_MODE_FLUSH); break;
        case 2: r = ucp_disconnect_nb(A.ep); break;
        case 3: ucp_ep_destroy(A.ep); break;
        case 4: HOLDS(finished(ucp_ep_flush_nbx(A.ep, &plain)) == UCS_OK); r = ucp_ep_close_nbx(A.ep, &p); break;
        case 5: HOLDS(finished(ucp_ep_flush_nbx(A.ep, &plain)) == UCS_OK); r = ucp_ep_close_nb(A.ep, UCP_EP_CLOSE_MODE_FORCE); break;
        }
        ucs_status_t s = finished(r);
        int right = 0;
        for (int i = 0; i < n_sent; i++) {
            HOLDS(finished(ucp_tag_recv_nbx(B.w, in[i], 1000, 60, ALL, &plain)) == UCS_OK);
            right += same(in[i], 1000, i);
        }
        printf("close %d: %s, %d right\n", how, name(s), right);
        if (s != UCS_OK) HOLDS(finished(ucp_ep_close_nbx(A.ep, &plain)) == UCS_OK);
        connect_to(&A, B.addr);
        still_works();
    }
}

static int errors;
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) { errors++; }

/* With error handling, force is allowed; what is in flight completes exactly once, the handler is not
 * called for a close of one's own. */
static void forced(void)
{
    static char large[2][4 << 20];
    struct side keep = A;
    for (int pending = 0; pending < 2; pending++) {
        extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
        extra_ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        extra_ep_params.err_handler.cb = on_error;
        ucp_ep_params_t ep_p = extra_ep_params;
        ep_p.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        ep_p.address = B.addr;
        ucs_status_t created = ucp_ep_create(A.w, &ep_p, &A.ep);
        memset(&extra_ep_params, 0, sizeof extra_ep_params);
        printf("%s, endpoint with error handling: %s", pending ? "a large message pending" : "nothing pending", name(created));
        if (created != UCS_OK) {
            printf("\n");
            A = keep;
            continue;
        }
        still_works();
        ucs_status_ptr_t r = NULL;
        if (pending) r = ucp_tag_send_nbx(A.ep, large[0], sizeof large[0], 70, &plain);
        ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
        ucs_status_t s = finished(ucp_ep_close_nbx(A.ep, &p));
        printf(", forced close: %s", name(s));
        printf(", the message: %s", name(finished(r)));
        let_it_arrive();
        printf(", error handler called: %d\n", errors);
        A = keep;
        still_works();
    }
}

static void many(void)
{
    /* Endpoints of one worker to the same peer, with and without error handling, all usable. */
    enum { N = 50 };
    ucp_ep_h ep[N];
    struct side keep = A;
    for (int i = 0; i < N; i++) {
        ucp_ep_params_t p;
        memset(&p, 0, sizeof p);
        p.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_USER_DATA | UCP_EP_PARAM_FIELD_NAME;
        p.address = B.addr;
        p.user_data = &ep[i];
        p.name = "one-of-many";
        MUST(ucp_ep_create(A.w, &p, &ep[i]));
    }
    ucp_ep_attr_t ea;
    memset(&ea, 0, sizeof ea);
    ea.field_mask = UCP_EP_ATTR_FIELD_NAME | UCP_EP_ATTR_FIELD_USER_DATA;
    printf("named endpoint: %s", name(ucp_ep_query(ep[7], &ea)));
    printf(" %s, user data %s\n", ea.name[0] ? "given" : "NONE", ea.user_data == &ep[7] ? "right" : "WRONG");
    for (int i = 0; i < N; i++) {
        A.ep = ep[i];
        still_works();
    }
    for (int i = 0; i < N; i++) HOLDS(finished(ucp_ep_close_nbx(ep[i], &plain)) == UCS_OK);
    A = keep;
    still_works();
    printf("%d endpoints\n", N);
}

int main(void)
{
    extra_params.field_mask = UCP_PARAM_FIELD_NAME;
    extra_params.name = "life";
    pair_open(0);
    still_works();
    queries();
    texts();
    flushes(0);
    closes(0);
    forced();
    many();
    pair_close();
    pair_open(1);
    flushes(1);
    closes(1);
    pair_close();
    static const ucs_thread_mode_t modes[] = {UCS_THREAD_MODE_SINGLE, UCS_THREAD_MODE_SERIALIZED, UCS_THREAD_MODE_MULTI};
    for (int i = 0; i < 3; i++) {
        threads = modes[i];
        pair_open(0);
        still_works();
        ucp_worker_attr_t wa = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};
        MUST(ucp_worker_query(A.w, &wa));
        printf("thread mode %d asked, %d given\n", modes[i], wa.thread_mode);
        pair_close();
    }
    return finish();
}
