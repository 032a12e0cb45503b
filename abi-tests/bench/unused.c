/* What it costs a program to have the libraries loaded and not use them: starts ./self with an
 * argument again and again, and prints "value MILLISECONDS" of one start to the end. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    int count = (argc > 2) ? atoi(argv[2]) : 200, i, status;
    double best = 1e9;

    if (argc < 2) {
        return 0;
    }
    for (i = 0; i < count; ++i) {
        char *arguments[] = {argv[1], NULL};
        double start      = now_ms(), time;
        pid_t pid;

        if (posix_spawn(&pid, argv[1], NULL, NULL, arguments, environ) != 0) {
            return 1;
        }
        waitpid(pid, &status, 0);
        time = now_ms() - start;
        if (status != 0) {
            return 1;
        }
        if (time < best) {
            best = time;
        }
    }
    printf("value %.4f\n", best);
    return 0;
}
