/*
 * Uses one function of each layer that is switched on (-DUCP, -DUCT, -DUCS, -DUCM), and says where
 * they lead. Declares them itself, so that it can be built with any version's libraries.
 */
#include "report.h"

extern unsigned ucp_worker_progress(void *worker);
extern signed char uct_md_open(void *component, const char *name, const void *config, void **md_p);
extern const char *ucs_status_string(signed char status);
extern signed char ucm_set_event_handler(int events, int priority, void *cb, void *arg);

static void report_address(const char *name, void *address)
{
    Dl_info info;

    if (!dladdr(address, &info)) {
        info.dli_fname = "-";
    }
    printf("bind %s %s %p\n", name, info.dli_fname, address);
}

int main(void)
{
#ifdef UCP
    report_address("ucp_worker_progress", ucp_worker_progress);
#endif
#ifdef UCT
    report_address("uct_md_open", uct_md_open);
#endif
#ifdef UCS
    report_address("ucs_status_string", ucs_status_string);
#endif
#ifdef UCM
    report_address("ucm_set_event_handler", ucm_set_event_handler);
#endif
    report_resources();
    report_maps();
    return 0;
}
