/* Memory of this process that is in use. */
#ifndef RESIDENT_H
#define RESIDENT_H
#include <stdio.h>

static long resident_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
    if (f) fclose(f);
    return kb;
}
#endif
