/* Cases that could end their process: each runs in a child, which must end by itself with the right
 * status. A line per case. */
#ifndef CASES_H
#define CASES_H
#include "capi.h"
#include <signal.h>
#include <sys/wait.h>

/* Cases that went wrong. */
static int wrong;

/* Runs `f` in a child for at most a minute; it returns a status, which should be `want`. */
static void check(const char *what, ucs_status_t (*f)(void), ucs_status_t want)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        ucs_status_t s = f();
        fflush(NULL);
        _exit((uint8_t)(int8_t)s);
    }
    int st;
    HOLDS(waitpid(pid, &st, 0) == pid);
    if (WIFSIGNALED(st)) {
        printf("WRONG %s: ended by signal %d\n", what, WTERMSIG(st));
        wrong++;
        return;
    }
    ucs_status_t s = (ucs_status_t)(int8_t)WEXITSTATUS(st);
    wrong += s != want;
    printf("%s %s: %s\n", s == want ? "ok" : "WRONG", what, name(s));
}

/* Runs `f` with each number below `n` in a child, for at most `limit` seconds. A line for each that doesn't end by itself;
 * returns how many those are. */
static int each_apart(int n, unsigned limit, void (*f)(int))
{
    int lost = 0;
    for (int i = 0; i < n; i++) {
        int st;
        fflush(NULL);
        pid_t pid = fork();
        HOLDS(pid >= 0);
        if (pid == 0) {
            alarm(limit);
            f(i);
            fflush(stdout);
            _exit(0);
        }
        HOLDS(waitpid(pid, &st, 0) == pid);
        if (WIFEXITED(st)) continue;
        lost++;
        printf("case %d: %s\n", i, WTERMSIG(st) == SIGALRM ? "hangs" : "crashes");
    }
    return lost;
}
#endif
