/* Bad cables: links between two hosts (network namespaces), made of TAP devices, whose packets this program carries.
 *
 *   wire SEED PID0 PID1 LINKS     a<n> in the namespace of process PID0, b<n> in that of PID1
 *
 * Prints "ready" when the devices are there. Lines of standard input change what becomes of the packets that one host
 * sends by one link, and are answered by a line that tells how many of its packets were lost so far:
 *
 *   LINK HOST loss LOSS dup DUP delay DELAY jitter JITTER most MOST
 *
 * LOSS and DUP in 1/1000, DELAY and JITTER in us (with jitter packets overtake each other), MOST: longer frames are lost.
 * Ends with its standard input. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LINKS = 4, FRAME = 9100, QUEUE = 2048 };

static struct way {
    int from, to;
    unsigned loss, dup, delay, jitter, most;
    unsigned long lost, carried;
} ways[MOST_LINKS][2];
static struct packet {
    uint64_t due, order;
    struct way *way;
    int len;
    char bytes[FRAME];
} queue[QUEUE];
static int queued;

static uint64_t state;
static unsigned rnd(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return n ? (unsigned)(state >> 33) % n : 0;
}
static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}
static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int tap(int space, const char *name)
{
    struct ifreq r;
    if (setns(space, CLONE_NEWNET)) die("setns");
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0) die("/dev/net/tun");
    memset(&r, 0, sizeof r);
    r.ifr_flags = IFF_TAP | IFF_NO_PI;
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &r)) die("TUNSETIFF");
    return fd;
}

static void later(struct way *way, const char *bytes, int len, uint64_t now)
{
    static uint64_t order;
    if (queued == QUEUE) {
        way->lost++;
        return;
    }
    struct packet *p = &queue[queued++];
    p->due = now + way->delay + rnd(way->jitter);
    p->order = order++;
    p->way = way;
    p->len = len;
    memcpy(p->bytes, bytes, len);
}
static void take(struct way *way, uint64_t now)
{
    char bytes[FRAME];
    for (int i = 0; i < 64; i++) {
        ssize_t n = read(way->from, bytes, sizeof bytes);
        if (n <= 0) return;
        if (rnd(1000) < way->loss || (way->most && n > (ssize_t)way->most)) {
            way->lost++;
            continue;
        }
        later(way, bytes, n, now);
        if (rnd(1000) < way->dup) later(way, bytes, n, now);
    }
}
/* Sends what is due, the first first; returns when something is due next. */
static uint64_t deliver(uint64_t now)
{
    for (;;) {
        int first = -1;
        for (int i = 0; i < queued; i++)
            if (first < 0 || queue[i].due < queue[first].due || (queue[i].due == queue[first].due && queue[i].order < queue[first].order)) first = i;
        if (first < 0) return UINT64_MAX;
        if (queue[first].due > now) return queue[first].due;
        /* A device that is down takes nothing. */
        if (write(queue[first].way->to, queue[first].bytes, queue[first].len) > 0) queue[first].way->carried++;
        queue[first] = queue[--queued];
    }
}

static int command(int links)
{
    static char text[4096];
    static size_t have;
    ssize_t n = read(0, text + have, sizeof text - 1 - have);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    have += n;
    text[have] = 0;
    for (char *end; (end = strchr(text, '\n'));) {
        unsigned link, host, loss, dup, delay, jitter, most;
        *end = 0;
        if (sscanf(text, "%u %u loss %u dup %u delay %u jitter %u most %u", &link, &host, &loss, &dup, &delay, &jitter, &most) != 7 ||
            link >= (unsigned)links || host > 1) {
            fprintf(stderr, "not understood: %s\n", text);
            exit(1);
        }
        struct way *way = &ways[link][host];
        way->loss = loss, way->dup = dup, way->delay = delay, way->jitter = jitter, way->most = most;
        printf("%lu\n", way->lost);
        fflush(stdout);
        have -= end + 1 - text;
        memmove(text, end + 1, have + 1);
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 5 || atoi(argv[4]) < 1 || atoi(argv[4]) > MOST_LINKS) return 2;
    state = strtoull(argv[1], 0, 0);
    int links = atoi(argv[4]);
    struct pollfd all[2 * MOST_LINKS + 1];
    for (int host = 0; host < 2; host++) {
        char path[64], name[8];
        snprintf(path, sizeof path, "/proc/%s/ns/net", argv[2 + host]);
        int space = open(path, O_RDONLY);
        if (space < 0) die(path);
        for (int link = 0; link < links; link++) {
            snprintf(name, sizeof name, "%c%d", "ab"[host], link);
            int fd = tap(space, name);
            ways[link][host].from = fd;
            ways[link][1 - host].to = fd;
            all[2 * link + host] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
        close(space);
    }
    all[2 * links] = (struct pollfd){.fd = 0, .events = POLLIN};
    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        uint64_t now = now_us(), due = deliver(now);
        struct timespec wait = {.tv_sec = 1};
        if (due != UINT64_MAX) {
            uint64_t us = due > now ? due - now : 0;
            if (us < 1000000) wait = (struct timespec){.tv_nsec = us * 1000};
        }
        if (ppoll(all, 2 * links + 1, &wait, NULL) < 0 && errno != EINTR) die("poll");
        if (all[2 * links].revents && !command(links)) return 0;
        now = now_us();
        for (int link = 0; link < links; link++)
            for (int host = 0; host < 2; host++) take(&ways[link][host], now);
    }
}
