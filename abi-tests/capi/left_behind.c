/* A worker that is destroyed while its lanes still have eager messages to send, with failover: what a close in order
 * has taken charge of arrives, and without a close what arrives is what was sent. The receiver looks only afterwards, so
 * that sockets and queues are full. */
#include "pair.h"
#include <pthread.h>
#include <sys/wait.h>

enum { MOST = 8000 };
static unsigned good, bad, wanted;
static size_t len;
static volatile int over;

static void *receiver(void *arg)
{
    static unsigned char in[MOST];
    usleep(200000);
    for (double end = now() + patience; now() < end && !(over && good + bad >= wanted);) {
        ucp_tag_recv_info_t info;
        ucp_tag_message_h m;
        ucp_worker_progress(B.w);
        while ((m = ucp_tag_probe_nb(B.w, 0, 0, 1, &info))) {
            ucs_status_ptr_t r = ucp_tag_msg_recv_nbx(B.w, in, sizeof in, m, &plain);
            while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) ucp_worker_progress(B.w);
            if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
            if (info.length == len && same(in, len, info.sender_tag)) good++;
            else bad++;
        }
        /* Nobody says how much comes of what was not closed. */
        if (over && !wanted && end > now() + 1) end = now() + 1;
    }
    return NULL;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s) {}

static int one(size_t length, int count, int closes)
{
    static unsigned char out[MOST];
    pthread_t thread;
    int sent = 0;
    len = length;
    extra_ep_params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    extra_ep_params.err_mode = 2; /* failover, which headers before 1.20 have no name for */
    extra_ep_params.err_handler.cb = on_error;
    open_side(&A);
    open_side(&B);
    connect_to(&A, B.addr);
    connect_to(&B, A.addr);
    introduce(&A, &B);
    introduce(&B, &A);
    let_it_arrive();
    for (; sent < count; sent++) {
        fill(out, len, sent);
        ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, out, len, sent, &plain);
        if (UCS_PTR_IS_PTR(r)) {
            ucp_request_free(r); /* what is still to be taken is the close's */
            sent += closes;
            break;
        }
        MUST(UCS_PTR_STATUS(r));
    }
    wanted = closes ? sent : 0;
    HOLDS(pthread_create(&thread, NULL, receiver, NULL) == 0);
    if (closes) {
        ucs_status_ptr_t r = ucp_ep_close_nbx(A.ep, &plain);
        ucs_status_t s = UCS_PTR_STATUS(r);
        while (UCS_PTR_IS_PTR(r) && (s = ucp_request_check_status(r)) == UCS_INPROGRESS) ucp_worker_progress(A.w);
        MUST(s);
    }
    ucp_worker_destroy(A.w);
    over = 1;
    pthread_join(thread, NULL);
    printf("%zu bytes, %s: %d sent, %u right, %u wrong\n", length, closes ? "closed in order" : "not closed", sent, good, bad);
    return bad || good < wanted;
}

int main(void)
{
    static const struct { size_t length; int count; } cases[] = {{4000, 80}, {4000, 310}, {MOST, 190}};
    int wrong = 0;
    for (int i = 0; i < 6; i++) {
        int st;
        fflush(NULL);
        pid_t pid = fork();
        HOLDS(pid >= 0);
        if (pid == 0) {
            int failed = one(cases[i / 2].length, cases[i / 2].count, i % 2);
            if (i == 5) say_maps();
            fflush(stdout);
            _exit(failed);
        }
        HOLDS(waitpid(pid, &st, 0) == pid);
        if (!WIFEXITED(st)) printf("case %d is ended by signal %d\n", i, WTERMSIG(st));
        wrong += !WIFEXITED(st) || WEXITSTATUS(st) != 0;
    }
    if (wrong) return 3;
    return finish();
}
