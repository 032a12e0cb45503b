/* A heap that is not glibc's: whatever it gives back to the system is reported before it goes.
 *
 * For every block that is freed, either its pages are still there or their end has been reported. */
#include "events.h"

#include <dlfcn.h>

#define BLOCKS 200

static char *blocks[BLOCKS];
static size_t sizes[BLOCKS];
static unsigned char reported[BLOCKS];

static void note(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    uintptr_t from = (uintptr_t)event->vm_unmapped.address, to = from + event->vm_unmapped.size;
    int i;

    for (i = 0; i < BLOCKS; ++i) {
        uintptr_t at = (uintptr_t)blocks[i];
        if (at < to && from < at + sizes[i]) {
            reported[i] = 1;
        }
    }
}

/* Whether all pages of a block are mapped, and hold memory. */
static int present(int i)
{
    size_t page = sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)blocks[i] + page - 1) / page * page, to = ((uintptr_t)blocks[i] + sizes[i]) / page * page;
    unsigned char state[4096];
    size_t k;

    if (to <= from) {
        return 1;
    }
    if (mincore((void*)from, to - from, state) != 0) {
        return 0;
    }
    for (k = 0; k < (to - from) / page; ++k) {
        if (!(state[k] & 1)) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    unsigned round, lost = 0, gone = 0;
    Dl_info info;
    int i;

    dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info);
    printf("heap %s\n", info.dli_fname);
    if (ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, note, NULL) != UCS_OK) {
        printf("WRONG: no events\n");
        return 1;
    }
    for (round = 0; round < 20; ++round) {
        for (i = 0; i < BLOCKS; ++i) {
            sizes[i]  = (size_t)4096 << (i % 12);
            blocks[i] = malloc(sizes[i]);
            memset(blocks[i], 1, sizes[i]);
            if (!present(i)) {
                printf("WRONG: memory in use is not there\n");
            }
        }
        memset(reported, 0, sizeof(reported));
        for (i = 0; i < BLOCKS; ++i) {
            free(blocks[i]);
        }
        if (round % 4 == 3) {
            /* jemalloc gives back by and by; tcmalloc when it is asked. */
            void (*release)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
            if (release != NULL) {
                release();
            }
        }
        for (i = 0; i < BLOCKS; ++i) {
            int there = present(i);
            gone += !there;
            lost += !there && !reported[i];
        }
    }
    printf("%s\n", gone ? "memory was given back" : "nothing was given back");
    if (lost) {
        printf("WRONG: %u blocks went unseen\n", lost);
    }
    if (ucm_test_events(UCM_EVENT_VM_UNMAPPED) != UCS_OK) {
        printf("WRONG: events don't come any more\n");
    }
    printf("end\n");
    return 0;
}
