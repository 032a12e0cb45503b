/* An object that maps and unmaps: linked with the program, or loaded while it runs. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

void *PREFIX(map)(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int PREFIX(unmap)(void *at, size_t size)
{
    return munmap(at, size);
}

void PREFIX(release)(void *block)
{
    free(block);
}

/* A pointer in data, filled in by the loader. */
int (*PREFIX(unmap_pointer))(void *, size_t) = munmap;
