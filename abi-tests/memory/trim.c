/* What glibc's heap gives back: pages that go, by whatever call inside of libc, must have been told, also
 * where only relocations are changed. A line for each way of giving back. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ucm/api/ucm.h>

enum { BLOCKS = 2000, SIZE = 60000, MARK = 0x5a };
static char *watched;
static int told;

static void on_event(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    char *from = event->vm_unmapped.address;
    (void)arg;
    if (type == UCM_EVENT_VM_UNMAPPED && from <= watched && watched < from + event->vm_unmapped.size) told = 1;
}

/* Whether the byte that is watched can be read and is what was written. */
static int is_there(void)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends)) exit(2);
    int there = write(ends[1], watched, 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == MARK;
    close(ends[0]);
    close(ends[1]);
    return there;
}

static void look(const char *what)
{
    printf("%s: %s\n", what, is_there() || told ? "ok" : "WRONG: gone untold");
}

static void watch(char *at)
{
    watched = at;
    told = 0;
}

int main(void)
{
    static char *block[BLOCKS];
    if (ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 1000, on_event, NULL) != UCS_OK) return 1;
    for (int i = 0; i < BLOCKS; i++) memset(block[i] = malloc(SIZE), MARK, SIZE);
    /* In the middle of the heap, whole pages that its end doesn't reach. */
    watch(block[BLOCKS / 2] + SIZE / 2);
    for (int i = BLOCKS / 4; i < BLOCKS - 10; i++) free(block[i]);
    look("freed inside");
    malloc_trim(0);
    look("trimmed inside");
    for (int i = BLOCKS / 4; i < BLOCKS - 10; i++) memset(block[i] = malloc(SIZE), MARK, SIZE);
    watch(block[BLOCKS - 11] + SIZE / 2);
    for (int i = BLOCKS - 1; i >= 0; i--) free(block[i]);
    look("freed at the end");
    malloc_trim(0);
    look("trimmed at the end");
    printf("end\n");
    return 0;
}
