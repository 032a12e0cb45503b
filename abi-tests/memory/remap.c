/* The same addresses hold other memory time and again: what is sent and received is always the
 * present one. Two processes; large messages, which go by rendezvous. The parent maps, sends and
 * unmaps; the child receives into memory that it maps and unmaps likewise.
 *
 * remap ROUNDS BYTES */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ucp/api/ucp.h>

static ucp_worker_h worker;

static void must(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        printf("%s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

static void done(void *request, const char *what)
{
    ucs_status_t status;

    if (request == NULL) {
        return;
    }
    if (UCS_PTR_IS_ERR(request)) {
        must(UCS_PTR_STATUS(request), what);
    }
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(worker);
    }
    ucp_request_free(request);
    must(status, what);
}

static ucp_ep_h connect_by(int fd)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *own;
    size_t length, theirs;
    ucp_ep_h ep;
    void *room;

    must(ucp_worker_get_address(worker, &own, &length), "address");
    if (write(fd, &length, sizeof(length)) != sizeof(length) || write(fd, own, length) != (ssize_t)length ||
        read(fd, &theirs, sizeof(theirs)) != sizeof(theirs)) {
        exit(2);
    }
    room = malloc(theirs);
    if (recv(fd, room, theirs, MSG_WAITALL) != (ssize_t)theirs) {
        exit(2);
    }
    params.address = room;
    must(ucp_ep_create(worker, &params, &ep), "endpoint");
    ucp_worker_release_address(worker, own);
    free(room);
    return ep;
}

/* Word `i` of the message of a round. */
static uint64_t word(uint64_t round, uint64_t i)
{
    return (round << 32 | i) * 0x9e3779b97f4a7c15ul;
}

int main(int argc, char **argv)
{
    int rounds                         = atoi(argv[1]), fds[2], status = 0, again = 0, sender;
    size_t size                        = atol(argv[2]), words = size / 8, i;
    ucp_params_t params                = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t worker_params  = {.field_mask = 0};
    ucp_request_param_t plain          = {.op_attr_mask = 0};
    uint64_t *last                     = NULL;
    ucp_context_h context;
    ucp_ep_h ep;
    int round;
    pid_t child;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        return 2;
    }
    child  = fork();
    sender = child != 0;
    must(ucp_init(&params, NULL, &context), "init");
    must(ucp_worker_create(context, &worker_params, &worker), "worker");
    ep = connect_by(fds[sender]);
    for (round = 0; round < rounds; ++round) {
        /* Every third block is the heap's. */
        int mapping = round % 3 != 2;
        uint64_t *p = mapping ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
                                malloc(size);

        again += (p == last);
        last   = p;
        if (sender) {
            for (i = 0; i < words; ++i) {
                p[i] = word(round, i);
            }
            done(ucp_tag_send_nbx(ep, p, size, round, &plain), "send");
        } else {
            memset(p, 0xee, size);
            done(ucp_tag_recv_nbx(worker, p, size, round, ~0ul, &plain), "receive");
            for (i = 0; i < words; ++i) {
                if (p[i] != word(round, i)) {
                    printf("WRONG: round %d word %zu\n", round, i);
                    status = 1;
                    break;
                }
            }
        }
        if (mapping) {
            munmap(p, size);
        } else {
            free(p);
        }
    }
    done(ucp_ep_close_nbx(ep, &plain), "close");
    /* Whoever is done first helps the other one on. */
    {
        char c;
        shutdown(fds[sender], SHUT_WR);
        while (recv(fds[sender], &c, 1, MSG_DONTWAIT) != 0) {
            ucp_worker_progress(worker);
        }
    }
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
    if (again < rounds / 4) {
        printf("WRONG: addresses came again %d times only\n", again);
        status = 1;
    }
    if (sender) {
        int result;
        waitpid(child, &result, 0);
        printf("child %d\nend\n", result);
    }
    return status;
}
