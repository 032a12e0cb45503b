/* Asynchronous handlers of descriptors and timers; the output is the same with genuine UCX. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ucs/async/async_fwd.h>
#include <ucs/config/ini.h>
#include <ucs/config/types.h>
#include <ucs/sys/event_set.h>
#include <ucs/time/time_def.h>

double ucs_get_cpu_clocks_per_sec(void);

static volatile int calls, last_id, last_events, from_main;
static pthread_t main_thread;

static void count(int id, ucs_event_set_types_t events, void *arg)
{
    uint64_t value;

    last_id     = id;
    last_events = events;
    from_main   = pthread_equal(pthread_self(), main_thread);
    if (arg != NULL) {
        (void)!read(*(int*)arg, &value, sizeof(value));
    }
    ++calls;
}

static void remove_self(int id, ucs_event_set_types_t events, void *arg)
{
    *(int*)arg = ucs_async_remove_handler(id, 1);
    ++calls;
}

static int called(int wanted)
{
    int i;

    for (i = 0; i < 5000 && calls < wanted; ++i) {
        usleep(1000);
    }
    return calls >= wanted;
}

static void ring(int fd)
{
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof(one));
}

static const char *name(ucs_status_t status)
{
    return ucs_status_string(status);
}

static void in_mode(const char *title, ucs_async_mode_t mode)
{
    ucs_async_context_t *context;
    int fd = eventfd(0, EFD_NONBLOCK), timer = -1, removed = -100, ok;
    ucs_time_t interval = ucs_get_cpu_clocks_per_sec() * 2e-3;

    printf("%s: %s\n", title, name(ucs_async_context_create(mode, &context)));
    calls = 0;
    printf("set %s\n", name(ucs_async_set_event_handler(mode, fd, UCS_EVENT_SET_EVREAD, count, &fd, context)));
    printf("again %s\n", name(ucs_async_set_event_handler(mode, fd, UCS_EVENT_SET_EVREAD, count, &fd, context)));
    ring(fd);
    if (mode == UCS_ASYNC_MODE_POLL) {
        usleep(5000);
        printf("without a poll %d\n", calls);
        ucs_async_poll(context);
    }
    ok = called(1);
    printf("called %d by main %d events %d id %d\n", ok, from_main, last_events, last_id == fd);
    printf("modify %s\n", name(ucs_async_modify_handler(fd, 0)));
    calls = 0;
    ring(fd);
    usleep(5000);
    if (mode == UCS_ASYNC_MODE_POLL) {
        ucs_async_poll(context);
    }
    printf("no events %d\n", calls);
    printf("modify back %s\n", name(ucs_async_modify_handler(fd, UCS_EVENT_SET_EVREAD)));
    if (mode == UCS_ASYNC_MODE_POLL) {
        ucs_async_poll(context);
    }
    printf("called %d\n", called(1));
    printf("remove %s\n", name(ucs_async_remove_handler(fd, 1)));
    printf("remove again %s\n", name(ucs_async_remove_handler(fd, 1)));
    printf("modify none %s\n", name(ucs_async_modify_handler(fd, UCS_EVENT_SET_EVREAD)));

    calls = 0;
    printf("timer %s\n", name(ucs_async_add_timer(mode, interval, count, NULL, context, &timer)));
    if (mode == UCS_ASYNC_MODE_POLL) {
        ucs_async_poll(context);
        ucs_async_poll(NULL);
        printf("polled %d\n", calls);
    } else {
        printf("due %d\n", called(3));
    }
    printf("id in range %d, events %d\n", timer >= 1000000 && timer < 2000000, last_events);
    printf("remove timer %s\n", name(ucs_async_remove_handler(timer, 1)));
    calls = 0;
    printf("timer %s\n", name(ucs_async_add_timer(mode, interval, remove_self, &removed, context, &timer)));
    if (mode == UCS_ASYNC_MODE_POLL) {
        ucs_async_poll(context);
    }
    ok = called(1);
    printf("removes itself %d: %s\n", ok, name(removed));
    ucs_async_context_destroy(context);
    close(fd);
}

static int entry(void *user, const char *section, const char *key, const char *value)
{
    printf("[%s] %s = %s\n", section, key, value);
    return strcmp(value, "bad") != 0;
}

int main(int argc, char **argv)
{
    static const char text[] = "\xef\xbb\xbf" "first = 1\n[a b] ; comment\n# no\nx : y=z ; comment\n  more ; kept\nempty=\n"
                               "nothing\n[open\nx=bad\n;x=1\n[]\nv=a;b\n\tcontinued\n"
                               "a_name_of_more_than_fifty_characters_so_that_it_is_cut_somewhere = 1\n  and more\n"
                               "[a_section_of_more_than_fifty_characters_so_that_it_is_cut_somewhere]\nz=1";
    char longer[700];
    ucs_async_context_t *spin;
    FILE *file;
    int fd = eventfd(0, 0), timer;
    pid_t pid;
    int status;

    main_thread = pthread_self();
    in_mode("spin lock", UCS_ASYNC_MODE_THREAD_SPINLOCK);
    in_mode("mutex", UCS_ASYNC_MODE_THREAD_MUTEX);
    in_mode("poll", UCS_ASYNC_MODE_POLL);

    ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &spin);
    printf("other mode %s\n",
           name(ucs_async_set_event_handler(UCS_ASYNC_MODE_THREAD_MUTEX, fd, UCS_EVENT_SET_EVREAD, count, NULL, spin)));
    printf("large %s\n", name(ucs_async_set_event_handler(UCS_ASYNC_MODE_THREAD_SPINLOCK, 1000000, UCS_EVENT_SET_EVREAD,
                                                          count, NULL, spin)));
    printf("modify large %s\n", name(ucs_async_modify_handler(1000001, 1)));
    ucs_async_context_destroy(spin);

    calls = 0;
    printf("no context %s\n", name(ucs_async_add_timer(UCS_ASYNC_MODE_THREAD_MUTEX, ucs_get_cpu_clocks_per_sec() * 1e-3, count,
                                                       NULL, NULL, &timer)));
    printf("due %d\n", called(2));
    printf("remove %s\n", name(ucs_async_remove_handler(timer, 1)));

    printf("string %d\n", ini_parse_string(text, entry, NULL));
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, "k = ", 4);
    longer[sizeof(longer) - 1] = '\0';
    printf("long %d\n", ini_parse_string(longer, entry, NULL));
    printf("no file %d\n", ini_parse("/nonexistent", entry, NULL));
    file = tmpfile();
    fputs(text, file);
    rewind(file);
    printf("file %d\n", ini_parse_file(file, entry, NULL));
    fclose(file);

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        calls = 0;
        ucs_async_add_timer(UCS_ASYNC_MODE_THREAD_SPINLOCK, ucs_get_cpu_clocks_per_sec() * 1e-3, count, NULL, NULL, &timer);
        _exit(called(2) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    printf("in a child %d\nend\n", status);
    return 0;
}
