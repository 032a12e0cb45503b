/* A machine without /proc (a chroot): two processes whose workers sleep on their descriptors talk to each other all the
 * same, by what is left. Nothing is logged as an error. */
#define _GNU_SOURCE
#include "pair.h"
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* Sleeps while nothing is there to do. */
static ucs_status_t slept(ucs_status_ptr_t r, int efd, int *sleeps)
{
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) {
        if (ucp_worker_progress(A.w)) continue;
        ucs_status_t s = ucp_worker_arm(A.w);
        if (s == UCS_ERR_BUSY) continue;
        MUST(s);
        struct pollfd p = {.fd = efd, .events = POLLIN};
        if (poll(&p, 1, 30000) != 1) DIE("nobody wakes the worker");
        ++*sleeps;
    }
    return finished(r);
}

int main(void)
{
    int fds[2], st, efd, sleeps = 0;
    say_maps();
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || umount2("/proc", MNT_DETACH))
        DIE("no namespace of our own for the test");
    HOLDS(access("/proc/self", F_OK) != 0);
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid_t pid = fork();
    int child = pid == 0;
    fd = fds[child];
    close(fds[!child]);
    features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    open_side(&A);
    MUST(ucp_worker_get_efd(A.w, &efd));
    ucp_address_t *theirs = swap_addresses();
    connect_to(&A, theirs);
    size_t sizes[] = {8, 5000, 1 << 20};
    unsigned char *out = malloc(1 << 20), *in = calloc(1, 1 << 20);
    for (int i = 0; i < 6; i++) {
        size_t n = sizes[i / 2];
        fill(out, n, i);
        if ((i & 1) == child) {
            usleep(100000); /* the other side sleeps by now */
            MUST(slept(ucp_tag_send_nbx(A.ep, out, n, i, &plain), efd, &sleeps));
        } else {
            MUST(slept(ucp_tag_recv_nbx(A.w, in, n, i, ALL, &plain), efd, &sleeps));
            HOLDS(same(in, n, i));
        }
    }
    HOLDS(sleeps > 0);
    MUST(slept(ucp_ep_flush_nbx(A.ep, &plain), efd, &sleeps));
    char c = 0;
    give(&c, 1);
    take_either(fd, &c, 1, 1); /* both have all before either goes */
    close_side(&A);
    ucp_worker_release_address(A.w, A.addr);
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    if (child) _exit(0);
    HOLDS(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 0);
    printf("two processes without /proc, asleep and awake\nend\n");
    return 0;
}
