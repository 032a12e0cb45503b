/*
 * Calls every entry point with a variable number of arguments, and prints what they did: run on
 * ours and on genuine UCX, the output must be the same.
 */
#define _GNU_SOURCE
#include <ucs/config/types.h>
#include <ucs/datastruct/string_buffer.h>
#include <ucs/datastruct/string_set.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/string.h>
#include <ucm/api/ucm.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int calls;

static ucs_log_func_rc_t handler(const char *file, unsigned line, const char *function,
                                 ucs_log_level_t level, const ucs_log_component_config_t *comp_conf,
                                 const char *message, va_list ap)
{
    char text[256];

    vsnprintf(text, sizeof(text), message, ap);
    printf("handler %d: %s:%u %s %d %s: %s\n", ++calls, file, line, function, (int)level,
           comp_conf->name, text);
    return (level == UCS_LOG_LEVEL_WARN) ? UCS_LOG_FUNC_RC_CONTINUE : UCS_LOG_FUNC_RC_STOP;
}

int main(void)
{
    ucs_log_component_config_t component = {UCS_LOG_LEVEL_WARN, "TEST", ""};
    char small[8], padded[16], text[] = "one,two;three", *one, *two, *three, *four, *rest, *path;
    ucs_string_buffer_t strb;
    ucs_string_set_t set;
    unsigned handlers;
    void *memory, *moved;
    size_t i;

    ucs_snprintf_safe(small, sizeof(small), "%s-%d-%.2f", "abc", 12345, 1.5);
    printf("snprintf_safe '%s'\n", small);
    memset(padded, 'x', sizeof(padded));
    ucs_snprintf_zero(padded, sizeof(padded), "%c%lld", 'n', 1234567890123ll);
    for (i = strlen(padded); (i < sizeof(padded)) && (padded[i] == 0); ++i) {
    }
    printf("snprintf_zero '%s' zeroed to %zu\n", padded, i);

    rest = ucs_string_split(text, ",;", 2, &one, &two);
    printf("split %s %s %s\n", one, two, rest);
    rest = ucs_string_split(rest, ",;", 2, &three, &four);
    printf("split %s %s %s\n", three, four ? four : "-", rest ? rest : "-");

    printf("path %d\n", ucs_string_alloc_formatted_path(&path, "path", "/%s/%d/%g", "a", 7, 0.25));
    printf("path '%s'\n", path);
    free(path);

    ucs_string_buffer_init(&strb);
    for (i = 0; i < 100; ++i) {
        ucs_string_buffer_appendf(&strb, "%zu:%.1f:%s,", i, i / 2.0, (i & 1) ? "odd" : "even");
    }
    printf("buffer %zu %.40s\n", ucs_string_buffer_length(&strb), ucs_string_buffer_cstr(&strb));
    ucs_string_buffer_cleanup(&strb);

    ucs_string_set_init(&set);
    printf("set %d\n", ucs_string_set_addf(&set, "%s%d", "item", 5));
    printf("set %d %d\n", ucs_string_set_contains(&set, "item5"),
           ucs_string_set_contains(&set, "item6"));
    ucs_string_set_cleanup(&set);

    ucs_log_set_thread_name("thread-%d", 3);
    handlers = ucs_log_num_handlers();
    ucs_log_push_handler(handler);
    ucs_log_push_handler(handler);
    printf("handlers %u\n", ucs_log_num_handlers() - handlers);
    ucs_log_dispatch("dir/file.c", 17, "func", UCS_LOG_LEVEL_ERROR, &component, "%d %.1f %s", 1, 2.5,
                     "three");
    ucs_log_pop_handler();
    ucs_log_pop_handler();
    printf("handlers %u\n", ucs_log_num_handlers() - handlers);

    memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(memory, "kept");
    moved = ucm_mremap(memory, 1 << 16, 1 << 20, MREMAP_MAYMOVE);
    printf("mremap %s\n", (moved != MAP_FAILED) ? (char*)moved : "failed");
    memory = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved  = ucm_mremap(moved, 1 << 20, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, memory);
    printf("mremap %s %d\n", (moved != MAP_FAILED) ? (char*)moved : "failed", moved == memory);
    return 0;
}
