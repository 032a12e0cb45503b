/* What the simulated driver promises, seen from programs: who holds memory, what fails when, that
 * the CPU can't touch it. Each part runs in processes of its own. */
#define _GNU_SOURCE
#include "driver.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDS(cond)                                                                 \
    do {                                                                            \
        if (!(cond)) {                                                              \
            printf("FAILED %s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
            fflush(stdout);                                                         \
            _exit(3);                                                               \
        }                                                                           \
    } while (0)

/* Only the simulated driver has these; elsewhere they are null. */
uint64_t cudasim_open(const char *kind) __attribute__((weak));
uint64_t cudasim_calls(const char *name) __attribute__((weak));
void cudasim_fail(const char *name, uint64_t nth, int code) __attribute__((weak));

enum { MB = 1 << 20, SIZE = 8 * MB };

/* Another process, or a stream of our own, sees it then. */
#define FILL(...)                          \
    do {                                   \
        CU(cuMemsetD8_v2(__VA_ARGS__));    \
        CU(cuCtxSynchronize());            \
    } while (0)

static int fd; /* to the other process */

static void give(const void *p, size_t n) { HOLDS(write(fd, p, n) == (ssize_t)n); }
static void take(void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = read(fd, (char *)p + at, n - at);
        HOLDS(k > 0);
        at += k;
    }
}
static void meet(void)
{
    char c = 0;
    give(&c, 1);
    take(&c, 1);
}

/* Forks: each side has the socket; 0 in the child. */
static pid_t two(void)
{
    int s[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    fflush(stdout);
    pid_t child = fork();
    fd = s[child == 0];
    close(s[child != 0]);
    return child;
}

static void ended(pid_t child)
{
    int status;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- one process ------------------------------------------------------------------------------ */

static sigjmp_buf back;
static void on_fault(int s)
{
    (void)s;
    siglongjmp(back, 1);
}

static int faults(volatile char *p)
{
    signal(SIGSEGV, on_fault);
    int yes = sigsetjmp(back, 1);
    if (!yes) *p = 1;
    signal(SIGSEGV, SIG_DFL);
    return yes;
}

static void alone_memory(void)
{
    use_device(0);
    size_t before = free_memory();
    CUdeviceptr a, b, m;
    CU(cuMemAlloc_v2(&a, SIZE));
    HOLDS(free_memory() == before - SIZE);
    HOLDS(faults((char *)a) && faults((char *)a + SIZE - 1));
    CU(cuMemAllocManaged(&m, SIZE, 1));
    HOLDS(!faults((char *)m));
    CU(cuMemFree_v2(m));
    HOLDS(faults((char *)m));
    char out[16] = "some contents...", in[16];
    CU(cuMemcpyHtoD_v2(a + SIZE - 16, out, 16));
    CU(cuMemcpyDtoH_v2(in, a + SIZE - 16, 16));
    HOLDS(!memcmp(in, out, 16));
    HOLDS(cuMemcpyHtoD_v2(a + SIZE - 15, out, 16) == 1);
    HOLDS(cuMemcpyHtoD_v2((CUdeviceptr)in, out, 16) == 1);
    HOLDS(cuMemFree_v2(a + 1) == 1);
    uint64_t id, id2;
    CU(cuPointerGetAttribute(&id, 7, a + 5));
    CU(cuMemFree_v2(a));
    HOLDS(cuMemFree_v2(a) == 1);
    HOLDS(cuMemcpyDtoH_v2(in, a, 1) == 1);
    HOLDS(cuPointerGetAttribute(&id2, 7, a) == 1);
    CU(cuMemAlloc_v2(&b, SIZE));
    CU(cuPointerGetAttribute(&id2, 7, b));
    HOLDS(a == b && id != id2);
    CU(cuMemFree_v2(b));
    HOLDS(free_memory() == before);
    size_t all = before;
    HOLDS(cuMemAlloc_v2(&a, all + MB) == 2);
}

static void alone_contexts(void)
{
    CUcontext c, d, now;
    CUdeviceptr a;
    CUstream s;
    CU(cuInit(0));
    HOLDS(cuMemAlloc_v2(&a, 1) == 201);
    CU(cuCtxCreate_v2(&c, 0, 0));
    CU(cuCtxGetCurrent(&now));
    HOLDS(now == c);
    size_t before = free_memory();
    CU(cuMemAlloc_v2(&a, SIZE));
    CU(cuStreamCreate(&s, 0));
    CU(cuDevicePrimaryCtxRetain(&d, 0));
    HOLDS(d != c);
    CU(cuCtxPushCurrent_v2(d));
    CUevent e;
    CU(cuEventCreate(&e, 2));
    HOLDS(cuEventRecord(e, s) == 400); /* another context's */
    CU(cuCtxDestroy_v2(c));
    HOLDS(cuStreamSynchronize(s) == 400);
    HOLDS(free_memory() == before);
    CU(cuDevicePrimaryCtxRelease_v2(0));
    HOLDS(cuDevicePrimaryCtxRelease_v2(0) == 201);
    HOLDS(cuMemAlloc_v2(&a, 1) == 709);
}

static void alone_streams(void)
{
    use_device(0);
    CUstream s, t;
    CUevent e;
    CU(cuStreamCreate(&s, 1));
    CU(cuStreamCreate(&t, 1));
    CU(cuEventCreate(&e, 2));
    CUdeviceptr a, b, c;
    CU(cuMemAlloc_v2(&a, SIZE));
    CU(cuMemAlloc_v2(&b, SIZE));
    CU(cuMemAlloc_v2(&c, SIZE));
    for (int i = 1; i < 20; i++) {
        /* In no order with the streams, unless somebody waits, or the context's flags make it wait. */
        if (i == 10) CU(cuCtxSetFlags(0x80));
        CU(cuMemsetD8_v2(a, i, SIZE));
        if (i < 10) CU(cuCtxSynchronize());
        CU(cuMemcpyDtoDAsync_v2(b, a, SIZE, s));
        CU(cuEventRecord(e, s));
        CU(cuStreamWaitEvent(t, e, 0));
        CU(cuMemcpyDtoDAsync_v2(c, b, SIZE, t));
        CU(cuStreamSynchronize(t));
        unsigned char last;
        CU(cuMemcpyDtoH_v2(&last, c + SIZE - 1, 1));
        HOLDS(last == i);
        CU(cuEventQuery(e));
    }
    void *f;
    int found;
    CU(cuGetProcAddress_v2("cuMemAlloc", &f, 12000, 0, &found));
    HOLDS(f == (void *)cuMemAlloc_v2 && found == 0);
    HOLDS(cuGetProcAddress_v2("cuNothing", &f, 12000, 0, &found) == 500 && found == 1);
}

static void alone_faults(void)
{
    use_device(0);
    CUdeviceptr a;
    cudasim_fail("cuMemAlloc_v2", 2, 2);
    CU(cuMemAlloc_v2(&a, 1));
    HOLDS(cuMemAlloc_v2(&a, 1) == 2);
    CU(cuMemAlloc_v2(&a, 1));
    HOLDS(cudasim_calls("cuMemAlloc_v2") == 3 && cudasim_open("device") == 2);
    /* A forked child has no driver, and holds nothing. */
    pid_t child = fork();
    if (!child) _exit(cuMemAlloc_v2(&a, 1) == 3 ? 0 : 1);
    ended(child);
}

/* ---- two processes ------------------------------------------------------------------------------ */

static void legacy_owner(void)
{
    CUtoken token;
    CUdeviceptr a;
    size_t before = free_memory();
    CU(cuMemAlloc_v2(&a, SIZE));
    FILL(a, 'x', SIZE);
    CU(cuIpcGetMemHandle(&token, a + 100));
    HOLDS(cuIpcOpenMemHandle_v2(&a, token, 1) == 201); /* our own */
    give(&token, sizeof token);
    meet(); /* opened */
    CU(cuMemFree_v2(a));
    HOLDS(free_memory() == before - SIZE);
    meet();
    meet(); /* closed */
    HOLDS(free_memory() == before);
}

static void legacy_reader(void)
{
    CUtoken token;
    CUdeviceptr a, b;
    char last;
    take(&token, sizeof token);
    CU(cuIpcOpenMemHandle_v2(&a, token, 1));
    CU(cuIpcOpenMemHandle_v2(&b, token, 1));
    HOLDS(a == b && cudasim_open("opened") == 1 && faults((char *)a));
    CU(cuMemcpyDtoH_v2(&last, a + SIZE - 1, 1));
    HOLDS(last == 'x');
    CU(cuIpcCloseMemHandle(a));
    meet();
    meet(); /* freed */
    CU(cuMemcpyDtoH_v2(&last, a, 1));
    HOLDS(last == 'x');
    CU(cuIpcCloseMemHandle(a));
    HOLDS(cuIpcCloseMemHandle(a) == 1);
    HOLDS(cuIpcOpenMemHandle_v2(&b, token, 1) == 400); /* freed by its owner */
    meet();
}

static void legacy(void)
{
    pid_t child = two();
    use_device(0);
    if (child) legacy_owner();
    else legacy_reader(), _exit(0);
    ended(child);
}

/* The reader is killed while it has the memory open. */
static void reader_killed(void)
{
    pid_t child = two();
    use_device(0);
    CUtoken token;
    CUdeviceptr a;
    if (!child) {
        take(&token, sizeof token);
        CU(cuIpcOpenMemHandle_v2(&a, token, 1));
        meet();
        for (;;) pause();
    }
    size_t before = free_memory();
    CU(cuMemAlloc_v2(&a, SIZE));
    CU(cuIpcGetMemHandle(&token, a));
    give(&token, sizeof token);
    meet();
    CU(cuMemFree_v2(a));
    HOLDS(free_memory() == before - SIZE);
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    HOLDS(free_memory() == before);
}

/* The owner is killed: the memory lives on with its reader. */
static void owner_killed(void)
{
    pid_t child = two();
    use_device(0);
    CUtoken token;
    CUdeviceptr a;
    if (!child) {
        meet();
        CU(cuMemAlloc_v2(&a, SIZE));
        FILL(a, 'y', SIZE);
        CU(cuIpcGetMemHandle(&token, a));
        give(&token, sizeof token);
        for (;;) pause();
    }
    size_t before = free_memory();
    meet();
    take(&token, sizeof token);
    CU(cuIpcOpenMemHandle_v2(&a, token, 1));
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    char c;
    CU(cuMemcpyDtoH_v2(&c, a, 1));
    HOLDS(c == 'y' && free_memory() == before - SIZE);
    CU(cuIpcCloseMemHandle(a));
    HOLDS(free_memory() == before);
}

static CUdeviceptr show(uint64_t handle)
{
    CUdeviceptr a;
    CUaccess access = {{1, 0}, 3};
    char c;
    CU(cuMemAddressReserve(&a, SIZE, 0, 0, 0));
    CU(cuMemMap(a, SIZE, 0, handle, 0));
    HOLDS(cuMemMap(a, SIZE, 0, handle, 0) == 208);
    HOLDS(cuMemcpyDtoH_v2(&c, a, 1) == 1);
    CU(cuMemSetAccess(a, SIZE, &access, 1));
    CU(cuMemRelease(handle));
    return a;
}

static void hide(CUdeviceptr a)
{
    HOLDS(cuMemAddressFree(a, SIZE) == 1);
    CU(cuMemUnmap(a, SIZE));
    HOLDS(cuMemUnmap(a, SIZE) == 1);
    CU(cuMemAddressFree(a, SIZE));
}

static void mapped(int type)
{
    pid_t child = two();
    use_device(0);
    CUtoken token;
    uint64_t handle;
    int shared = -1;
    if (!child) {
        pid_t owner;
        take(&owner, sizeof owner);
        take(&token, sizeof token);
        if (type == FILE_DESCRIPTOR) {
            /* The descriptor's number travels, and is taken out of the other process. */
            memcpy(&shared, &token, sizeof shared);
            int p = syscall(SYS_pidfd_open, owner, 0);
            shared = syscall(438 /* pidfd_getfd */, p, shared, 0);
            HOLDS(shared >= 0);
            CU(cuMemImportFromShareableHandle(&handle, (void *)(long)shared, type));
            close(shared);
            close(p);
        } else {
            CU(cuMemImportFromShareableHandle(&handle, &token, type));
        }
        CUdeviceptr a = show(handle);
        char c;
        CU(cuMemcpyDtoH_v2(&c, a, 1));
        HOLDS(c == 'z' && cudasim_open("mapped") == 1);
        meet();
        meet();
        hide(a);
        meet();
        _exit(0);
    }
    size_t before = free_memory();
    CUprop prop = {.type = 1, .handle_types = type, .location = {1, 0}};
    HOLDS(cuMemCreate(&handle, MB, &prop, 0) == 1);
    CU(cuMemCreate(&handle, SIZE, &prop, 0));
    memset(&token, 0, sizeof token);
    CU(cuMemExportToShareableHandle(&token, handle, type, 0));
    HOLDS(cuMemExportToShareableHandle(&token, handle, type ^ 9, 0) == 1);
    CUdeviceptr a = show(handle);
    FILL(a, 'z', SIZE);
    pid_t me = getpid();
    give(&me, sizeof me);
    give(&token, sizeof token);
    meet();
    hide(a);
    if (type == FILE_DESCRIPTOR) {
        memcpy(&shared, &token, sizeof shared);
        close(shared);
    }
    HOLDS(free_memory() == before - SIZE);
    meet();
    meet();
    HOLDS(free_memory() == before);
    ended(child);
}

static void descriptors(void) { mapped(FILE_DESCRIPTOR); }
static void fabric(void) { mapped(FABRIC); }

static void pools(void)
{
    pid_t child = two();
    use_device(0);
    CUtoken token, pointer;
    CUpool pool;
    CUdeviceptr a, b;
    if (!child) {
        take(&token, sizeof token);
        take(&pointer, sizeof pointer);
        CU(cuMemPoolImportFromShareableHandle(&pool, &token, FABRIC, 0));
        CU(cuMemPoolImportPointer(&a, pool, &pointer));
        char c;
        CU(cuMemcpyDtoH_v2(&c, a, 1));
        HOLDS(c == 'p');
        meet();
        meet();
        CU(cuMemFree_v2(a));
        CU(cuMemPoolDestroy(pool));
        meet();
        _exit(0);
    }
    size_t before = free_memory();
    CUpoolprops props = {.type = 1, .handle_types = FABRIC, .location = {1, 0}};
    CU(cuMemPoolCreate(&pool, &props));
    CU(cuMemAllocFromPoolAsync(&a, SIZE, pool, NULL));
    CU(cuMemAllocFromPoolAsync(&b, SIZE, pool, NULL));
    FILL(a, 'p', SIZE);
    CU(cuMemFreeAsync(b, NULL));
    CU(cuCtxSynchronize());
    HOLDS(free_memory() == before - SIZE);
    CU(cuMemPoolExportToShareableHandle(&token, pool, FABRIC, 0));
    CU(cuMemPoolExportPointer(&pointer, a));
    give(&token, sizeof token);
    give(&pointer, sizeof pointer);
    meet();
    CU(cuMemFreeAsync(a, NULL));
    CU(cuCtxSynchronize());
    HOLDS(free_memory() == before - SIZE);
    meet();
    meet();
    HOLDS(free_memory() == before);
    ended(child);
}

static int gate[2];
static void wait_at_gate(void *arg)
{
    char c;
    (void)arg;
    HOLDS(read(gate[0], &c, 1) == 1);
}

static void events(void)
{
    pid_t child = two();
    use_device(0);
    CUtoken token;
    CUevent e;
    if (!child) {
        take(&token, sizeof token);
        CU(cuIpcOpenEventHandle(&e, token));
        HOLDS(cuEventQuery(e) == 600);
        meet();
        CU(cuEventSynchronize(e));
        meet();
        _exit(0);
    }
    /* The stream stands still until the other process has looked. */
    CUdeviceptr a;
    CU(cuMemAlloc_v2(&a, SIZE));
    CU(cuEventCreate(&e, 6));
    CU(cuIpcGetEventHandle(&token, e));
    CUstream s;
    CU(cuStreamCreate(&s, 1));
    HOLDS(pipe(gate) == 0);
    CU(cuLaunchHostFunc(s, wait_at_gate, NULL));
    CU(cuMemcpyDtoDAsync_v2(a, a + MB, MB, s));
    CU(cuEventRecord(e, s));
    HOLDS(cuEventQuery(e) == 600 && cuStreamQuery(s) == 600);
    give(&token, sizeof token);
    meet();
    HOLDS(write(gate[1], "", 1) == 1);
    meet();
    CU(cuEventQuery(e));
    ended(child);
}

/* Devices 0 and 1 have no access to each other. */
static void strangers(void)
{
    pid_t child = two();
    use_device(child ? 0 : 1);
    CUtoken token;
    CUdeviceptr a;
    if (!child) {
        take(&token, sizeof token);
        HOLDS(cuIpcOpenMemHandle_v2(&a, token, 1) == 217);
        int yes = 1;
        CU(cuDeviceCanAccessPeer(&yes, 0, 1));
        HOLDS(!yes);
        meet();
        _exit(0);
    }
    CU(cuMemAlloc_v2(&a, SIZE));
    CU(cuIpcGetMemHandle(&token, a));
    give(&token, sizeof token);
    meet();
    ended(child);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"memory", alone_memory},   {"contexts", alone_contexts}, {"streams", alone_streams}, {"faults", alone_faults},
    {"legacy", legacy},         {"reader_killed", reader_killed}, {"owner_killed", owner_killed},
    {"descriptors", descriptors}, {"fabric", fabric},         {"pools", pools},           {"events", events},
    {"strangers", strangers},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && !strcmp(argv[1], parts[i].name)) {
            alarm(110);
            parts[i].run();
            printf("end\n");
            return 0;
        }
    return 2;
}
