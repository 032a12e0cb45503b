/* A module: tells that it was loaded. NAME and STATUS are given by the compiler's options. */
#include <stdlib.h>
#include <string.h>

static void tell(const char *text)
{
    char all[1024] = "";
    const char *before = getenv("MODULES_LOADED");

    if (before != NULL) {
        strncat(all, before, 900);
    }
    strcat(all, text);
    setenv("MODULES_LOADED", all, 1);
}

__attribute__((constructor)) static void loaded(void)
{
    tell(NAME " ");
}

#ifdef STATUS
signed char ucs_module_global_init(void)
{
    tell(NAME "-called ");
    return STATUS;
}
#endif
