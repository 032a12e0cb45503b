/* Two processes joined by a socket pair: bytes back and forth, and a barrier. */
#ifndef PAIR_H
#define PAIR_H
#include "capi.h"

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
#endif
