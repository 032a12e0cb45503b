/* Two processes joined by a socket pair: bytes back and forth, and a barrier. */
#ifndef PAIR_H
#define PAIR_H
#include "capi.h"
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

static int fd __attribute__((unused)); /* to the other process, where there is only one */

__attribute__((unused)) static void give_to(int to, const void *p, size_t n) { HOLDS(write(to, p, n) == (ssize_t)n); }
__attribute__((unused)) static void take_from(int from, void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = read(from, (char *)p + at, n - at);
        if (k <= 0) DIE("the other process is gone");
        at += k;
    }
}
__attribute__((unused)) static void give(const void *p, size_t n) { give_to(fd, p, n); }
__attribute__((unused)) static void take(void *p, size_t n) { take_from(fd, p, n); }
__attribute__((unused)) static void meet(void)
{
    char c = 0;
    give(&c, 1);
    take(&c, 1);
}

/* Gives the address of A's worker to the other process; returns the address of the other's, to be freed. */
__attribute__((unused)) static ucp_address_t *swap_addresses(void)
{
    size_t n;
    give(&A.len, sizeof A.len);
    give(A.addr, A.len);
    take(&n, sizeof n);
    ucp_address_t *theirs = malloc(n);
    take(theirs, n);
    return theirs;
}

/* Between rounds of progress in which nothing has happened: others may have the processor. With RAILS_SLEEPS set
 * (and UCP_FEATURE_WAKEUP) the process sleeps until the worker wakes it, or there is something to be read from `fd`. */
__attribute__((unused)) static void rest(void)
{
    static int sleeps = -1, efd;
    if (sleeps < 0) sleeps = getenv("RAILS_SLEEPS") != NULL;
    if (!sleeps) {
        sched_yield();
        return;
    }
    if (!efd) MUST(ucp_worker_get_efd(A.w, &efd));
    ucs_status_t s = ucp_worker_arm(A.w);
    if (s == UCS_ERR_BUSY) return;
    MUST(s);
    struct pollfd both[] = {{.fd = efd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (poll(both, 2, 10000) == 0) DIE("nothing has woken the worker for 10 s");
}

/* As take_from, with progress meanwhile or without UCX. */
__attribute__((unused)) static void take_either(int from, void *p, size_t n, int progress_too)
{
    double end = now() + 60;
    for (size_t at = 0; at < n;) {
        ssize_t k = recv(from, (char *)p + at, n - at, progress_too ? MSG_DONTWAIT : 0);
        if (k > 0) {
            at += k;
            continue;
        }
        if (k == 0) DIE("the other process is gone");
        if (now() > end) DIE("nothing comes from the other process");
        if (!ucp_worker_progress(A.w)) rest();
    }
}

static double patience __attribute__((unused)) = 60; /* seconds; the clock goes on while a process is stopped */

/* As `finished`, but leaves the processor to others: there may be fewer of them than processes. */
__attribute__((unused)) static ucs_status_t settled(ucs_status_ptr_t r)
{
    double end = now() + patience;
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) {
        if (!ucp_worker_progress(A.w)) rest();
        if (now() > end) DIE("nothing happens any more");
    }
    return finished(r);
}
#endif
