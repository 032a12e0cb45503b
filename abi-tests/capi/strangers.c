/* A listener among strangers: 1,000 connections that say nothing or nonsense while a real client comes,
 * requests refused late, by hundreds, of clients that may be dead; no descriptor left in the middle;
 * both ends closing at once; closing with a load under way. usage: strangers [ROUNDS [close]]
 * close: only both ends closing at once, of which nothing must be printed. */
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char *self;
static ucp_conn_request_h asked[1024];
static int n_asked, n_failed;
static ucs_status_t failed_with;

static void on_request(ucp_conn_request_h request, void *arg)
{
    (void)arg;
    HOLDS(n_asked < 1024);
    asked[n_asked++] = request;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    (void)ep;
    n_failed++;
    failed_with = status;
}

static struct sockaddr_in at;

static ucp_listener_h listen_here(void)
{
    ucp_listener_h l;
    ucp_listener_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    p.conn_handler.cb = on_request;
    MUST(ucp_listener_create(B.w, &p, &l));
    ucp_listener_attr_t attr;
    memset(&attr, 0, sizeof attr);
    attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    MUST(ucp_listener_query(l, &attr));
    at.sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    return l;
}

static ucs_status_t try_connect(ucp_ep_h *ep, int peer)
{
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                   UCP_EP_PARAM_FIELD_FLAGS;
    p.err_mode = peer ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
    p.err_handler.cb = on_error;
    p.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    p.sockaddr.addr = (struct sockaddr *)&at;
    p.sockaddr.addrlen = sizeof at;
    return ucp_ep_create(A.w, &p, ep);
}

static void accept_client(ucp_conn_request_h request, ucp_ep_h *ep)
{
    ucp_ep_params_t p;
    memset(&p, 0, sizeof p);
    p.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    p.conn_request = request;
    p.err_handler.cb = on_error;
    MUST(ucp_ep_create(B.w, &p, ep));
}

static void pair(int peer)
{
    n_asked = n_failed = 0;
    MUST(try_connect(&A.ep, peer));
    UNTIL(n_asked == 1);
    accept_client(asked[0], &B.ep);
    still_works();
}

static ucs_status_ptr_t close_start(ucp_ep_h *ep, int force)
{
    ucp_request_param_t p;
    memset(&p, 0, sizeof p);
    p.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    ucs_status_ptr_t r = ucp_ep_close_nbx(*ep, &p);
    *ep = NULL;
    return r;
}

/* ---- strangers ---------------------------------------------------------------------------------- */

static int stranger_port;

static void one_stranger(int i)
{
    unsigned char noise[4096];
    fill(noise, sizeof noise, i);
    struct sockaddr_in to = at;
    to.sin_port = htons(stranger_port);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(s >= 0);
    if (connect(s, (struct sockaddr *)&to, sizeof to) == 0) {
        static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        static const unsigned char tls[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
        unsigned char start[16] = {'U', 'X', 'C', 'M', 1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff};
        switch (i % 10) {
        case 0: break;
        case 1: (void)!write(s, noise, 1); break;
        case 2: (void)!write(s, noise, 7); break;
        case 3: (void)!write(s, noise, 8); break;
        case 4: (void)!write(s, noise, sizeof noise); break;
        case 5: (void)!write(s, http, sizeof http); break;
        case 6: (void)!write(s, tls, sizeof tls); break;
        case 7: (void)!write(s, start, sizeof start); break;
        case 8: /* a hello whose body is nonsense: length right, checksum not */
            start[8] = 64, start[9] = start[10] = start[11] = 0;
            (void)!write(s, start, sizeof start);
            (void)!write(s, noise, 64);
            break;
        default: (void)!write(s, noise, 16); break;
        }
        if (i % 2) {
            struct linger reset = {1, 0};
            setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
    }
    close(s);
}

static volatile int strangers_left, clients;

static void *strangers(void *n)
{
    for (int i = 0; i < (int)(long)n; i++) {
        one_stranger(i), strangers_left--;
        /* Where threads take turns, the clients may not have had theirs yet. */
        while (i == (int)(long)n / 2 && !clients) usleep(1000);
    }
    return NULL;
}

/* At the listener (0), or at the port of a worker's lanes. */
static void among_strangers(int n, int port)
{
    clients = 0;
    let_it_arrive();
    int before = descriptors();
    pthread_t t;
    stranger_port = port;
    strangers_left = n;
    HOLDS(pthread_create(&t, NULL, strangers, (void *)(long)n) == 0);
    while (strangers_left > 0) {
        pair(1);
        clients++;
        for (int i = 0; i < 20; i++) still_works();
        (void)finished(close_start(&A.ep, 1));
        (void)finished(close_start(&B.ep, 1));
    }
    pthread_join(t, NULL);
    for (double end = now() + 5; descriptors() > before + 2 && now() < end;) progress();
    if (descriptors() > before + 2) DIE("%d descriptors, %d before", descriptors(), before);
    printf("%d strangers at %s: clients are served\n", n, port == ntohs(at.sin_port) ? "the listener" : "a worker's port");
}

/* The port that another socket of this process listens at. */
static int other_port(void)
{
    char line[256];
    int found = 0;
    FILE *f = fopen("/proc/self/net/tcp", "r");
    while (f && fgets(line, sizeof line, f)) {
        unsigned host, port, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &host, &port, &state, &inode) != 4) continue;
        if (state != 10 || port == ntohs(at.sin_port)) continue;
        char want[64], path[64], to[64];
        snprintf(want, sizeof want, "socket:[%lu]", inode);
        for (int fd = 3; fd < 256 && !found; fd++) {
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            ssize_t len = readlink(path, to, sizeof to - 1);
            if (len > 0 && (to[len] = 0, !strcmp(to, want))) found = port;
        }
    }
    if (f) fclose(f);
    return found;
}

/* ---- refusals ------------------------------------------------------------------------------------- */

static void refusals(ucp_listener_h l, int rounds)
{
    enum { BATCH = 50 };
    ucp_ep_h eps[BATCH];
    for (int done = 0; done < rounds; done += BATCH) {
        n_asked = n_failed = 0;
        for (int i = 0; i < BATCH; i++) MUST(try_connect(&eps[i], 1));
        UNTIL(n_asked == BATCH);
        int dead = 0; /* every fifth client goes first */
        for (int i = 0; i < BATCH; i += 5) (void)finished(close_start(&eps[i], 1)), dead++;
        usleep(100000);
        for (int i = 0; i < BATCH; i++) (void)ucp_listener_reject(l, asked[i]);
        UNTIL(n_failed == BATCH - dead);
        let_it_arrive();
        if (n_failed != BATCH - dead || failed_with != UCS_ERR_REJECTED) DIE("%d told, the last %s", n_failed, name(failed_with));
        for (int i = 0; i < BATCH; i++)
            if (i % 5) (void)finished(close_start(&eps[i], 1));
    }
    printf("%d requests refused late\n", rounds);
}

/* Clients that are killed while they wait for an answer. */
static void killed(ucp_listener_h l)
{
    n_asked = 0;
    pid_t pids[10];
    for (int i = 0; i < 10; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            char port[16];
            snprintf(port, sizeof port, "%d", at.sin_port);
            execl(self, self, "client", port, NULL);
            _exit(9);
        }
    }
    UNTIL(n_asked == 10);
    for (int i = 0; i < 10; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    for (int i = 0; i < 5; i++) (void)ucp_listener_reject(l, asked[i]);
    n_failed = 0;
    for (int i = 5; i < 10; i++) {
        ucp_ep_h ep;
        ucp_ep_params_t p;
        memset(&p, 0, sizeof p);
        p.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLER;
        p.conn_request = asked[i];
        p.err_handler.cb = on_error;
        if (ucp_ep_create(B.w, &p, &ep) == UCS_OK) {
            int told = n_failed;
            UNTIL(n_failed == told + 1);
            (void)finished(close_start(&ep, 1));
        }
    }
    printf("clients killed before the answer: refused or told\n");
}

/* ---- closing -------------------------------------------------------------------------------------- */

static void both_close(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        pair(i & 1);
        ucs_status_ptr_t a = close_start(&A.ep, 0), b = close_start(&B.ep, 0);
        (void)finished(a);
        (void)finished(b);
    }
    printf("both ends closed at once, %d times\n", rounds);
}

/* Closing by flush after many sends: a receiver that comes late gets all of them. */
static void close_loaded(void)
{
    enum { N = 1000, SIZE = 65536 };
    static unsigned char out[SIZE], in[SIZE];
    static ucs_status_ptr_t s[N];
    fill(out, SIZE, 3);
    pair(1);
    for (int i = 0; i < N; i++) s[i] = ucp_tag_send_nbx(A.ep, out, SIZE, 1000 + i, &plain);
    ucs_status_ptr_t c = close_start(&A.ep, 0);
    usleep(100000);
    for (int i = 0; i < N; i++) {
        memset(in, 0, SIZE);
        ucs_status_t got = finished(ucp_tag_recv_nbx(B.w, in, SIZE, 1000 + i, ALL, &plain));
        if (got != UCS_OK || !same(in, SIZE, 3)) DIE("message %d: %s", i, name(got));
    }
    for (int i = 0; i < N; i++) HOLDS(finished(s[i]) == UCS_OK);
    HOLDS(finished(c) == UCS_OK);
    (void)finished(close_start(&B.ep, 1));
    printf("closed after %d sends, all of which arrive\n", N);
}

/* ---- descriptors ---------------------------------------------------------------------------------- */

static void no_descriptors(void)
{
    struct rlimit old, low;
    ucp_ep_h ep[4];
    int made = 0, refused = 0;
    pair(1); /* one that lives on */
    HOLDS(getrlimit(RLIMIT_NOFILE, &old) == 0);
    for (int spare = 0; spare < 4; spare++) {
        low = old;
        low.rlim_cur = dup(0) + spare;
        close((int)low.rlim_cur - spare);
        HOLDS(setrlimit(RLIMIT_NOFILE, &low) == 0);
        n_asked = n_failed = 0;
        ucs_status_t s = try_connect(&ep[made], 1);
        if (s == UCS_OK) made++;
        for (double end = now() + 0.1; now() < end;) progress();
        still_works();
        HOLDS(setrlimit(RLIMIT_NOFILE, &old) == 0);
        UNTIL(n_asked + n_failed == (s == UCS_OK)); /* the one that waited is accepted, or was told */
        refused += s != UCS_OK || n_failed;
        for (int i = 0; i < n_asked; i++) {
            ucp_ep_h server;
            accept_client(asked[i], &server);
            (void)finished(close_start(&server, 1));
        }
        for (int i = 0; i < made; i++) (void)finished(close_start(&ep[i], 1));
        made = 0;
        let_it_arrive();
        still_works();
    }
    HOLDS(refused > 0);
    (void)finished(close_start(&A.ep, 1));
    (void)finished(close_start(&B.ep, 1));
    pair(1);
    (void)finished(close_start(&A.ep, 1));
    (void)finished(close_start(&B.ep, 1));
    printf("no descriptors left: one error, and the listener works again\n");
}

int main(int argc, char **argv)
{
    self = argv[0]; /* not what /proc/self/exe says: that may be valgrind */
    if (argc == 3 && !strcmp(argv[1], "client")) {
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = atoi(argv[2]);
        open_side(&A);
        MUST(try_connect(&A.ep, 1));
        for (;;) progress();
    }
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    open_side(&A);
    open_side(&B);
    ucp_listener_h l = listen_here();
    if (argc > 2) {
        both_close(n);
        ucp_listener_destroy(l);
        pair_close();
        return finish();
    }
    among_strangers(n, ntohs(at.sin_port));
    int lanes = other_port();
    if (lanes) among_strangers(n, lanes);
    refusals(l, n / 2);
    killed(l);
    both_close(n);
    close_loaded();
    no_descriptors();
    ucp_listener_destroy(l);
    pair_close();
    return finish();
}
