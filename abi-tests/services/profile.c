/* A profile with two threads, three places and more scopes within each other than are kept apart.
 * usage: profile FILE MODE */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ucs/profile/profile_defs.h>

static ucs_profile_context_t *profile;

/* As in the macros, a place has a mark of its own. */
#define PASS(kind, name, p32, p64)                                                             \
    do {                                                                                       \
        static volatile ucs_profile_loc_id_t mark = UCS_PROFILE_LOC_ID_UNKNOWN;                \
        if (mark != UCS_PROFILE_LOC_ID_DISABLED)                                               \
            ucs_profile_record(profile, kind, name, p32, p64, "/x/y/file.c", 10 * kind, "work", (void *)&mark); \
        marked = mark;                                                                         \
    } while (0)

static int marked;

static void *work(void *arg)
{
    int i;

    for (i = 0; i < (long)arg; i++) {
        PASS(UCS_PROFILE_TYPE_SCOPE_BEGIN, "", 0, 0);
        PASS(UCS_PROFILE_TYPE_SAMPLE, "in between", i, 1ul << 40);
        PASS(UCS_PROFILE_TYPE_SCOPE_END, "a scope", 0, 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (ucs_profile_init(atoi(argv[2]), argv[1], 24 * 50, &profile) != UCS_OK) return 1;
    work((void *)10);
    printf("mark %d\n", marked);
    pthread_create(&thread, NULL, work, (void *)40);
    pthread_join(thread, NULL);
    PASS(UCS_PROFILE_TYPE_REQUEST_NEW, "request", 1, 0x1234);
    printf("mark %d\n", marked);
    ucs_profile_cleanup(profile);
    return 0;
}
