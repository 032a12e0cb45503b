/* A listener on the loopback interface. */
#ifndef LISTENER_H
#define LISTENER_H
#include "capi.h"
#include <arpa/inet.h>
#include <netinet/in.h>

/* Listens at a port that is free; `at` becomes the address for clients. */
static ucp_listener_h listen_here(struct side *server, struct sockaddr_in *at, ucp_listener_conn_callback_t on_request)
{
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t p = {.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                               .sockaddr = {(struct sockaddr *)at, sizeof *at}, .conn_handler = {on_request, NULL}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    ucp_listener_h listener;
    MUST(ucp_listener_create(server->w, &p, &listener));
    MUST(ucp_listener_query(listener, &attr));
    at->sin_port = ((struct sockaddr_in *)&attr.sockaddr)->sin_port;
    return listener;
}
#endif
