/* A sender in another process closes by force, at any moment, while the receiver reads its messages, and at once
 * overwrites what it had sent: what the receiver is told to be there is what was sent, and every receive that
 * has begun ends. usage: torn [ROUNDS] */
#include "pair.h"
#include <sys/wait.h>

enum { DEPTH = 16 };
static const size_t sizes[] = {40000, 300000, 1500000, 3000000};
enum { LEN = 3000000 };

static unsigned char *buffer[DEPTH];
static int over; /* messages of the sender that have completed */
static int errors;

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    HOLDS(s < 0);
    errors++;
}

static void on_sent(void *r, ucs_status_t s, void *user)
{
    memset(user, 0xff, LEN); /* it is the user's again */
    over++;
    ucp_request_free(r);
}

static void connect_back(void)
{
    open_side(&A);
    ucp_address_t *theirs = swap_addresses();
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = theirs, .err_mode = UCP_ERR_HANDLING_MODE_PEER, .err_handler.cb = on_error};
    MUST(ucp_ep_create(A.w, &p, &A.ep));
    free(theirs);
}

static void end(void)
{
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (A.ep) (void)settled(ucp_ep_close_nbx(A.ep, &force));
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
}

static void sender(int round)
{
    connect_back();
    srand(round);
    size_t n = sizes[round % 4];
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    p.cb.send = on_sent;
    long word = 0;
    MUST(settled(ucp_tag_recv_nbx(A.w, &word, sizeof word, 99, ALL, &plain)));
    for (int i = 0; i < DEPTH; i++) {
        fill(buffer[i], n, i);
        p.user_data = buffer[i];
        HOLDS(UCS_PTR_IS_PTR(ucp_tag_send_nbx(A.ep, buffer[i], n, i, &p)));
    }
    double stop = now() + rand() % 1000 * 1e-6 * (1 + round % 10);
    while (now() < stop && over < DEPTH) ucp_worker_progress(A.w);
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &force);
    A.ep = NULL;
    HOLDS(settled(r) == UCS_OK);
    HOLDS(over == DEPTH);
    char c;
    take_either(fd, &c, 1, 1); /* until the other side has ended */
    end();
}

static void receiver(int round)
{
    ucs_status_ptr_t r[DEPTH];
    connect_back();
    size_t n = sizes[round % 4];
    for (int i = 0; i < DEPTH; i++) r[i] = ucp_tag_recv_nbx(A.w, buffer[i], n, i, ALL, &plain);
    long word = 1;
    MUST(settled(ucp_tag_send_nbx(A.ep, &word, sizeof word, 99, &plain)));
    int seen[DEPTH] = {0}, left = DEPTH;
    double limit = now() + 30, told = 0;
    while (left) {
        ucp_worker_progress(A.w);
        if (errors && !told) told = now();
        for (int i = 0; i < DEPTH; i++) {
            if (seen[i] || ucp_request_check_status(r[i]) == UCS_INPROGRESS) continue;
            ucs_status_t s = ucp_request_check_status(r[i]);
            seen[i] = 1;
            left--;
            ucp_request_free(r[i]);
            if (s == UCS_OK && !same(buffer[i], n, i)) DIE("round %d, message %d is not what was sent", round, i);
            memset(buffer[i], 0xee, LEN);
        }
        /* What has not been announced is anybody's. */
        if (told && now() > told + 0.05)
            for (int i = 0; i < DEPTH; i++)
                if (!seen[i]) ucp_request_cancel(A.w, r[i]);
        if (now() > limit) DIE("round %d: %d receives without an end", round, left);
    }
    char c = 0;
    give(&c, 1);
    for (int i = 0; i < 100; i++) ucp_worker_progress(A.w);
    for (int i = 0; i < DEPTH; i++)
        if (!untouched(buffer[i], LEN, 0xee)) DIE("round %d, receive %d was written to after its end", round, i);
    end();
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    say_maps();
    for (int i = 0; i < DEPTH; i++) HOLDS((buffer[i] = malloc(LEN)));
    for (int round = 0; round < rounds; round++) {
        int fds[2], st;
        HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
        fflush(NULL);
        pid_t pids[2];
        for (int side = 0; side < 2; side++) {
            pids[side] = fork();
            if (pids[side] == 0) {
                alarm(60);
                close(fds[!side]);
                fd = fds[side];
                side ? sender(round) : receiver(round);
                _exit(0);
            }
        }
        close(fds[0]);
        close(fds[1]);
        for (int side = 0; side < 2; side++) {
            HOLDS(waitpid(pids[side], &st, 0) == pids[side]);
            if (!WIFEXITED(st) || WEXITSTATUS(st)) DIE("round %d: the %s ended with %d", round, side ? "sender" : "receiver", st);
        }
    }
    printf("%d rounds\n", rounds);
    printf("end\n");
    return 0;
}
