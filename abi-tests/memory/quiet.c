/* The libraries are loaded and not used: no thread, no signal handler, no changed code. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

const char *ucs_status_string(signed char status);

int main(int argc, char **argv)
{
    const unsigned char *code = (const unsigned char*)(void*)munmap;
    DIR *tasks                = opendir("/proc/self/task");
    int threads = 0, signals = 0, i;
    struct sigaction action;
    struct dirent *entry;

    while ((entry = readdir(tasks)) != NULL) {
        threads += (entry->d_name[0] != '.');
    }
    closedir(tasks);
    for (i = 1; i < 65; ++i) {
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
            ++signals;
        }
    }
    printf("threads %d signals %d changed code %d\n", threads, signals,
           (code[0] == 0xe9) || (code[0] == 0x48 && code[1] == 0xb8));
    printf("%s\n", ucs_status_string(0));
    return 0;
}
