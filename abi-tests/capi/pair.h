/* Two processes joined by a socket pair: bytes back and forth, and a barrier. */
#ifndef PAIR_H
#define PAIR_H
#include "capi.h"
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
        if (!ucp_worker_progress(A.w)) sched_yield();
    }
}

static double patience __attribute__((unused)) = 60; /* seconds; the clock goes on while a process is stopped */

/* As `finished`, but leaves the processor to others: there may be fewer of them than processes. */
__attribute__((unused)) static ucs_status_t settled(ucs_status_ptr_t r)
{
    double end = now() + patience;
    while (UCS_PTR_IS_PTR(r) && ucp_request_check_status(r) == UCS_INPROGRESS) {
        if (!ucp_worker_progress(A.w)) sched_yield();
        if (now() > end) DIE("nothing happens any more");
    }
    return finished(r);
}
#endif
