/* Asks for the modules of a framework, twice, and prints what was loaded: modules tell by a variable
 * of the environment. */
#include <ucs/type/init_once.h>
#include <stdio.h>
#include <stdlib.h>

void ucs_load_modules(const char *framework, const char *modules, ucs_init_once_t *once, unsigned flags);

int main(int argc, char **argv)
{
    ucs_init_once_t once = UCS_INIT_ONCE_INITIALIZER;
    const char *told;

    ucs_load_modules(argv[1], ":one:missing", &once, 2);
    ucs_load_modules(argv[1], ":one:missing", &once, 2);
    told = getenv("MODULES_LOADED");
    printf("%s initialized %d\n", told ? told : "none", once.initialized);
    return 0;
}
