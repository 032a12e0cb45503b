/* Every kind of event: what is reported, by which arguments, and in which order. The output is the
 * same with genuine UCX. */
#include "events.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>

void *linked_map(size_t size);
int linked_unmap(void *at, size_t size);
void linked_release(void *block);
extern int (*linked_unmap_pointer)(void *at, size_t size);

static size_t page;

/* Prints what was recorded; addresses as distances to `base`. Events of other ranges than the 64
 * pages around it are the heap's own. */
static void show(const char *title, const void *base)
{
    unsigned i, count = num_seen;

    printf("%s:", title);
    for (i = 0; i < count; ++i) {
        ucm_event_t *e = &seen[i].event;
        long at = 0, size = 0, result = 0;
        char more[96] = "";

        switch ((unsigned)seen[i].type) {
        case UCM_EVENT_MMAP:
            at     = e->mmap.address ? (char*)e->mmap.address - (char*)base : 0;
            size   = e->mmap.size;
            result = (e->mmap.result == base) ? 1 : (e->mmap.result == MAP_FAILED) ? -1 : 2;
            snprintf(more, sizeof(more), " prot=%d flags=%#x fd=%d offset=%ld", e->mmap.prot, e->mmap.flags,
                     e->mmap.fd, (long)e->mmap.offset);
            break;
        case UCM_EVENT_MUNMAP:
            at     = (char*)e->munmap.address - (char*)base;
            size   = e->munmap.size;
            result = e->munmap.result;
            break;
        case UCM_EVENT_MREMAP:
            at     = (char*)e->mremap.address - (char*)base;
            size   = e->mremap.old_size;
            result = (e->mremap.result == MAP_FAILED) ? -1 : 1;
            snprintf(more, sizeof(more), " to %zu flags=%d", e->mremap.new_size, e->mremap.flags);
            break;
        case UCM_EVENT_SHMAT:
            at     = e->shmat.shmaddr ? (char*)e->shmat.shmaddr - (char*)base : 0;
            result = (e->shmat.result == base) ? 1 : (e->shmat.result == MAP_FAILED) ? -1 : 2;
            snprintf(more, sizeof(more), " flags=%#x", e->shmat.shmflg);
            break;
        case UCM_EVENT_SHMDT:
            at     = (char*)e->shmdt.shmaddr - (char*)base;
            result = e->shmdt.result;
            break;
        case UCM_EVENT_SBRK:
            size   = e->sbrk.increment;
            result = (e->sbrk.result == MAP_FAILED) ? -1 : (char*)e->sbrk.result - (char*)base;
            break;
        case UCM_EVENT_BRK:
            at     = (char*)e->brk.addr - (char*)base;
            result = e->brk.result;
            break;
        case UCM_EVENT_MADVISE:
            at     = (char*)e->madvise.addr - (char*)base;
            size   = e->madvise.length;
            result = e->madvise.result;
            snprintf(more, sizeof(more), " advice=%d", e->madvise.advice);
            break;
        default:
            at   = (char*)e->vm_mapped.address - (char*)base;
            size = e->vm_mapped.size;
        }
        if (at > 64 * (long)page || at < -64 * (long)page) {
            continue;
        }
        printf(" [%s %s at %ld size %ld%s -> %ld]", seen[i].who, name_of(seen[i].type), at, size, more, result);
    }
    printf("\n");
    num_seen = 0;
}

static void *map_at(void *at, size_t size, int flags)
{
    return mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void maps(void)
{
    char *p, *q;

    num_seen = 0;
    p = map_at(NULL, 4 * page, 0);
    show("mmap", p);
    map_at(p + page, page, MAP_FIXED);
    show("mmap over", p);
    munmap(p + 3 * page, page);
    show("munmap a part", p);
    errno = 0;
    printf("munmap of an odd address: %d", munmap(p + 1, page));
    printf(" %s\n", strerror(errno));
    show("which was", p);
    errno = 0;
    printf("mmap of nothing: %d", map_at(NULL, 0, 0) == MAP_FAILED);
    printf(" %s\n", strerror(errno));
    show("which was", NULL);
    q = mremap(p, 3 * page, 2 * page, 0);
    printf("shrunk in place: %d\n", q == p);
    show("mremap", p);
    q = mremap(p, 2 * page, 40 * page, MREMAP_MAYMOVE);
    printf("grown: %d\n", q != MAP_FAILED);
    printf("tells where to: %d\n", mapped(q, 40 * page));
    show("mremap may move", p);
    munmap(q, 40 * page);
    show("munmap", q);
}

static void segments(void)
{
    int id = shmget(IPC_PRIVATE, 3 * page - 100, IPC_CREAT | 0600);
    char *p, *q;

    num_seen = 0;
    p = shmat(id, NULL, 0);
    show("shmat", p);
    q = shmat(id, p, SHM_REMAP);
    printf("the same place: %d\n", p == q);
    show("shmat over", p);
    shmctl(id, IPC_RMID, NULL);
    shmdt(p);
    show("shmdt", p);
    errno = 0;
    printf("shmdt again: %d", shmdt(p));
    printf(" %s\n", strerror(errno));
    show("which was", p);
}

static void heap_end(void)
{
    char *end = sbrk(0), *p;

    num_seen = 0;
    p = sbrk(2 * page);
    printf("sbrk: %d\n", p == end);
    show("sbrk", end);
    printf("sbrk(0): %d\n", (char*)sbrk(0) == end + 2 * page);
    show("sbrk(0)", end);
    p = sbrk(-(long)page);
    printf("sbrk back: %d\n", p == end + 2 * page);
    show("sbrk back", end);
    printf("brk: %d\n", brk(end));
    show("brk", end);
    printf("brk up: %d\n", brk(end + page));
    show("brk up", end);
    printf("brk down: %d %d\n", brk(end), (char*)sbrk(0) == end);
    show("brk down", end);
}

static void advice(void)
{
    char *p = map_at(NULL, 4 * page, 0);

    p[0]     = 1;
    num_seen = 0;
    madvise(p, 2 * page, MADV_DONTNEED);
    printf("gone: %d\n", p[0] == 0);
    show("madvise dontneed", p);
    madvise(p, 2 * page, MADV_WILLNEED);
    show("madvise willneed", p);
    madvise(p, page, MADV_FREE);
    show("madvise free", p);
    munmap(p, 4 * page);
    show("munmap", p);
}

static void heap(void)
{
    size_t big = 64 << 20;
    char *p    = malloc(big);

    memset(p, 1, 1000);
    num_seen = 0;
    free(p);
    printf("free of a big block is reported: %d\n", unmapped(p, big));
    p = malloc(big);
    num_seen = 0;
    linked_release(p);
    printf("from another object: %d\n", unmapped(p, big));
    num_seen = 0;
}

static void objects(const char *later)
{
    void *(*map)(size_t);
    int (*unmap)(void *, size_t), (**pointer)(void *, size_t);
    void (*release)(void *);
    void *handle, *p;

    num_seen = 0;
    p = linked_map(page);
    show("mmap in an object linked", p);
    linked_unmap(p, page);
    show("munmap in an object linked", p);
    p = linked_map(page);
    num_seen = 0;
    linked_unmap_pointer(p, page);
    show("by a copied pointer", p);

    handle = dlopen(later, RTLD_NOW);
    if (handle == NULL) {
        printf("dlopen: %s\n", dlerror());
        return;
    }
    map     = (void *(*)(size_t))dlsym(handle, "loaded_map");
    unmap   = (int (*)(void *, size_t))dlsym(handle, "loaded_unmap");
    pointer = dlsym(handle, "loaded_unmap_pointer");
    release = (void (*)(void *))dlsym(handle, "loaded_release");
    num_seen = 0;
    p = map(page);
    show("mmap in an object loaded", p);
    unmap(p, page);
    show("munmap in an object loaded", p);
    p = map(page);
    num_seen = 0;
    (*pointer)(p, page);
    show("by its pointer", p);
    p = malloc(64 << 20);
    num_seen = 0;
    release(p);
    printf("free in an object loaded: %d\n", unmapped(p, 64 << 20));
    num_seen = 0;
}

static int in_child(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        char *p;

        watched  = syscall(SYS_gettid);
        p        = map_at(NULL, page, 0);
        num_seen = 0;
        munmap(p, page);
        if (!unmapped(p, page)) {
            _exit(1);
        }
        ucm_unset_event_handler(RANGES, record, "A");
        ucm_unset_event_handler(NATIVE, record, "A");
        num_seen = 0;
        munmap(map_at(NULL, page, 0), page);
        if (num_seen != 0) {
            _exit(2);
        }
        if (ucm_set_event_handler(RANGES, 3, record, "C") != UCS_OK) {
            _exit(3);
        }
        p        = map_at(NULL, page, 0);
        num_seen = 0;
        munmap(p, page);
        _exit(unmapped(p, page) ? 0 : 4);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Handlers that make the call themselves, or change it. */
static void pretend(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    if (event->munmap.address == arg) {
        event->munmap.result = 0;
    }
}

static void larger(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    if (event->mmap.size == 3 * page) {
        event->mmap.size = 5 * page;
    }
}

static void changes(void)
{
    char *p = map_at(NULL, page, 0);

    p[0] = 7;
    ucm_set_event_handler(UCM_EVENT_MUNMAP, -2, pretend, p);
    printf("munmap: %d, still there: %d\n", munmap(p, page), p[0] == 7);
    ucm_unset_event_handler(UCM_EVENT_MUNMAP, pretend, p);
    munmap(p, page);

    ucm_set_event_handler(UCM_EVENT_MMAP, -2, larger, NULL);
    p = map_at(NULL, 3 * page, 0);
    p[5 * page - 1] = 1;
    num_seen        = 0;
    ucm_unset_event_handler(UCM_EVENT_MMAP, larger, NULL);
    munmap(p, 5 * page);
    num_seen = 0;
}

static void order(void)
{
    char *p;

    ucm_set_event_handler(UCM_EVENT_MUNMAP, 7, record, "seven");
    ucm_set_event_handler(UCM_EVENT_MUNMAP, 0, record, "zero");
    ucm_set_event_handler(UCM_EVENT_MUNMAP, -7, record, "minus seven");
    ucm_set_event_handler(UCM_EVENT_MUNMAP, 7, record, "seven again");
    p        = map_at(NULL, page, 0);
    num_seen = 0;
    munmap(p, page);
    show("order", p);
    ucm_unset_event_handler(UCM_EVENT_MUNMAP, record, "seven");
    ucm_unset_event_handler(UCM_EVENT_MUNMAP, record, "seven again");
    ucm_unset_event_handler(UCM_EVENT_MUNMAP, record, "minus seven");
    ucm_unset_event_handler(UCM_EVENT_MUNMAP, record, "zero");
}

static void own_segments(void)
{
    int id = shmget(IPC_PRIVATE, page, IPC_CREAT | 0600);
    char *p, *q;

    p = ucm_shmat(id, NULL, 0);
    show("ucm_shmat", p);
    printf("ucm_shmdt: %d\n", ucm_shmdt(p));
    show("ucm_shmdt", p);
    p = ucm_orig_shmat(id, NULL, 0);
    p[0] = 1;
    printf("ucm_orig_shmdt: %d\n", ucm_orig_shmdt(p));
    show("which were", p);
    shmctl(id, IPC_RMID, NULL);
    p = ucm_orig_mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1;
    printf("ucm_orig_madvise: %d", ucm_orig_madvise(p, page, MADV_DONTNEED));
    printf(", gone: %d\n", p[0] == 0);
    q = ucm_orig_mremap(p, page, page, 0, NULL);
    printf("ucm_orig_mremap: %d\n", p == q);
    show("which were", p);
    ucm_orig_munmap(p, page);
}

static void own_heap_end(void)
{
    char *end = sbrk(0);

    num_seen = 0;
    printf("ucm_sbrk: %d\n", ucm_sbrk(page) == end);
    show("ucm_sbrk", end);
    printf("ucm_brk: %d\n", ucm_brk(end));
    show("ucm_brk", end);
    printf("ucm_orig_sbrk: %d\n", ucm_orig_sbrk(page) == end);
    printf("ucm_orig_brk: %d\n", ucm_orig_brk(end));
    show("which were", end);
    printf("back: %d\n", sbrk(0) == end);
    num_seen = 0;
}

static void own_calls(void)
{
    char *p, *q;

    num_seen = 0;
    p = ucm_mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    show("ucm_mmap", p);
    q = ucm_mremap(p, 2 * page, page, 0);
    printf("in place: %d\n", p == q);
    show("ucm_mremap", p);
    ucm_madvise(p, page, MADV_DONTNEED);
    show("ucm_madvise", p);
    ucm_munmap(p, page);
    show("ucm_munmap", p);
    ucm_vm_mmap(p, 123);
    ucm_vm_munmap(p, 456);
    show("ucm_vm", p);
    p = ucm_orig_mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1;
    ucm_orig_munmap(p, page);
    show("ucm_orig", p);
    printf("ucm_sbrk(0): %d\n", ucm_sbrk(0) == sbrk(0));
    num_seen = 0;
    own_segments();
    own_heap_end();
}

int main(int argc, char **argv)
{
    int hooks = (argc > 2) && (strcmp(argv[2], "none") == 0) ? 0 : 1;
    ucs_status_t status;

    watched = syscall(SYS_gettid);
    page    = sysconf(_SC_PAGESIZE);
    /* So that the blocks below are mappings of their own, and printf needs no memory later. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    setvbuf(stdout, NULL, _IOLBF, 4096);
    printf("begin\n");

    printf("tested before: %s\n", ucs_status_string(ucm_test_events(RANGES)));
    printf("unknown events: %s\n", ucs_status_string(ucm_set_event_handler(1 << 30, 0, record, "A")));
    status = ucm_set_event_handler(RANGES, 0, record, "A");
    printf("ranges: %s\n", ucs_status_string(status));
    status = ucm_set_event_handler(NATIVE & ~UCM_EVENT_SBRK, 0, record, "A");
    printf("calls: %s\n", ucs_status_string(status));
    /* Genuine UCX refuses to promise this one, and reports it all the same. */
    status = ucm_set_event_handler(UCM_EVENT_SBRK | UCM_EVENT_FLAG_NO_INSTALL, 0, record, "A");
    printf("sbrk: %s\n", ucs_status_string(status));
    if (!hooks) {
        status = ucm_set_event_handler(RANGES | UCM_EVENT_FLAG_NO_INSTALL, 0, record, "A");
        printf("without hooks: %s\n", ucs_status_string(status));
        num_seen = 0;
        munmap(map_at(NULL, page, 0), page);
        printf("events: %u\n", num_seen);
        own_calls();
        printf("tested: %s\n", ucs_status_string(ucm_test_events(RANGES)));
        ucm_set_external_event(UCM_EVENT_VM_UNMAPPED);
        printf("external: %s\n", ucs_status_string(ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, record, "B")));
        printf("nobody reports: %s\n", ucs_status_string(ucm_test_external_events(UCM_EVENT_VM_UNMAPPED)));
        printf("end\n");
        return 0;
    }
    printf("tested: %s\n", ucs_status_string(ucm_test_events(RANGES | NATIVE)));

    maps();
    segments();
    heap_end();
    advice();
    heap();
    objects(argv[1]);
    changes();
    order();
    own_calls();
    printf("in a child: %d\n", in_child());
    ucm_set_external_event(UCM_EVENT_VM_UNMAPPED);
    printf("external: %s\n", ucs_status_string(ucm_test_external_events(RANGES)));
    ucm_unset_external_event(UCM_EVENT_VM_UNMAPPED);

    ucm_unset_event_handler(NATIVE | RANGES, record, "A");
    num_seen = 0;
    munmap(map_at(NULL, page, 0), page);
    free(malloc(64 << 20));
    printf("events after all: %u\n", num_seen);
    printf("tested after all: %s\n", ucs_status_string(ucm_test_events(RANGES)));
    printf("end\n");
    return 0;
}
