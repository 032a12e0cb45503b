/* Client and server by the connection manager of TCP, in one process. */
#include "uct.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <uct/api/v2/uct_v2.h>

static uct_worker_h worker;
static uct_cm_h cm;
static uct_listener_h listener;
static uct_ep_h server_ep, client_ep;
static volatile int requests, connected, notified, client_ends, server_ends, resolved;
static volatile ucs_status_t last;
static uct_conn_request_h request;
static char heard[64];

static ssize_t pack_client(void *arg, const uct_cm_ep_priv_data_pack_args_t *args, void *data)
{
    HOLDS(arg == &client_ep && (args->field_mask & UCT_CM_EP_PRIV_DATA_PACK_ARGS_FIELD_DEVICE_NAME));
    HOLDS(!strcmp(args->dev_name, "lo"));
    memcpy(data, "from the client", 16);
    return 16;
}

static ssize_t pack_server(void *arg, const uct_cm_ep_priv_data_pack_args_t *args, void *data)
{
    HOLDS(arg == &server_ep);
    memcpy(data, "from the server", 16);
    return 16;
}

static void on_request(uct_listener_h l, void *arg, const uct_cm_listener_conn_request_args_t *args)
{
    HOLDS(arg == &listener && l == listener);
    HOLDS(args->field_mask & UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_CONN_REQUEST);
    HOLDS(args->field_mask & UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_REMOTE_DATA);
    HOLDS(args->field_mask & UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_CLIENT_ADDR);
    HOLDS(args->client_address.addr->sa_family == AF_INET);
    HOLDS(args->remote_data->conn_priv_data_length == 16);
    strcpy(heard, args->remote_data->conn_priv_data);
    request = args->conn_request;
    requests++;
}

static void on_connected(uct_ep_h ep, void *arg, const uct_cm_ep_client_connect_args_t *args)
{
    HOLDS(arg == &client_ep);
    last = args->status;
    if (last == UCS_OK) strcpy(heard, args->remote_data->conn_priv_data);
    connected++;
}

static void on_notified(uct_ep_h ep, void *arg, const uct_cm_ep_server_conn_notify_args_t *args)
{
    HOLDS(arg == &server_ep);
    last = args->status;
    notified++;
}

static void on_end(uct_ep_h ep, void *arg)
{
    if (arg == &client_ep) client_ends++;
    else server_ends++;
}

static ucs_status_t on_resolved(void *arg, const uct_cm_ep_resolve_args_t *args)
{
    HOLDS(args->field_mask & UCT_CM_EP_RESOLVE_ARGS_FIELD_STATUS);
    last = args->status;
    resolved++;
    return UCS_OK;
}

static uct_ep_h client(const struct sockaddr *to, socklen_t len, int resolve)
{
    ucs_sock_addr_t addr = {.addr = to, .addrlen = len};
    uct_ep_params_t params = {
        .field_mask = UCT_EP_PARAM_FIELD_CM | UCT_EP_PARAM_FIELD_SOCKADDR | UCT_EP_PARAM_FIELD_USER_DATA |
                      UCT_EP_PARAM_FIELD_SOCKADDR_CB_FLAGS | UCT_EP_PARAM_FIELD_SOCKADDR_CONNECT_CB_CLIENT |
                      UCT_EP_PARAM_FIELD_SOCKADDR_DISCONNECT_CB |
                      (resolve ? UCT_EP_PARAM_FIELD_CM_RESOLVE_CB : UCT_EP_PARAM_FIELD_SOCKADDR_PACK_CB),
        .cm = cm,
        .sockaddr = &addr,
        .user_data = &client_ep,
        .sockaddr_cb_flags = UCT_CB_FLAG_ASYNC,
        .sockaddr_pack_cb = pack_client,
        .sockaddr_cb_client = on_connected,
        .disconnect_cb = on_end,
        .cm_resolve_cb = on_resolved,
    };
    uct_ep_h ep;
    MUST(uct_ep_create(&params, &ep));
    return ep;
}

static void accept_it(void)
{
    uct_ep_params_t params = {
        .field_mask = UCT_EP_PARAM_FIELD_CM | UCT_EP_PARAM_FIELD_CONN_REQUEST | UCT_EP_PARAM_FIELD_USER_DATA |
                      UCT_EP_PARAM_FIELD_SOCKADDR_CB_FLAGS | UCT_EP_PARAM_FIELD_SOCKADDR_PACK_CB |
                      UCT_EP_PARAM_FIELD_SOCKADDR_NOTIFY_CB_SERVER | UCT_EP_PARAM_FIELD_SOCKADDR_DISCONNECT_CB,
        .cm = cm,
        .conn_request = request,
        .user_data = &server_ep,
        .sockaddr_cb_flags = UCT_CB_FLAG_ASYNC,
        .sockaddr_pack_cb = pack_server,
        .sockaddr_cb_server = on_notified,
        .disconnect_cb = on_end,
    };
    MUST(uct_ep_create(&params, &server_ep));
}

/* Both ends know both addresses. */
static void addresses(const struct sockaddr_in *listening)
{
    uct_ep_attr_t of_client = {.field_mask = UCT_EP_ATTR_FIELD_LOCAL_SOCKADDR | UCT_EP_ATTR_FIELD_REMOTE_SOCKADDR};
    uct_ep_attr_t of_server = of_client;
    MUST(uct_ep_query(client_ep, &of_client));
    MUST(uct_ep_query(server_ep, &of_server));
    struct sockaddr_in *mine = (void *)&of_client.local_address, *its = (void *)&of_client.remote_address;
    struct sockaddr_in *server = (void *)&of_server.local_address, *seen = (void *)&of_server.remote_address;
    HOLDS(its->sin_port == listening->sin_port && its->sin_addr.s_addr == listening->sin_addr.s_addr);
    HOLDS(server->sin_port == its->sin_port && server->sin_addr.s_addr == its->sin_addr.s_addr);
    HOLDS(seen->sin_port == mine->sin_port && seen->sin_addr.s_addr == mine->sin_addr.s_addr);
    printf("addresses: ok\n");
}

#define PROGRESS uct_worker_progress(worker)

int main(void)
{
    uct_component_h *components, tcp = NULL;
    unsigned count;
    uct_cm_config_t *config;
    uct_cm_attr_t attr = {.field_mask = UCT_CM_ATTR_FIELD_MAX_CONN_PRIV};
    uct_listener_attr_t where = {.field_mask = UCT_LISTENER_ATTR_FIELD_SOCKADDR};
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uct_listener_params_t params = {
        .field_mask = UCT_LISTENER_PARAM_FIELD_CONN_REQUEST_CB | UCT_LISTENER_PARAM_FIELD_USER_DATA,
        .conn_request_cb = on_request,
        .user_data = &listener,
    };

    MUST(uct_query_components(&components, &count));
    for (unsigned i = 0; i < count; i++) {
        uct_component_attr_t a = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_FLAGS};
        MUST(uct_component_query(components[i], &a));
        if (!strcmp(a.name, "tcp") && (a.flags & UCT_COMPONENT_FLAG_CM)) tcp = components[i];
    }
    uct_release_component_list(components);
    HOLDS(tcp);
    MUST(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
    MUST(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker));
    MUST(uct_cm_config_read(tcp, NULL, NULL, &config));
    MUST(uct_cm_open(tcp, worker, config, &cm));
    uct_config_release(config);
    MUST(uct_cm_query(cm, &attr));
    HOLDS(attr.max_conn_priv >= 64);
    MUST(uct_listener_create(cm, (struct sockaddr *)&addr, sizeof addr, &params, &listener));
    MUST(uct_listener_query(listener, &where));
    addr = *(struct sockaddr_in *)&where.sockaddr;
    HOLDS(addr.sin_port != 0);
    printf("listening\n");

    client_ep = client((struct sockaddr *)&addr, sizeof addr, 0);
    WAIT_FOR("request", requests == 1, PROGRESS);
    printf("server heard: %s\n", heard);
    accept_it();
    WAIT_FOR("answer", connected == 1, PROGRESS);
    printf("client heard: %s, %s\n", heard, name(last));
    MUST(uct_cm_client_ep_conn_notify(client_ep));
    WAIT_FOR("notification", notified == 1, PROGRESS);
    printf("server notified: %s\n", name(last));
    addresses(&addr);
    MUST(uct_ep_disconnect(client_ep, 0));
    WAIT_FOR("end at the server", server_ends == 1, PROGRESS);
    MUST(uct_ep_disconnect(server_ep, 0));
    WAIT_FOR("end at the client", client_ends == 1, PROGRESS);
    uct_ep_destroy(client_ep);
    uct_ep_destroy(server_ep);
    printf("disconnected: client told %d, server told %d\n", client_ends, server_ends);

    client_ep = client((struct sockaddr *)&addr, sizeof addr, 0);
    WAIT_FOR("request", requests == 2, PROGRESS);
    MUST(uct_listener_reject(listener, request));
    WAIT_FOR("refusal", connected == 2, PROGRESS);
    printf("refused: %s\n", name(last));
    uct_ep_destroy(client_ep);

    client_ep = client((struct sockaddr *)&addr, sizeof addr, 1);
    WAIT_FOR("resolution", resolved == 1, PROGRESS);
    printf("resolved: %s\n", name(last));
    uct_ep_connect_params_t more = {
        .field_mask = UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA | UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA_LENGTH,
        .private_data = "a second client",
        .private_data_length = 16,
    };
    MUST(uct_ep_connect(client_ep, &more));
    WAIT_FOR("request", requests == 3, PROGRESS);
    printf("server heard: %s\n", heard);
    accept_it();
    WAIT_FOR("answer", connected == 3, PROGRESS);
    /* An end without a word is seen by the other side. */
    uct_ep_destroy(server_ep);
    WAIT_FOR("end at the client", client_ends == 2, PROGRESS);
    printf("client told of the end\n");
    uct_ep_destroy(client_ep);

    uct_listener_destroy(listener);
    uct_cm_close(cm);
    uct_worker_destroy(worker);
    ucs_async_context_destroy(async);
    return finish();
}
