/* Whether we are inside ucp_worker_progress: handlers that may only run from there can say so. For programs of one
 * thread; to be included first. */
#ifndef INSIDE_H
#define INSIDE_H
#include <ucp/api/ucp.h>

static int inside;

static unsigned progressed(ucp_worker_h w)
{
    inside++;
    unsigned events = ucp_worker_progress(w);
    inside--;
    return events;
}
#define ucp_worker_progress progressed
#endif
