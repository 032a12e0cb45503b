/* What the loader tests print about their own process; run.py reads it. */
#ifndef REPORT_H_
#define REPORT_H_

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* "bind NAME FILE": where a name of this handle leads. */
static void report_binding(void *handle, const char *name)
{
    void *address = dlsym(handle, name);
    Dl_info info;

    if ((address == NULL) || !dladdr(address, &info)) {
        printf("bind %s -\n", name);
    } else {
        printf("bind %s %s %p\n", name, info.dli_fname, address);
    }
}

/* "map FILE": each mapped file, once. */
static void report_maps(void)
{
    char line[4096], last[4096] = "", *path;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (fgets(line, sizeof(line), maps) != NULL) {
        path = strchr(line, '/');
        if ((path != NULL) && strcmp(path, last)) {
            strcpy(last, path);
            printf("map %s", path);
        }
    }
    fclose(maps);
}

static int count_entries(const char *path)
{
    DIR *dir  = opendir(path);
    int count = 0;
    struct dirent *entry;

    while ((entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

/* "threads N", "files N" */
static void report_resources(void)
{
    printf("threads %d\n", count_entries("/proc/self/task"));
    printf("files %d\n", count_entries("/proc/self/fd"));
}

static const char *const report_names[] = {"ucp_worker_progress", "uct_md_open",
                                           "ucs_status_string", "ucm_set_event_handler",
                                           "ucs_global_opts"};
#define REPORT_NAMES (sizeof(report_names) / sizeof(report_names[0]))

#endif
