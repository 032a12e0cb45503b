/*
 * Bodies of the entry points that take a variable number of arguments, which stable Rust can call
 * but not define. Each does no more than C is needed for: it walks its own argument list, or makes
 * a va_list of it and hands that on to Rust.
 *
 * The names here carry a prefix and are hidden: the exported names are naked jumps in
 * variadic/mod.rs, since a cdylib exports only what Rust defines.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef int8_t status_t;
enum { OK = 0, ERR_NO_MEMORY = -4 };

/* Rust, by hidden names (see mod.rs). */
int ucx_rs_log_handler_count(void);
int ucx_rs_log_handler_call(int index, const char *file, unsigned line, const char *function,
                            int level, const void *component, const char *format, va_list ap);
void ucx_rs_fatal(const char *file, unsigned line, const char *function, const char *message);
void ucx_rs_set_thread_name(const char *name);
void ucx_rs_string_buffer_vappendf(void *strb, const char *format, va_list ap);
status_t ucx_rs_string_set_add(void *set, const char *text);
void *ucx_rs_mremap(void *address, size_t old_size, size_t new_size, int flags, void *new_address);
void ucx_rs_table_add_cell(void *table, unsigned row, unsigned span, int align, const char *text);
status_t ucx_rs_vfs_add_dir(void *parent, void *obj, const char *path);
status_t ucx_rs_vfs_add_file(void *obj, const void *callbacks, const char *path);
status_t ucx_rs_vfs_add_link(void *obj, void *target, const char *path);

/* Formats into new memory; NULL when there is none left or the format can't be served. */
static char *format_new(const char *format, va_list ap)
{
    char *text;

    return (vasprintf(&text, format, ap) < 0) ? NULL : text;
}

/* Handlers are called newest first, each with its own list, until one says stop (0). */
void ucx_rs_c_log_dispatch(const char *file, unsigned line, const char *function, int level,
                           const void *component, const char *format, ...)
{
    va_list ap;
    int i, go_on = 1;

    for (i = ucx_rs_log_handler_count() - 1; (i >= 0) && go_on; --i) {
        va_start(ap, format);
        go_on = ucx_rs_log_handler_call(i, file, line, function, level, component, format, ap);
        va_end(ap);
    }
}

void ucx_rs_c_log_fatal_error(const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = format_new(format, ap);
    va_end(ap);
    ucx_rs_fatal(NULL, 0, NULL, (text == NULL) ? format : text);
    free(text);
}

void ucx_rs_c_fatal_error_format(const char *file, unsigned line, const char *function,
                                 const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = format_new(format, ap);
    va_end(ap);
    ucx_rs_fatal(file, line, function, (text == NULL) ? format : text);
    abort();
}

void ucx_rs_c_log_set_thread_name(const char *format, ...)
{
    char name[32];
    va_list ap;

    va_start(ap, format);
    vsnprintf(name, sizeof(name), format, ap);
    va_end(ap);
    ucx_rs_set_thread_name(name);
}

/* Fills what the text leaves over with zeros. */
void ucx_rs_c_snprintf_zero(char *buf, size_t size, const char *format, ...)
{
    va_list ap;

    memset(buf, 0, size);
    va_start(ap, format);
    vsnprintf(buf, size, format, ap);
    va_end(ap);
}

void ucx_rs_c_snprintf_safe(char *buf, size_t size, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(buf, size, format, ap);
    va_end(ap);
}

/* Cuts the text at its first `count` delimiters; every further argument receives one token, or
 * NULL when there are fewer. Returns what comes after the last token. */
char *ucx_rs_c_string_split(char *text, const char *delimiters, int count, ...)
{
    char *rest = text, **token;
    va_list ap;

    va_start(ap, count);
    while (count-- > 0) {
        token  = va_arg(ap, char **);
        *token = rest;
        if (rest != NULL) {
            rest = strpbrk(rest, delimiters);
            if (rest != NULL) {
                *rest++ = '\0';
            }
        }
    }
    va_end(ap);
    return rest;
}

status_t ucx_rs_c_string_alloc_formatted_path(char **buffer_p, const char *name,
                                              const char *format, ...)
{
    char *buffer = malloc(PATH_MAX);
    va_list ap;

    (void)name;
    if (buffer == NULL) {
        return ERR_NO_MEMORY;
    }

    va_start(ap, format);
    vsnprintf(buffer, PATH_MAX, format, ap);
    va_end(ap);
    *buffer_p = buffer;
    return OK;
}

void ucx_rs_c_string_buffer_appendf(void *strb, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    ucx_rs_string_buffer_vappendf(strb, format, ap);
    va_end(ap);
}

status_t ucx_rs_c_string_set_addf(void *set, const char *format, ...)
{
    status_t status;
    va_list ap;
    char *text;

    va_start(ap, format);
    text = format_new(format, ap);
    va_end(ap);
    if (text == NULL) {
        return ERR_NO_MEMORY;
    }

    status = ucx_rs_string_set_add(set, text);
    free(text);
    return status;
}

void ucx_rs_c_table_row_add_cell_fmt(void *table, unsigned row, unsigned span, int align,
                                     const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = format_new(format, ap);
    va_end(ap);
    ucx_rs_table_add_cell(table, row, span, align, (text == NULL) ? "" : text);
    free(text);
}

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* As mremap(2): the new address is there only with these flags. */
void *ucx_rs_c_mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    void *new_address = NULL;
    va_list ap;

    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_start(ap, flags);
        new_address = va_arg(ap, void *);
        va_end(ap);
    }
    return ucx_rs_mremap(address, old_size, new_size, flags, new_address);
}

/* How a file of the tree of objects is read and written; as in Rust. */
typedef struct {
    void *read_cb, *write_cb, *arg_ptr;
    uint64_t arg_u64;
} vfs_file_t;

/* Calls `_add`, which uses `path`, with the path that a format and its arguments make. */
#define WITH_PATH(_format, _add) \
    do { \
        status_t status = ERR_NO_MEMORY; \
        va_list ap; \
        char *path; \
        va_start(ap, _format); \
        path = format_new(_format, ap); \
        va_end(ap); \
        if (path != NULL) { \
            status = _add; \
        } \
        free(path); \
        return status; \
    } while (0)

status_t ucx_rs_c_vfs_obj_add_dir(void *parent, void *obj, const char *format, ...)
{
    WITH_PATH(format, ucx_rs_vfs_add_dir(parent, obj, path));
}

status_t ucx_rs_c_vfs_obj_add_ro_file(void *obj, void *read_cb, void *arg_ptr, uint64_t arg_u64,
                                      const char *format, ...)
{
    vfs_file_t file = {read_cb, NULL, arg_ptr, arg_u64};

    WITH_PATH(format, ucx_rs_vfs_add_file(obj, &file, path));
}

status_t ucx_rs_c_vfs_obj_add_rw_file(void *obj, void *read_cb, void *write_cb, void *arg_ptr,
                                      uint64_t arg_u64, const char *format, ...)
{
    vfs_file_t file = {read_cb, write_cb, arg_ptr, arg_u64};

    WITH_PATH(format, ucx_rs_vfs_add_file(obj, &file, path));
}

status_t ucx_rs_c_vfs_obj_add_sym_link(void *obj, void *target, const char *format, ...)
{
    WITH_PATH(format, ucx_rs_vfs_add_link(obj, target, path));
}
