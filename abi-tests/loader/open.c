/*
 * open [-d] [-g] [-r ROUNDS] NAME...
 *
 * Opens the libraries in this order, with RTLD_LOCAL (or -d: RTLD_DEEPBIND too; -g: RTLD_GLOBAL
 * instead), and says where the names of every handle lead. With -r opens and closes them so often.
 */
#include "report.h"

#include <stdlib.h>
#include <unistd.h>

static void *open_or_exit(const char *name, int flags)
{
    void *handle = dlopen(name, flags);

    if (handle == NULL) {
        printf("error %s\n", dlerror());
        exit(1);
    }
    return handle;
}

int main(int argc, char **argv)
{
    int flags = RTLD_NOW | RTLD_LOCAL, rounds = 0, option, i, round;
    void *handle;
    size_t n;

    while ((option = getopt(argc, argv, "dgr:")) != -1) {
        switch (option) {
        case 'd':
            flags |= RTLD_DEEPBIND;
            break;
        case 'g':
            flags = RTLD_NOW | RTLD_GLOBAL;
            break;
        case 'r':
            rounds = atoi(optarg);
            break;
        default:
            return 2;
        }
    }

    for (round = 0; round < rounds; ++round) {
        for (i = optind; i < argc; ++i) {
            dlclose(open_or_exit(argv[i], flags));
        }
    }

    report_resources();
    for (i = optind; i < argc; ++i) {
        handle = open_or_exit(argv[i], flags);
        for (n = 0; n < REPORT_NAMES; ++n) {
            report_binding(handle, report_names[n]);
        }
    }
    report_resources();
    report_maps();
    return 0;
}
