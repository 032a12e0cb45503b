/*
 * A program with a table of variables of its own, as UCC has: what the parser of libucs makes of
 * defaults, environment, changes and wrong values. Its output is compared with that on genuine UCX.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ucs/config/parser.h>
#include <ucs/config/types.h>

typedef struct {
    char *text;
    unsigned long size;
} inner_t;

typedef struct {
    inner_t super;
    char *name;
    int number;
    unsigned count;
    unsigned long units;
    size_t bytes;
    int flag;
    int ternary;
    int on_off;
    unsigned choice;
    unsigned uint_choice;
    uint64_t bits;
    double seconds;
    unsigned long ticks;
    double bandwidth;
    double real;
    double positive;
    int signal;
    ucs_range_spec_t range;
    ucs_config_names_array_t names;
    ucs_config_allow_list_t list;
    struct {
        size_t a, b;
    } keyed;
} outer_t;

static const char *choices[] = {"first", "second", "third", NULL};

#define AT(_field) ucs_offsetof(outer_t, _field)

static ucs_config_field_t inner_table[] = {
    {"TEXT", "inner", "A text", ucs_offsetof(inner_t, text), UCS_CONFIG_TYPE_STRING},
    {"SIZE", "4k", "A size\nin two lines", ucs_offsetof(inner_t, size), UCS_CONFIG_TYPE_MEMUNITS},
    {NULL}
};

static ucs_config_field_t outer_table[] = {
    {"INNER_", "SIZE=8k", NULL, AT(super), UCS_CONFIG_TYPE_TABLE(inner_table)},
    {"NAME", "n", "A name", AT(name), UCS_CONFIG_TYPE_STRING},
    {"ALIAS", NULL, "", AT(name), UCS_CONFIG_TYPE_STRING},
    {"NUMBER", "-3", "", AT(number), UCS_CONFIG_TYPE_INT},
    {"COUNT", "inf", "", AT(count), UCS_CONFIG_TYPE_UINT},
    {"UNITS", "auto", "", AT(units), UCS_CONFIG_TYPE_ULUNITS},
    {"BYTES", "1m", "", AT(bytes), UCS_CONFIG_TYPE_MEMUNITS},
    {"FLAG", "y", "", AT(flag), UCS_CONFIG_TYPE_BOOL},
    {"TERNARY", "try", "", AT(ternary), UCS_CONFIG_TYPE_TERNARY_AUTO},
    {"ON_OFF", "auto", "", AT(on_off), UCS_CONFIG_TYPE_ON_OFF_AUTO},
    {"CHOICE", "second", "", AT(choice), UCS_CONFIG_TYPE_ENUM(choices)},
    {"UINT_CHOICE", "third", "", AT(uint_choice), UCS_CONFIG_TYPE_UINT_ENUM(choices)},
    {"BITS", "third,first", "", AT(bits), UCS_CONFIG_TYPE_BITMAP(choices)},
    {"SECONDS", "20ms", "", AT(seconds), UCS_CONFIG_TYPE_TIME},
    {"TICKS", "inf", "", AT(ticks), UCS_CONFIG_TYPE_TIME_UNITS},
    {"BANDWIDTH", "10GBs", "", AT(bandwidth), UCS_CONFIG_TYPE_BW},
    {"REAL", "0.25", "", AT(real), UCS_CONFIG_TYPE_DOUBLE},
    {"POSITIVE", "auto", "", AT(positive), UCS_CONFIG_TYPE_POS_DOUBLE},
    {"SIGNAL", "SIGALRM", "", AT(signal), UCS_CONFIG_TYPE_SIGNO},
    {"RANGE", "3-7", "", AT(range), UCS_CONFIG_TYPE_RANGE_SPEC},
    {"NAMES", "a,b,c", "", AT(names), UCS_CONFIG_TYPE_STRING_ARRAY},
    {"LIST", "^x,y", "", AT(list), UCS_CONFIG_TYPE_ALLOW_LIST},
    {"KEYED", "1k,b:2k", "Values", 0,
     UCS_CONFIG_TYPE_KEY_VALUE(UCS_CONFIG_TYPE_MEMUNITS,
                               {"a", "the first", AT(keyed.a)},
                               {"b", "the second", AT(keyed.b)},
                               {NULL})},
    {"OLD", "", "Gone", UCS_CONFIG_DEPRECATED_FIELD_OFFSET, UCS_CONFIG_TYPE_DEPRECATED},
    {NULL}
};

static ucs_config_global_list_entry_t entry = {
    .name = "outer", .prefix = "OUT_", .table = outer_table, .size = sizeof(outer_t), .flags = 0};

static void show(const char *what, outer_t *opts, unsigned flags)
{
    printf("-- %s\n", what);
    fflush(stdout);
    ucs_config_parser_print_opts(stdout, "outer configuration", opts, outer_table, "OUT_", "APP_",
                                 (ucs_config_print_flags_t)flags, NULL);
    fflush(stdout);
}

static void change(outer_t *opts, const char *name, const char *value)
{
    char text[64] = "";
    int status    = ucs_config_parser_set_value(opts, outer_table, "OUT_", name, value);

    ucs_config_parser_get_value(opts, outer_table, "NAME", text, sizeof(text));
    printf("%s=%s: %d, NAME=%s\n", name, value, status, text);
}

int main(void)
{
    static const char *wrong[][2] = {
        {"NUMBER", "x"}, {"COUNT", "-"}, {"BYTES", "8q"},     {"FLAG", "perhaps"},
        {"CHOICE", "4"}, {"BITS", "zz"}, {"SECONDS", "1h"},   {"BANDWIDTH", "9"},
        {"RANGE", "a"},  {"LIST", "all,x"}, {"KEYED", "c:1"}, {"POSITIVE", "0"},
    };
    outer_t opts, copy;
    char name[32];
    size_t i;

    /* In order with log lines, which don't wait in a buffer. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("APP_OUT_NAME", "from environment", 1);
    setenv("APP_INNER_TEXT", "for all", 1);
    setenv("APP_OUT_SIZE", "16k", 1);
    setenv("APP_OUT_CHOICE", "THIRD", 1);
    setenv("APP_OUT_NAMES", "one,two", 1);

    printf("fill: %d\n", ucs_config_parser_fill_opts(&opts, &entry, "APP_", 0));
    show("values", &opts, UCS_CONFIG_PRINT_CONFIG);
    show("documentation", &opts,
         UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HEADER | UCS_CONFIG_PRINT_DOC);
    show("heading", &opts, UCS_CONFIG_PRINT_HEADER);

    change(&opts, "OUT_NAME", "changed");
    change(&opts, "OUT_NUMBER", "0x10");
    change(&opts, "OUT_NO_SUCH", "1");
    change(&opts, "OUT_OLD", "1");
    change(&opts, "*SIZE", "32k");
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        snprintf(name, sizeof(name), "OUT_%s", wrong[i][0]);
        change(&opts, name, wrong[i][1]);
    }
    show("after changes", &opts, UCS_CONFIG_PRINT_CONFIG);

    printf("clone: %d\n", ucs_config_parser_clone_opts(&opts, &copy, outer_table));
    ucs_config_parser_release_opts(&opts, outer_table);
    show("copy", &copy, UCS_CONFIG_PRINT_CONFIG);
    ucs_config_parser_release_opts(&copy, outer_table);

    printf("has: %d %d %d\n", ucs_config_parser_has_field(outer_table, "OUT_", "OUT_NAME"),
           ucs_config_parser_has_field(outer_table, "OUT_", "INNER_SIZE"),
           ucs_config_parser_has_field(outer_table, "OUT_", "OUT_OLD"));
    setenv("APP_OUT_NUMBER", "wrong", 1);
    printf("strict: %d\n", ucs_config_parser_fill_opts(&opts, &entry, "APP_", 0));
    printf("lenient: %d\n", ucs_config_parser_fill_opts(&opts, &entry, "APP_", 1));
    printf("number: %d\n", opts.number);
    ucs_config_parser_release_opts(&opts, outer_table);
    return 0;
}
