/* Hooks are installed, and handlers come and go, while other threads map, unmap and use the heap. */
#include "events.h"

#include <malloc.h>
#include <sys/wait.h>

#define THREADS 6

static volatile int stop;
static volatile unsigned long counted, bad;
static unsigned long done[THREADS];
static size_t page;

static void count(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    __sync_fetch_and_add(&counted, 1);
    if (*(volatile int*)arg != 0x600d) {
        __sync_fetch_and_add(&bad, 1);
    }
}

static void *work(void *arg)
{
    unsigned long *rounds = arg;
    unsigned seed         = (unsigned)(uintptr_t)arg;

    while (!stop) {
        size_t size = (1 + rand_r(&seed) % 16) * page;
        char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *q, *block;

        if (p == MAP_FAILED) {
            break;
        }
        p[0] = 1;
        q    = mremap(p, size, size + page, MREMAP_MAYMOVE);
        if (q == MAP_FAILED || q[0] != 1) {
            break;
        }
        madvise(q, size, MADV_DONTNEED);
        if (q[0] != 0 || munmap(q, size + page) != 0) {
            break;
        }
        block = malloc(rand_r(&seed) % (1 << 18));
        block = realloc(block, rand_r(&seed) % (1 << 20) + 1);
        if (block == NULL) {
            break;
        }
        block[0] = 1;
        free(block);
        if (seed % 64 == 0) {
            malloc_trim(0);
        }
        ++*rounds;
    }
    if (!stop) {
        __sync_fetch_and_add(&bad, 1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = (argc > 1) ? atoi(argv[1]) : 100, i, forked = 0;
    pthread_t threads[THREADS];
    ucs_status_t status = UCS_OK;
    unsigned long total = 0;

    page = sysconf(_SC_PAGESIZE);
    for (i = 0; i < THREADS; ++i) {
        pthread_create(&threads[i], NULL, work, &done[i]);
    }
    usleep(20000);
    for (i = 0; i < rounds && status == UCS_OK; ++i) {
        int *good = malloc(sizeof(*good));

        *good  = 0x600d;
        status = ucm_set_event_handler(RANGES | NATIVE, i % 3 - 1, count, good);
        usleep(500);
        ucm_unset_event_handler(RANGES | NATIVE, count, good);
        /* Whoever still calls the handler reads this. */
        *good = 0xbad;
        free(good);
        if (i % 20 == 0) {
            pid_t pid = fork();
            int result;

            if (pid == 0) {
                free(malloc(10 << 20));
                ucm_set_event_handler(RANGES, 0, count, &i);
                ucm_unset_event_handler(RANGES, count, &i);
                _exit(0);
            }
            waitpid(pid, &result, 0);
            forked += (result == 0);
        }
    }
    stop = 1;
    for (i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        total += done[i];
    }
    printf("set: %s\n", ucs_status_string(status));
    printf("children: %d\n", forked);
    printf("threads went on: %d\n", total > THREADS);
    printf("events came: %d\n", counted > 0);
    printf("wrong: %lu\n", bad);
    printf("end\n");
    return 0;
}
