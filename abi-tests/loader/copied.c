/*
 * An executable into which the linker copies our data objects (not position independent, built
 * with the headers of one version). Prints what it sees in them, and checks that a run of the
 * library doesn't write beyond the copies: between them lie other objects that the linker put
 * there too, such as stdout.
 */
#define _GNU_SOURCE
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>
#include <ucs/config/global_opts.h>
#include <ucs/config/parser.h>
#include <ucs/memory/memory_type.h>
#include <ucs/type/thread_mode.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if UCP_API_MAJOR != 1
#error "unexpected headers"
#endif

extern const char *uct_device_type_names[];

static void report_names(const char *what, const char **names, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        printf("name %s %u %s\n", what, i, (names[i] == NULL) ? "-" : names[i]);
    }
}

int main(void)
{
    FILE *out = stdout;
    char **env = environ;
    ucp_config_t *config = NULL;
    ucp_context_h context = NULL;
    ucp_params_t params;
    ucs_status_t read_status, init_status = UCS_ERR_LAST;

    printf("size ucs_global_opts %zu\n", sizeof(ucs_global_opts));
    printf("headers %d.%d\n", UCP_API_MAJOR, UCP_API_MINOR);
    report_names("memory", ucs_memory_type_names, 6);
    report_names("description", ucs_memory_type_descs, 5);
    report_names("device", uct_device_type_names, 4);
    printf("log_level %d\n", (int)ucs_global_opts.log_component.log_level);
    printf("list %s\n", (ucs_config_global_list.next != NULL) ? "initialised" : "empty");

    memset(&params, 0, sizeof(params));
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG;
    read_status       = ucp_config_read(NULL, NULL, &config);
    if (read_status == UCS_OK) {
        init_status = ucp_init(&params, config, &context);
        ucp_config_release(config);
    }
    if (init_status == UCS_OK) {
        ucp_cleanup(context);
    }
    printf("init %d %d\n", read_status, init_status);
    printf("canary %s\n", ((out == stdout) && (env == environ)) ? "intact" : "overwritten");
    return 0;
}
