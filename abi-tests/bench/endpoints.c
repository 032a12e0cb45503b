/* What N endpoints from one process to W workers of another cost: time per endpoint to create it and
 * for its first message, and resident memory per endpoint on both sides.
 *
 *     endpoints N W
 *
 * Prints "NAME VALUE" lines: create, contact and sum in microseconds; created, connected and served
 * (that of the other process, with the messages it keeps) in bytes. */
#include "resident.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <ucp/api/ucp.h>

enum { MOST_WORKERS = 64 };

static void check(ucs_status_t status, const char *what)
{
    if (status == UCS_OK) return;
    fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double resident_bytes(void) { return resident_kb() * 1024.0; }

static void all(int fd, void *data, size_t length, int out)
{
    char *at = data;
    while (length != 0) {
        ssize_t n = out ? write(fd, at, length) : read(fd, at, length);
        if (n <= 0) exit(1);
        at += n;
        length -= n;
    }
}

static ucp_context_h context;

static void open_context(void)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG | UCP_FEATURE_AM};
    check(ucp_init(&params, NULL, &context), "ucp_init");
}

static ucp_worker_h open_worker(void)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_worker_h worker;
    check(ucp_worker_create(context, &params, &worker), "ucp_worker_create");
    return worker;
}

/* The other process: tells its addresses, and on each byte that comes in its memory since then. */
static void serve(int workers, int in, int out)
{
    ucp_worker_h worker[MOST_WORKERS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_context();
    for (int i = 0; i < workers; i++) {
        ucp_address_t *address;
        size_t length;
        worker[i] = open_worker();
        check(ucp_worker_get_address(worker[i], &address, &length), "ucp_worker_get_address");
        all(out, &length, sizeof length, 1);
        all(out, address, length, 1);
    }
    double before = resident_bytes();
    fd_set set;
    for (;;) {
        struct timeval none = {0};
        int events = 0;
        for (int i = 0; i < workers; i++) events += ucp_worker_progress(worker[i]);
        if (events) continue;
        FD_ZERO(&set);
        FD_SET(in, &set);
        if (select(in + 1, &set, NULL, NULL, &none) == 1) {
            char byte;
            all(in, &byte, 1, 0);
            double used = resident_bytes() - before;
            all(out, &used, sizeof used, 1);
        } else {
            usleep(10);
        }
    }
}

static void await(ucp_worker_h worker, ucs_status_ptr_t request)
{
    if (request == NULL) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "request");
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
    check(ucp_request_check_status(request), "request");
    ucp_request_free(request);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000, workers = argc > 2 ? atoi(argv[2]) : 1;
    int to[2], from[2];
    if (count < 1 || workers < 1 || workers > MOST_WORKERS || pipe(to) || pipe(from)) return 1;
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) serve(workers, to[0], from[1]);
    void *address[MOST_WORKERS];
    for (int i = 0; i < workers; i++) {
        size_t length;
        all(from[0], &length, sizeof length, 0);
        address[i] = malloc(length);
        all(from[0], address[i], length, 0);
    }
    open_context();
    ucp_worker_h worker = open_worker();
    ucp_ep_h *ep = malloc(count * sizeof *ep);
    memset(ep, 1, count * sizeof *ep);
    ucp_request_param_t plain = {.op_attr_mask = 0};
    long value = 1;
    resident_bytes();

    double memory = resident_bytes(), start = now_us();
    for (int i = 0; i < count; i++) {
        ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address[i % workers]};
        check(ucp_ep_create(worker, &params, &ep[i]), "ucp_ep_create");
    }
    double create = now_us() - start, created = resident_bytes() - memory;
    start = now_us();
    for (int i = 0; i < count; i++) await(worker, ucp_tag_send_nbx(ep[i], &value, sizeof value, 1, &plain));
    await(worker, ucp_worker_flush_nbx(worker, &plain));
    double contact = now_us() - start, connected = resident_bytes() - memory, served;
    char byte = 0;
    all(to[1], &byte, 1, 1);
    all(from[0], &served, sizeof served, 0);
    printf("create %.3f\ncontact %.3f\nsum %.3f\n", create / count, contact / count, (create + contact) / count);
    printf("created %.0f\nconnected %.0f\nserved %.0f\n", created / count, connected / count, served / count);
    kill(child, SIGKILL);
    return 0;
}
