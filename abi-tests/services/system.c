/* Values of variables as text and back, sockets, sets of events, the topology and other small things of
 * UCS, through its public functions. What it prints is the same on any UCX. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ucs_assert(...)
#define ucs_assertv(...)

#include <ucs/config/parser.h>
#include <ucs/sys/event_set.h>
#include <ucs/sys/sock.h>
#include <ucs/sys/stubs.h>
#include <ucs/sys/topo/base/topo.h>

/* Without an installed header, but imported by UCX's own programs. */
void *ucs_malloc(size_t size, const char *name);
void ucs_free(void *ptr);
void ucs_close_fd(int *fd_p);
uint64_t ucs_generate_uuid(uint64_t seed);
int ucs_sys_getaffinity(cpu_set_t *cpuset);
int ucs_sys_setaffinity(cpu_set_t *cpuset);

static const char *name(ucs_status_t status)
{
    return ucs_status_string(status);
}

/* ---- values ---- */

static const char *words[] = {"one", "Two", "three", NULL};

/* A kind of value, and texts of which some are none. Numbers with something behind them are left out, which
 * genuine UCX reads as far as they go, and so are -1 where it is taken for the largest number, and "inf" for a
 * plain number. */
typedef struct {
    const char *what;
    int (*read)(const char *, void *, const void *);
    int (*print)(char *, size_t, const void *, const void *);
    const void *arg;
    const char *texts[16];
} value_t;

#define VALUE(_name, _arg, ...) {#_name, ucs_config_sscanf_##_name, ucs_config_sprintf_##_name, _arg, {__VA_ARGS__}}

static const value_t kinds[] = {
    VALUE(int, NULL, "0", "17", "-1", "2000000000", "x", "none"),
    VALUE(uint, NULL, "0", "17", "4000000000", "inf", "x"),
    VALUE(ulong, NULL, "0", "17", "5000000000", "x"),
    VALUE(ulunits, NULL, "0", "17", "inf", "auto", "x", "none"),
    VALUE(double, NULL, "0", "1.5", "-2.5", "1e3", "x"),
    VALUE(pos_double, NULL, "1.5", "auto", "-2.5", "x", ""),
    VALUE(hex, NULL, "0", "1f", "0x1f", "ff", "x"),
    VALUE(bool, NULL, "y", "n", "yes", "no", "Y", "1", "0", "on", "off", "2", "x", ""),
    VALUE(ternary_auto, NULL, "y", "n", "try", "auto", "yes", "1", "x", ""),
    VALUE(on_off_auto, NULL, "on", "off", "auto", "y", "1", "0", "no", "x", ""),
    VALUE(time, NULL, "1", "1.5", "5us", "5ms", "2s", "1m", "7ns", "x", "3x", "none", ""),
    VALUE(time_units, NULL, "1", "5us", "5ms", "2s", "1m", "7ns", "inf", "auto", "x", "3x", ""),
    VALUE(bw, NULL, "1KBs", "10MB/s", "1Gbps", "auto", "1", "1K", "x", ""),
    VALUE(memunits, NULL, "0", "17", "1k", "1K", "2MB", "3g", "inf", "auto", "-1", "1.5", "x", "3x", ""),
    VALUE(signo, NULL, "1", "17", "TERM", "SIGTERM", "9", "x"),
    VALUE(enum, words, "one", "TWO", "three", "four", "one,three", "1", ""),
    VALUE(bitmap, words, "one", "one,three", "Two", "four", "one,four", "1", ""),
    VALUE(bitmask, NULL, "0", "1", "17", "9", "x"),
};

static void values(void)
{
    size_t kind, at;

    for (kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); ++kind) {
        for (at = 0; (at < 16) && (kinds[kind].texts[at] != NULL); ++at) {
            const value_t *value = &kinds[kind];
            uint64_t room[8]     = {0};
            char text[64]        = "";
            int read             = value->read(value->texts[at], room, value->arg);

            if (read) {
                value->print(text, sizeof text, room, value->arg);
            }
            printf("%s '%s': %d '%s'\n", value->what, value->texts[at], read != 0, text);
        }
    }
}

/* ---- sockets ---- */

static void sockets(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage peer;
    socklen_t length = sizeof at, size = sizeof peer;
    char text[64], bytes[64] = "";
    struct iovec pieces[2] = {{"ab", 2}, {"cde", 3}};
    int listening, client, server, value = 0, fd;
    ucs_status_t status;
    size_t n;

    printf("backlog %d\n", ucs_socket_max_conn() > 0);
    printf("bad family %s\n", name(ucs_socket_create(9999, SOCK_STREAM, 0, &fd)));
    status = ucs_socket_server_init((struct sockaddr *)&at, sizeof at, 8, 0, 0, &listening);
    printf("listen %s\n", name(status));
    printf("no connection yet %s\n", name(ucs_socket_accept(listening, (struct sockaddr *)&peer, &length, &server)));
    length = sizeof at;
    if (getsockname(listening, (struct sockaddr *)&at, &length)) return;
    printf("create %s\n", name(ucs_socket_create(AF_INET, SOCK_STREAM, 0, &client)));
    printf("connected %d\n", ucs_socket_is_connected(client));
    printf("connect %s\n", name(ucs_socket_connect(client, (struct sockaddr *)&at)));
    length = sizeof peer;
    do {
        status = ucs_socket_accept(listening, (struct sockaddr *)&peer, &length, &server);
    } while (status == UCS_ERR_NO_PROGRESS);
    printf("accept %s, connected %d\n", name(status), ucs_socket_is_connected(client));
    printf("peer %s\n", name(ucs_socket_getpeername(client, &peer, &size)));
    printf("name %d\n", strncmp(ucs_socket_getname_str(client, text, sizeof text), "127.0.0.1:", 10));
    printf("name of none %s\n", ucs_socket_getname_str(-1, text, sizeof text));
    printf("option %s\n", name(ucs_socket_setopt(client, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int))));
    printf("option %s", name(ucs_socket_getopt(client, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof value)));
    printf(", %d\n", value);
    printf("no option %s\n", name(ucs_socket_setopt(client, SOL_SOCKET, 9999, &value, sizeof value)));
    printf("buffers %s\n", name(ucs_socket_set_buffer_size(client, 65536, 65536)));
    printf("send %s\n", name(ucs_socket_send(client, "hello", 5)));
    printf("receive %s", name(ucs_socket_recv(server, bytes, 5)));
    printf(" '%s'\n", bytes);
    printf("send pieces %s", name(ucs_socket_sendv_nb(client, pieces, 2, &n)));
    printf(" %zu\n", n);
    printf("receive %s", name(ucs_socket_recv(server, bytes, 5)));
    printf(" '%s'\n", bytes);
    n = sizeof bytes;
    fcntl(server, F_SETFL, O_NONBLOCK);
    printf("nothing there %s", name(ucs_socket_recv_nb(server, bytes, 0, &n)));
    printf(" %zu\n", n);
    n = 3;
    printf("send %s", name(ucs_socket_send_nb(client, "xyz", &n)));
    printf(" %zu\n", n);
    ucs_close_fd(&client);
    printf("closed %d\n", client);
    n = sizeof bytes;
    do {
        n      = sizeof bytes;
        status = ucs_socket_recv_nb(server, bytes, 0, &n);
    } while (status == UCS_ERR_NO_PROGRESS);
    printf("the rest %s %zu\n", name(status), n);
    do {
        n      = sizeof bytes;
        status = ucs_socket_recv_nb(server, bytes, 0, &n);
    } while (status == UCS_ERR_NO_PROGRESS);
    printf("the end %s\n", name(status));
    ucs_close_fd(&server);
    ucs_close_fd(&listening);
}

/* ---- sets of events ---- */

static void happened(void *what, ucs_event_set_types_t events, void *arg)
{
    printf("event of %s: %s%s%s\n", (char *)what, (events & UCS_EVENT_SET_EVREAD) ? "read " : "",
           (events & UCS_EVENT_SET_EVWRITE) ? "write " : "", (events & UCS_EVENT_SET_EVERR) ? "error " : "");
    ++*(int *)arg;
}

static void event_sets(void)
{
    ucs_sys_event_set_t *set;
    int pipe_fd[2], fd, count = 0;
    unsigned n;

    if (pipe(pipe_fd)) return;
    printf("create %s\n", name(ucs_event_set_create(&set)));
    printf("fd %s\n", name(ucs_event_set_fd_get(set, &fd)));
    printf("add %s\n", name(ucs_event_set_add(set, pipe_fd[0], UCS_EVENT_SET_EVREAD, "the pipe")));
    printf("again %s\n", name(ucs_event_set_add(set, pipe_fd[0], UCS_EVENT_SET_EVREAD, "the pipe")));
    printf("none %s\n", name(ucs_event_set_add(set, -1, UCS_EVENT_SET_EVREAD, "nothing")));
    n = 4;
    printf("nothing yet %s", name(ucs_event_set_wait(set, &n, 0, happened, &count)));
    printf(" %u\n", n);
    if (write(pipe_fd[1], "x", 1) != 1) return;
    n = 4;
    printf("%s", name(ucs_event_set_wait(set, &n, 1000, happened, &count)));
    printf(" %u, %d calls\n", n, count);
    printf("add %s\n", name(ucs_event_set_add(set, pipe_fd[1], UCS_EVENT_SET_EVWRITE, "its other end")));
    printf("change %s\n", name(ucs_event_set_mod(set, pipe_fd[0], UCS_EVENT_SET_EVWRITE, "changed")));
    n = 4;
    printf("%s", name(ucs_event_set_wait(set, &n, 1000, happened, &count)));
    printf(" %u, %d calls\n", n, count);
    printf("remove %s\n", name(ucs_event_set_del(set, pipe_fd[1])));
    printf("again %s\n", name(ucs_event_set_del(set, pipe_fd[1])));
    n = 4;
    printf("%s", name(ucs_event_set_wait(set, &n, 0, happened, &count)));
    printf(" %u\n", n);
    ucs_event_set_cleanup(set);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

/* ---- the topology ---- */

static void distance(const char *what, ucs_sys_device_t a, ucs_sys_device_t b)
{
    ucs_sys_dev_distance_t d = {.latency = 7, .bandwidth = 7};
    ucs_status_t status      = ucs_topo_get_distance(a, b, &d);
    char text[128];

    printf("%s: %s %s\n", what, name(status), ucs_topo_distance_str(&d, text, sizeof text));
}

static void topology(void)
{
    ucs_sys_bus_id_t made_up = {.domain = 0x7ab, .bus = 0x11, .slot = 0x1f, .function = 3}, back;
    ucs_sys_device_t device = 200, same;
    ucs_sys_dev_distance_t d;
    char text[128];
    unsigned before = ucs_topo_num_devices();

    printf("find %s\n", name(ucs_topo_find_device_by_bus_id(&made_up, &device)));
    printf("one more: %d\n", (int)(ucs_topo_num_devices() - before));
    printf("find %s", name(ucs_topo_find_device_by_bus_id(&made_up, &same)));
    printf(", the same: %d\n", same == device);
    printf("name %s, bus %s\n", ucs_topo_sys_device_get_name(device), ucs_topo_sys_device_bdf_name(device, text, sizeof text));
    printf("bus %s", name(ucs_topo_get_device_bus_id(device, &back)));
    printf(", the same: %d, %lx\n", back.domain == made_up.domain && back.bus == made_up.bus && back.slot == made_up.slot && back.function == made_up.function,
           (unsigned long)ucs_topo_get_bus_id_bit_repr(&made_up));
    printf("by name %s", name(ucs_topo_find_device_by_bdf_name("07ab:11:1f.3", &same)));
    printf(", the same: %d\n", same == device);
    printf("by a bad name %s\n", name(ucs_topo_find_device_by_bdf_name("nothing", &same)));
    printf("rename %s", name(ucs_topo_sys_device_set_name(device, "mine", 1)));
    printf(" %s\n", ucs_topo_sys_device_get_name(device));
    printf("rename, less important %s", name(ucs_topo_sys_device_set_name(device, "other", 0)));
    printf(" %s\n", ucs_topo_sys_device_get_name(device));
    printf("rename none %s\n", name(ucs_topo_sys_device_set_name(99, "none", 1)));
    printf("unknown %s\n", ucs_topo_sys_device_get_name(UCS_SYS_DEVICE_ID_UNKNOWN));
    distance("to itself", device, device);
    distance("of what is unknown", UCS_SYS_DEVICE_ID_UNKNOWN, device);
    distance("of what isn't there", 77, device);
    ucs_topo_get_memory_distance(UCS_SYS_DEVICE_ID_UNKNOWN, &d);
    printf("to memory: %s\n", ucs_topo_distance_str(&d, text, sizeof text));
    printf("value: %d", ucs_topo_sys_device_get_user_value(device) == UINTPTR_MAX);
    printf(", with 5 %s", name(ucs_topo_find_device_by_bus_id_and_user_value(&made_up, 5, &same)));
    printf(", another: %d, %zu\n", same != device, (size_t)ucs_topo_sys_device_get_user_value(same));
    printf("node %s", name(ucs_topo_sys_device_set_numa_node(device, 0)));
    printf(" %d\n", ucs_topo_sys_device_get_numa_node(device));
    printf("reaches %d, what isn't there %d, unknown %d\n", ucs_topo_is_reachable(device, same), ucs_topo_is_reachable(device, 99),
           ucs_topo_is_reachable(UCS_SYS_DEVICE_ID_UNKNOWN, same));
    ucs_status_t path = ucs_topo_sys_device_set_sys_dev_aux(device, same), no_path = ucs_topo_sys_device_set_sys_dev_aux(99, same);
    ucs_status_t memory = ucs_topo_sys_device_enable_aux_path(same), no_memory = ucs_topo_sys_device_enable_aux_path(99);
    printf("a second path %s, of what isn't there %s", name(path), name(no_path));
    printf(", to memory %s, that isn't there %s\n", name(memory), name(no_memory));
    /* They have no bridge in common, so it leads nowhere. */
    printf("reaches %d, siblings %d %d %d\n", ucs_topo_is_reachable(device, same), ucs_topo_is_sibling(device, same),
           ucs_topo_is_sibling(99, same), ucs_topo_is_sibling(UCS_SYS_DEVICE_ID_UNKNOWN, UCS_SYS_DEVICE_ID_UNKNOWN));
    printf("has one %d %d\n", ucs_topo_device_has_sibling(device), ucs_topo_device_has_sibling(99));
    distance("by either path", device, same);
}

static ucs_status_t far(ucs_sys_device_t a, ucs_sys_device_t b, ucs_sys_dev_distance_t *distance)
{
    distance->latency   = 1e-6 * (a + 1);
    distance->bandwidth = 1 << 20;
    return (b == 1) ? UCS_ERR_NO_ELEM : UCS_OK;
}

static void far_memory(ucs_sys_device_t device, ucs_sys_dev_distance_t *distance)
{
    distance->latency   = 5e-6;
    distance->bandwidth = 2 << 20;
}

static void far_processors(ucs_sys_device_t device, const ucs_cpu_set_t *processors, ucs_sys_dev_distance_t *distance)
{
    distance->latency   = 7e-6;
    distance->bandwidth = 3 << 20;
}

/* The program's own functions for distances. */
static void own_distances(void)
{
    ucs_sys_topo_ops_t first = {far, far_memory, far_processors};
    ucs_sys_dev_distance_t d;
    char text[128];

    printf("push %s\n", name(ucs_sys_topo_provider_push(&first)));
    distance("own", 2, 0);
    distance("own", 0, 1);
    ucs_topo_get_memory_distance(0, &d);
    printf("to memory: %s\n", ucs_topo_distance_str(&d, text, sizeof text));
    ucs_topo_get_memory_distance_for_cpuset(0, NULL, &d);
    printf("from processors: %s\n", ucs_topo_distance_str(&d, text, sizeof text));
    ucs_sys_topo_provider_pop();
    distance("ours again", UCS_SYS_DEVICE_ID_UNKNOWN, 0);
}

static void small(void)
{
    cpu_set_t cpus;
    void *memory = ucs_malloc(100, "some");

    printf("memory: %d\n", memory != NULL);
    ucs_free(memory);
    printf("uuids differ: %d\n", ucs_generate_uuid(1) != ucs_generate_uuid(2));
    printf("affinity: %d, %d\n", ucs_sys_getaffinity(&cpus), CPU_COUNT(&cpus) > 0);
    printf("set: %d\n", ucs_sys_setaffinity(&cpus));
    ucs_empty_function();
    printf("empty functions: %s %s %s %s %s %u %s\n", name(ucs_empty_function_return_success()), name(ucs_empty_function_return_unsupported()),
           name(ucs_empty_function_return_inprogress()), name(ucs_empty_function_return_no_resource()),
           name(ucs_empty_function_return_invalid_param()), ucs_empty_function_return_one_int(), name(ucs_empty_function_return_busy()));
}

int main(void)
{
    setbuf(stdout, NULL);
    values();
    sockets();
    event_sets();
    topology();
    own_distances();
    small();
    printf("end\n");
    return 0;
}
