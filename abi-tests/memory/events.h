/* Recording of memory events, without an allocation. Used by the programs of this folder. */
#ifndef EVENTS_H
#define EVENTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ucm/api/ucm.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NATIVE (UCM_EVENT_MMAP | UCM_EVENT_MUNMAP | UCM_EVENT_MREMAP | UCM_EVENT_SHMAT | UCM_EVENT_SHMDT | \
                UCM_EVENT_SBRK | UCM_EVENT_BRK | UCM_EVENT_MADVISE)
#define RANGES (UCM_EVENT_VM_MAPPED | UCM_EVENT_VM_UNMAPPED)

struct seen {
    const char *who;
    ucm_event_type_t type;
    ucm_event_t event;
};

static struct seen seen[4096];
static volatile unsigned num_seen;
static pid_t watched; /* thread whose events are recorded */

static void record(ucm_event_type_t type, ucm_event_t *event, void *who)
{
    if ((pid_t)syscall(SYS_gettid) == watched && num_seen < sizeof(seen) / sizeof(seen[0])) {
        seen[num_seen].who     = who;
        seen[num_seen].type    = type;
        seen[num_seen].event   = *event;
        num_seen++;
    }
}

static const char *name_of(ucm_event_type_t type)
{
    switch ((unsigned)type) {
    case UCM_EVENT_MMAP: return "mmap";
    case UCM_EVENT_MUNMAP: return "munmap";
    case UCM_EVENT_MREMAP: return "mremap";
    case UCM_EVENT_SHMAT: return "shmat";
    case UCM_EVENT_SHMDT: return "shmdt";
    case UCM_EVENT_SBRK: return "sbrk";
    case UCM_EVENT_BRK: return "brk";
    case UCM_EVENT_MADVISE: return "madvise";
    case UCM_EVENT_VM_MAPPED: return "VM_MAPPED";
    case UCM_EVENT_VM_UNMAPPED: return "VM_UNMAPPED";
    default: return "?";
    }
}

/* Whether one of the recorded ranges of unmapped memory holds these bytes. */
static int unmapped(const void *start, size_t size)
{
    unsigned i;

    for (i = 0; i < num_seen; ++i) {
        uintptr_t from = (uintptr_t)seen[i].event.vm_unmapped.address;
        if (seen[i].type == UCM_EVENT_VM_UNMAPPED && from <= (uintptr_t)start &&
            from + seen[i].event.vm_unmapped.size >= (uintptr_t)start + size) {
            return 1;
        }
    }
    return 0;
}

/* Likewise for memory that was mapped. */
static int mapped(const void *start, size_t size)
{
    unsigned i;

    for (i = 0; i < num_seen; ++i) {
        uintptr_t from = (uintptr_t)seen[i].event.vm_mapped.address;
        if (seen[i].type == UCM_EVENT_VM_MAPPED && from <= (uintptr_t)start &&
            from + seen[i].event.vm_mapped.size >= (uintptr_t)start + size) {
            return 1;
        }
    }
    return 0;
}

#endif
