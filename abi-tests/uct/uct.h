/* What the programs here share: a transport found by its name, interfaces on it, progress. They
 * print what the API did, the same on every correct library; nothing that is free to differ, such
 * as limits and sizes of addresses. */
#ifndef UCT_TESTS_H
#define UCT_TESTS_H

#include "../capi/capi.h"

#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>

static ucs_async_context_t *async;

typedef struct {
    uct_component_h component;
    uct_md_h md;
    uct_md_attr_t md_attr;
} domain_t;

typedef struct {
    uct_worker_h worker;
    uct_iface_h iface;
    uct_iface_attr_t attr;
    void *dev_addr, *iface_addr;
} end_t;

/* The memory domain that has this transport on this device. */
static domain_t find(const char *tl, const char *dev)
{
    uct_component_h *components;
    unsigned count, n_tl;
    domain_t d = {0};

    MUST(uct_query_components(&components, &count));
    for (unsigned i = 0; i < count && !d.md; i++) {
        uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT};
        MUST(uct_component_query(components[i], &attr));
        uct_md_resource_desc_t names[attr.md_resource_count + 1];
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
        attr.md_resources = names;
        unsigned n = attr.md_resource_count;
        MUST(uct_component_query(components[i], &attr));
        for (unsigned j = 0; j < n && !d.md; j++) {
            uct_md_config_t *config;
            uct_tl_resource_desc_t *found;
            uct_md_h md;
            MUST(uct_md_config_read(components[i], NULL, NULL, &config));
            MUST(uct_md_open(components[i], names[j].md_name, config, &md));
            uct_config_release(config);
            MUST(uct_md_query_tl_resources(md, &found, &n_tl));
            for (unsigned k = 0; k < n_tl; k++)
                if (!strcmp(found[k].tl_name, tl) && !strcmp(found[k].dev_name, dev)) {
                    d.md = md;
                    d.component = components[i];
                }
            uct_release_tl_resource_list(found);
            if (!d.md) uct_md_close(md);
        }
    }
    uct_release_component_list(components);
    if (!d.md) DIE("no transport %s on %s", tl, dev);
    MUST(uct_md_query(d.md, &d.md_attr));
    return d;
}

static ucs_status_t on_error(void *arg, uct_ep_h ep, ucs_status_t status)
{
    (void)ep;
    printf("endpoint failed: %s\n", name(status));
    if (arg) ++*(int *)arg;
    return UCS_OK;
}

static int errors;

/* Bytes that interfaces are to keep free before each message. */
static size_t headroom;

static end_t open_iface(domain_t *d, const char *tl, const char *dev)
{
    uct_iface_params_t params = {
        .field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE | UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS |
                      UCT_IFACE_PARAM_FIELD_RX_HEADROOM,
        .rx_headroom = headroom,
        .open_mode = UCT_IFACE_OPEN_MODE_DEVICE,
        .mode.device = {.tl_name = tl, .dev_name = dev},
        .err_handler = on_error,
        .err_handler_arg = &errors,
    };
    uct_iface_config_t *config;
    end_t s = {0};

    MUST(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &s.worker));
    MUST(uct_md_iface_config_read(d->md, tl, NULL, NULL, &config));
    MUST(uct_iface_open(d->md, s.worker, &params, config, &s.iface));
    uct_config_release(config);
    MUST(uct_iface_query(s.iface, &s.attr));
    uct_iface_progress_enable(s.iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    s.dev_addr = calloc(1, s.attr.device_addr_len + 1);
    s.iface_addr = calloc(1, s.attr.iface_addr_len + 1);
    MUST(uct_iface_get_device_address(s.iface, s.dev_addr));
    MUST(uct_iface_get_address(s.iface, s.iface_addr));
    return s;
}

static void close_iface(end_t *s)
{
    uct_iface_close(s->iface);
    uct_worker_destroy(s->worker);
    free(s->dev_addr);
    free(s->iface_addr);
}

static uct_ep_h endpoint_to(end_t *from, end_t *to)
{
    uct_ep_params_t params = {
        .field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR,
        .iface = from->iface,
        .dev_addr = to->dev_addr,
        .iface_addr = to->iface_addr,
    };
    uct_ep_h ep;

    HOLDS(uct_iface_is_reachable(from->iface, to->dev_addr, to->iface_addr));
    MUST(uct_ep_create(&params, &ep));
    return ep;
}

#define WAIT_FOR(what, cond, ...)                                       \
    do {                                                             \
        double end_ = now() + 20;                                    \
        while (!(cond)) {                                            \
            __VA_ARGS__;                                             \
            if (now() > end_) DIE("%s does not come about", what);   \
        }                                                            \
    } while (0)

#endif
