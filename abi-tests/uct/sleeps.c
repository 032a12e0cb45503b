/* A receiver that begins to sleep while another process is sending: no message fails to wake it.
 * sleeps TRANSPORT DEVICE [TIMES] */
#include "uct.h"

#include <poll.h>
#include <sys/wait.h>

enum { ID = 3, MESSAGES = 200 };

static int got;

static ucs_status_t on_message(void *arg, void *data, size_t length, unsigned flags)
{
    got++;
    return UCS_OK;
}

static void put(int fd, const void *p, size_t n)
{
    if (write(fd, p, n) != (ssize_t)n) DIE("write");
}

static void take(int fd, void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t s = read(fd, (char *)p + at, n - at);
        if (s <= 0) exit(0); /* the receiver is done */
        at += s;
    }
}

static void send_all(const char *tl, const char *dev, int from, int to)
{
    domain_t d = find(tl, dev);
    end_t me = open_iface(&d, tl, dev), you = {0};
    unsigned seed = 1;
    you.dev_addr = malloc(me.attr.device_addr_len);
    you.iface_addr = malloc(me.attr.iface_addr_len);
    for (;;) {
        take(from, you.dev_addr, me.attr.device_addr_len);
        take(from, you.iface_addr, me.attr.iface_addr_len);
        uct_ep_h ep = endpoint_to(&me, &you);
        for (int i = 0; i < MESSAGES; i++) {
            WAIT_FOR("room", uct_ep_am_short(ep, ID, i, NULL, 0) == UCS_OK, uct_worker_progress(me.worker));
            /* Another pause each time; some are long enough to be slept through. */
            seed = seed * 1103515245 + 12345;
            for (volatile unsigned spin = seed >> 20; spin > 0; spin--) {}
            if (seed >> 30 == 0) usleep(seed >> 16 & 127);
        }
        WAIT_FOR("flush", uct_ep_flush(ep, 0, NULL) == UCS_OK, uct_worker_progress(me.worker));
        char done;
        take(from, &done, 1);
        uct_ep_destroy(ep);
        put(to, &done, 1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: sleeps TRANSPORT DEVICE [TIMES]");
    const char *tl = argv[1], *dev = argv[2];
    int times = argc > 3 ? atoi(argv[3]) : 20, down[2], up[2], slept = 0, status = 0;
    HOLDS(pipe(down) == 0 && pipe(up) == 0);
    pid_t child = fork();
    MUST(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
    if (child == 0) {
        close(down[1]);
        send_all(tl, dev, down[0], up[1]);
    }
    close(down[0]);
    domain_t d = find(tl, dev);
    /* More often, should the sender have been too fast each time to be slept through. */
    for (int i = 0; i < times || (slept == 0 && i < 100 * times); i++) {
        end_t me = open_iface(&d, tl, dev);
        int fd;
        char done = 1;
        got = 0;
        MUST(uct_iface_set_am_handler(me.iface, ID, on_message, NULL, 0));
        MUST(uct_iface_event_fd_get(me.iface, &fd));
        put(down[1], me.dev_addr, me.attr.device_addr_len);
        put(down[1], me.iface_addr, me.attr.iface_addr_len);
        /* The first sleep comes when the sender is in the middle of it. */
        WAIT_FOR("some messages", got > i % 50, uct_worker_progress(me.worker));
        while (got < MESSAGES) {
            while (uct_worker_progress(me.worker)) {}
            if (got == MESSAGES || uct_iface_event_arm(me.iface, UCT_EVENT_RECV) != UCS_OK) continue;
            struct pollfd p = {.fd = fd, .events = POLLIN};
            if (poll(&p, 1, 10000) != 1) DIE("interface %d: asleep for good after %d messages", i, got);
            slept++;
        }
        put(down[1], &done, 1);
        WAIT_FOR("the end", poll(&(struct pollfd){.fd = up[0], .events = POLLIN}, 1, 0) == 1, uct_worker_progress(me.worker));
        HOLDS(read(up[0], &done, 1) == 1);
        close_iface(&me);
    }
    close(down[1]);
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    uct_md_close(d.md);
    ucs_async_context_destroy(async);
    printf("slept: %d\n", slept > 0);
    return finish();
}
