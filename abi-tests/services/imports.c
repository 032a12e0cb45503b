/* What programs import of UCS beside what its installed headers declare: declared here as they know it. Prints
 * the same on any UCX. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ucs/async/async_fwd.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/memtrack.h>
#include <ucs/stats/stats_fwd.h>
#include <ucs/sys/stubs.h>
#include <ucs/type/status.h>

void ucs_fatal_error_format(const char *file, unsigned line, const char *function, const char *format, ...);
ucs_status_t ucs_async_context_init(ucs_async_context_t *async, ucs_async_mode_t mode);
void ucs_async_context_cleanup(ucs_async_context_t *async);
const char *ucs_sys_get_lib_path(void);
extern const char *ucs_stats_formats_names[];
void ucs_x86_init_tsc_freq(void);
extern int ucs_arch_x86_enable_rdtsc;

static const char *said(ucs_status_t status)
{
    return ucs_status_string(status);
}

/* How a program ends that calls this, and whether it says why. */
static void in_a_child(const char *what, void (*call)(void))
{
    int out[2], status;
    char text[8192] = "";
    size_t length   = 0;
    ssize_t n;
    pid_t child;

    if (pipe(out)) return;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        dup2(out[1], 2);
        call();
        _exit(7);
    }
    close(out[1]);
    while ((n = read(out[0], text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)n;
    }
    close(out[0]);
    waitpid(child, &status, 0);
    printf("%s: exit %d, signal %d, said %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0, strstr(text, "the reason is 42") != NULL);
}

static void fatal(void)
{
    ucs_fatal_error_format("imports.c", 1, "fatal", "the reason is %d", 42);
}

static void assertion(void)
{
    ucs_empty_function_do_assert();
}

static void on_pipe(int id, ucs_event_set_types_t events, void *arg)
{
    ++*(int*)arg;
}

/* A context in memory of the program's own. */
static void contexts(void)
{
    ucs_async_mode_t modes[] = {UCS_ASYNC_MODE_POLL, UCS_ASYNC_MODE_THREAD_SPINLOCK, UCS_ASYNC_MODE_THREAD_MUTEX};
    size_t at;

    for (at = 0; at < sizeof(modes) / sizeof(modes[0]); ++at) {
        /* 80 bytes in every version; what follows is not to be touched. */
        unsigned char memory[128];
        volatile int came = 0, guard = 1;
        int fd[2], turn;
        size_t k;

        memset(memory, 0xee, sizeof memory);
        printf("context %zu: %s", at, said(ucs_async_context_init((void*)memory, modes[at])));
        for (k = 80; k < sizeof memory; ++k) {
            guard &= memory[k] == 0xee;
        }
        if (pipe(fd)) return;
        printf(", handler %s", said(ucs_async_set_event_handler(modes[at], fd[0], 1, on_pipe, (void*)&came, (void*)memory)));
        turn = (int)write(fd[1], "x", 1);
        for (turn = 0; (turn < 5000) && !came && (modes[at] != UCS_ASYNC_MODE_POLL); ++turn) {
            usleep(1000);
        }
        printf(", removed %s", said(ucs_async_remove_handler(fd[0], 1)));
        printf(", called %d, within its bounds %d\n", came > 0, guard);
        close(fd[0]);
        close(fd[1]);
        ucs_async_context_cleanup((void*)memory);
    }
}

/* In a release build there are none. */
static void statistics(void)
{
    printf("statistics: root %p", (void*)ucs_stats_get_root());
    printf(", formats %s %s\n", ucs_stats_formats_names[0], ucs_stats_formats_names[1]);
}

static void memory(void)
{
    void *some = malloc(100);

    ucs_memtrack_allocated(some, 100, "some");
    ucs_memtrack_releasing(some);
    free(some);
    ucs_memtrack_allocated(NULL, 0, "nothing");
    ucs_memtrack_releasing(NULL);
    printf("memory is not tracked\n");
}

static void options(void)
{
    ucs_global_opts_t copy;
    char text[64];

    memset(&copy, 0xee, sizeof copy);
    printf("clone %s", said(ucs_global_opts_clone(&copy)));
    printf(", level %d, name %s, pattern %s\n", copy.log_component.log_level, copy.log_component.name, copy.log_component.file_filter);
    printf("value %s", said(ucs_global_opts_get_value("LOG_LEVEL", text, sizeof text)));
    printf(" %s\n", text);
    printf("set %s", said(ucs_global_opts_set_value("LOG_LEVEL", "error")));
    ucs_global_opts_get_value("LOG_LEVEL", text, sizeof text);
    printf(", level %d %s, of the copy %d\n", ucs_global_opts.log_component.log_level, text, copy.log_component.log_level);
    ucs_status_t loud = ucs_global_opts_set_value("LOG_LEVEL", "loud");
    printf("set to nonsense %s", said(loud));
    printf(", what isn't there %s %s\n", said(ucs_global_opts_set_value("NOTHING", "1")), said(ucs_global_opts_get_value("NOTHING", text, sizeof text)));
    printf("set back %s\n", said(ucs_global_opts_set_value("LOG_LEVEL", "warn")));
}

static void processor(void)
{
    struct stat found;
    const char *library = ucs_sys_get_lib_path();

    ucs_x86_init_tsc_freq();
    printf("by the processor's counter or not %d\n", (ucs_arch_x86_enable_rdtsc >= 0) && (ucs_arch_x86_enable_rdtsc <= 2));
    printf("the library is a file %d\n", (library != NULL) && (library[0] == '/') && !stat(library, &found) && S_ISREG(found.st_mode));
}

int main(void)
{
    contexts();
    statistics();
    memory();
    options();
    processor();
    in_a_child("what must not be called", assertion);
    in_a_child("what must not be called, void", ucs_empty_function_do_assert_void);
    in_a_child("fatal error", fatal);
    printf("end\n");
    return 0;
}
