/* The tree of a program's objects (ucs_vfs_*): every call, what it shows and what it refuses. Run on
 * ours and on genuine UCX, whose output is the same. */
#include <ucs/datastruct/string_buffer.h>
#include <ucs/type/status.h>
#include <ucs/vfs/base/vfs_cb.h>
#include <ucs/vfs/base/vfs_obj.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char objects[64];
static int filled;
static char stored[32] = "empty";

static const char *said(ucs_status_t status)
{
    return ucs_status_string(status);
}

static void show_text(void *obj, ucs_string_buffer_t *strb, void *arg, uint64_t number)
{
    ucs_string_buffer_appendf(strb, "object %d, %s, %lu\n", (int)((char*)obj - objects), (char*)arg,
                              (unsigned long)number);
}

static void show_root(void *obj, ucs_string_buffer_t *strb, void *arg, uint64_t number)
{
    (void)arg;
    ucs_string_buffer_appendf(strb, "%s %lu", (obj == NULL) ? "no object" : "an object",
                              (unsigned long)number);
}

static ucs_status_t store(void *obj, const char *buffer, size_t size, void *arg, uint64_t number)
{
    (void)obj;
    if ((size >= sizeof(stored)) || (number != 5)) {
        return UCS_ERR_INVALID_PARAM;
    }
    memcpy(arg, buffer, size);
    ((char*)arg)[size] = '\0';
    return UCS_OK;
}

/* Adds something while the folder is read, as UCX's own objects do. */
static void fill(void *obj)
{
    ++filled;
    printf("filled %d: %s\n", filled,
           said(ucs_vfs_obj_add_ro_file(obj, show_text, "added late", filled, "late/%d", filled)));
}

static void name(const char *text, void *arg)
{
    if ((arg == NULL) || !strncmp(text, "mine", 4)) {
        printf(" %s", text);
    }
}

static void list(const char *path, void *only_mine)
{
    ucs_status_t status;

    printf("%s:", path);
    status = ucs_vfs_path_list_dir(path, name, only_mine);
    printf(" (%s)\n", said(status));
}

static void look(const char *path)
{
    ucs_vfs_path_info_t info = {77, 77};
    ucs_status_t status      = ucs_vfs_path_get_info(path, &info);
    ucs_string_buffer_t strb;

    ucs_string_buffer_init(&strb);
    printf("%s: %s, size %zu, mode %o", path, said(status), info.size, info.mode);
    status = ucs_vfs_path_read_file(path, &strb);
    printf(", read %s '%s'", said(status), ucs_string_buffer_cstr(&strb));
    ucs_string_buffer_reset(&strb);
    status = ucs_vfs_path_get_link(path, &strb);
    printf(", link %s '%s'\n", said(status), ucs_string_buffer_cstr(&strb));
    ucs_string_buffer_cleanup(&strb);
}

static void show(const char *what, ucs_vfs_file_read_cb_t read, void *value, uint64_t type)
{
    ucs_string_buffer_t strb;

    ucs_string_buffer_init(&strb);
    read((void*)0x1234, &strb, value, type);
    printf("%s: %s", what, ucs_string_buffer_cstr(&strb));
    ucs_string_buffer_cleanup(&strb);
}

static void values(void)
{
    int8_t i8       = -5;
    int16_t i16     = -300;
    int32_t i32     = -70000;
    long l          = -5000000000;
    void *p         = (void*)0xabc;
    size_t sizes[]  = {0, 1, 1023, 1024, 65536, 1 << 20, 3ul << 30, SIZE_MAX, SIZE_MAX - 1};
    unsigned long u = 12;
    size_t at;

    show("address", ucs_vfs_show_memory_address, NULL, 0);
    show("pointer", ucs_vfs_show_primitive, &p, UCS_VFS_TYPE_POINTER);
    show("text", ucs_vfs_show_primitive, "some text", UCS_VFS_TYPE_STRING);
    show("i8", ucs_vfs_show_primitive, &i8, UCS_VFS_TYPE_I8);
    show("u8", ucs_vfs_show_primitive, &i8, UCS_VFS_TYPE_U8);
    show("i16", ucs_vfs_show_primitive, &i16, UCS_VFS_TYPE_I16);
    show("u16", ucs_vfs_show_primitive, &i16, UCS_VFS_TYPE_U16);
    show("i32", ucs_vfs_show_primitive, &i32, UCS_VFS_TYPE_I32);
    show("u32", ucs_vfs_show_primitive, &i32, UCS_VFS_TYPE_U32);
    show("u32 hex", ucs_vfs_show_primitive, &i32, UCS_VFS_TYPE_U32_HEX);
    show("long", ucs_vfs_show_primitive, &l, UCS_VFS_TYPE_LONG);
    show("ulong", ucs_vfs_show_primitive, &l, UCS_VFS_TYPE_ULONG);
    show("units", ucs_vfs_show_ulunits, &u, 0);
    for (at = 0; at < sizeof(sizes) / sizeof(sizes[0]); ++at) {
        show("memory", ucs_vfs_show_memunits, &sizes[at], 0);
        show("units", ucs_vfs_show_ulunits, &sizes[at], 0);
    }
}

static void build(void)
{
    void *a = &objects[1], *b = &objects[2], *c = &objects[3];

    printf("a %s\n", said(ucs_vfs_obj_add_dir(NULL, a, "mine/%s/%d", "a", 7)));
    printf("b in a %s\n", said(ucs_vfs_obj_add_dir(a, b, "b")));
    printf("c in b %s\n", said(ucs_vfs_obj_add_dir(b, c, "deep/er/c")));
    printf("file %s\n", said(ucs_vfs_obj_add_ro_file(b, show_text, "of b", 3, "file%d", 1)));
    printf("file in between %s\n", said(ucs_vfs_obj_add_ro_file(b, show_text, "of b", 4, "deep/f")));
    printf("at the root %s\n", said(ucs_vfs_obj_add_ro_file(NULL, show_root, NULL, 9, "mine_root")));
    printf("file for both %s\n", said(ucs_vfs_obj_add_rw_file(c, ucs_vfs_show_primitive, store, stored, UCS_VFS_TYPE_STRING, "wrong")));
    printf("file for both %s\n", said(ucs_vfs_obj_add_rw_file(c, show_text, store, stored, 5, "both")));
    printf("link %s\n", said(ucs_vfs_obj_add_sym_link(c, b, "to_b")));
    printf("link %s\n", said(ucs_vfs_obj_add_sym_link(a, c, "to_c")));
    printf("link at the root %s\n", said(ucs_vfs_obj_add_sym_link(NULL, c, "mine_link")));
}

static void refused(void)
{
    void *a = &objects[1], *d = &objects[4], *nobody = &objects[60];

    printf("unknown parent %s\n", said(ucs_vfs_obj_add_dir(nobody, d, "d")));
    printf("unknown object %s\n", said(ucs_vfs_obj_add_ro_file(nobody, show_text, "", 0, "f")));
    printf("unknown target %s\n", said(ucs_vfs_obj_add_sym_link(a, nobody, "l")));
    printf("link of nobody %s\n", said(ucs_vfs_obj_add_sym_link(nobody, a, "l")));
    printf("the same again %s\n", said(ucs_vfs_obj_add_dir(NULL, a, "mine/a/7")));
    printf("the same file %s\n", said(ucs_vfs_obj_add_ro_file(NULL, show_root, NULL, 0, "mine_root")));
    printf("write what isn't there %s\n", said(ucs_vfs_path_write_file("/mine/none", "x", 1)));
    printf("write a folder %s\n", said(ucs_vfs_path_write_file("/mine", "x", 1)));
    printf("write what is read only %s\n", said(ucs_vfs_path_write_file("/mine/a/7/b/file1", "x", 1)));
    ucs_vfs_obj_remove(nobody);
    ucs_vfs_obj_set_dirty(nobody, fill);
}

static void taken_name(void)
{
    void *d = &objects[4];
    char path[64];
    ucs_vfs_path_info_t info;

    printf("taken name %s\n", said(ucs_vfs_obj_add_dir(NULL, d, "mine/a/7")));
    snprintf(path, sizeof(path), "/mine/a/7_%p", d);
    printf("under its own %s\n", said(ucs_vfs_path_get_info(path, &info)));
    ucs_vfs_obj_remove(d);
    printf("removed %s\n", said(ucs_vfs_path_get_info(path, &info)));
}

int main(void)
{
    void *b = &objects[2], *c = &objects[3];
    static const char *paths[] = {"/", "", "/mine", "/mine/", "/mine/a", "/mine/a/7", "/mine/a/7/b", "/mine/a/7/b/file1",
                                  "/mine/a/7/b/deep", "/mine/a/7/b/deep/f", "/mine/a/7/b/deep/er/c/both", "/mine/a/7/to_c",
                                  "/mine/a/7/b/deep/er/c", "/mine_link", "/mine_root", "/none"};
    size_t at;

    values();
    build();
    for (at = 0; at < sizeof(paths) / sizeof(paths[0]); ++at) {
        look(paths[at]);
        list(paths[at], (at == 0) ? "only mine" : NULL);
    }
    printf("write %s\n", said(ucs_vfs_path_write_file("/mine/a/7/b/deep/er/c/both", "new", 3)));
    look("/mine/a/7/b/deep/er/c/both");
    printf("write %s\n", said(ucs_vfs_path_write_file("/mine/a/7/b/deep/er/c/both", "much too long for what is there", 40)));
    refused();
    taken_name();
    ucs_vfs_obj_set_dirty(b, fill);
    look("/mine/a/7/b");
    list("/mine/a/7/b", NULL);
    ucs_vfs_obj_set_dirty(b, fill);
    list("/mine/a/7/b/late", NULL);
    list("/mine/a/7/b", NULL);
    list("/mine/a/7/b/late", NULL);
    look("/mine/a/7/b/late/2");
    ucs_vfs_obj_remove(c);
    list("/mine/a/7/b", NULL);
    look("/mine_link");
    list("/mine/a/7", NULL);
    ucs_vfs_obj_remove(&objects[1]);
    list("/", "only mine");
    look("/mine/a/7/b/file1");
    printf("end\n");
    return 0;
}
