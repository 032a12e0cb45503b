/* What Python programs and other heaps are watched by: counts ranges that go. */
#include "events.h"

static volatile unsigned long ranges, bytes;

static void count(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    __sync_fetch_and_add(&ranges, 1);
    __sync_fetch_and_add(&bytes, event->vm_unmapped.size);
}

int helper_start(void)
{
    return ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, count, NULL);
}

int helper_test(void)
{
    return ucm_test_events(UCM_EVENT_VM_UNMAPPED);
}

unsigned long helper_bytes(void)
{
    return bytes;
}

void helper_stop(void)
{
    ucm_unset_event_handler(UCM_EVENT_VM_UNMAPPED, count, NULL);
}
