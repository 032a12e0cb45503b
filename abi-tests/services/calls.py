#!/usr/bin/env python3
"""Calls functions of libucs and prints what they return: calls.py LIBUCS

Output comes in sections, "== NAME" before each, so that the results of two libraries can be
compared section by section (see run.py).
"""

import ctypes as c
import os
import sys

lib = c.CDLL(sys.argv[1])


def text(function, *arguments):
    call = getattr(lib, function)
    call.restype = c.c_char_p
    return call(*arguments)


def number(function, *arguments, kind=c.c_size_t):
    call = getattr(lib, function)
    call.restype = kind
    return call(*arguments)


def status(function, *arguments):
    return number(function, *arguments, kind=c.c_int8)


def room(size=256):
    return c.create_string_buffer(size)


def size(value):
    return c.c_size_t(value)


NAMES = (c.c_char_p * 4)(b"aa", b"BB", b"cc", None)


def memory_units():
    for value in (0, 1, 1023, 1024, 1 << 20, (1 << 64) - 1, (1 << 64) - 2, 8256, 3 << 40):
        buffer = room()
        print(value, text("ucs_memunits_to_str", size(value), buffer, size(256)))
        print(text("ucs_memunits_range_str", size(value), size(1 << 30), buffer, size(256)))
    for given in (b"8k", b"1MB", b"inf", b"AUTO", b"x", b"", b"12", b"4g", b"3B", b"2T"):
        value = c.c_size_t(7)
        print(given, status("ucs_str_to_memunits", given, c.byref(value)), value.value)


def addresses():
    for given in (
        b"127.0.0.1", b"127.0.0.1:80", b"::1", b"[::1]:80", b"[fe80::1]:0x50",
        b"10.0.0.1:70000", b"a.b", b"10.0.0.1:", b"0.0.0.0",
    ):  # fmt: skip
        address, buffer = room(128), room(60)
        result = status("ucs_sock_ipportstr_to_sockaddr", given, c.c_uint16(13337), address)
        print(given, result)
        if result != 0:
            continue
        length, port = c.c_size_t(), c.c_uint16()
        lib.ucs_sockaddr_sizeof(address, c.byref(length))
        lib.ucs_sockaddr_get_port(address, c.byref(port))
        print(text("ucs_sockaddr_str", address, buffer, size(60)), length.value, port.value)
        print(lib.ucs_sockaddr_is_inaddr_any(address), lib.ucs_sockaddr_is_inaddr_loopback(address))
        lib.ucs_sockaddr_set_inaddr_any(address, int.from_bytes(address.raw[:2], sys.byteorder))
        lib.ucs_sockaddr_set_port(address, c.c_uint16(99))
        print(text("ucs_sockaddr_str", address, buffer, size(60)))
    for given in (b"80", b"0x1f90", b"", b"-1", b"65536", b"8x"):
        port = c.c_uint16()
        print(given, status("ucs_sock_port_from_string", given, c.byref(port)), port.value)
    one, two = room(128), room(128)
    lib.ucs_sock_ipstr_to_sockaddr(b"10.1.2.3", one)
    lib.ucs_sock_ipstr_to_sockaddr(b"10.1.9.3", two)
    print([lib.ucs_sockaddr_is_same_subnet(one, two, bits) for bits in (0, 16, 20, 24, 32, 99)])
    print(lib.ucs_sockaddr_cmp(one, two, None) < 0, lib.ucs_sockaddr_cmp(one, one, None))
    print([text("ucs_sockaddr_address_family_str", family) for family in (2, 10, 1)])


def paths():
    for one, two in (
        (b"/a/b/c", b"/a/b/d"), (b"/a/b", b"/a/b"), (b"/a/b", b"/a/b/c"), (b"/x", b"/y"),
        (b"", b"/a"), (b"abc", b"abd"),
    ):  # fmt: skip
        buffer = room()
        lib.ucs_path_get_common_parent(one, two, buffer)
        for function in (
            "ucs_path_common_parent_length", "ucs_path_calc_distance",
            "ucs_string_common_prefix_len", "ucs_string_distance",
        ):  # fmt: skip
            print(one, two, function, number(function, one, two))
        print(buffer.value)
    for path in (b"/usr/../etc", b"x/y"):
        buffer = room(4096)
        lib.ucs_expand_path(path, buffer, size(4096))
        print(buffer.value)
    for layers in (0, 1, 2, 9):
        buffer = room()
        buffer.value = b"/a/b/c/d"
        print(text("ucs_dirname", buffer, layers))


def strings():
    data = b"abcdefghijklmnop"
    for limit, line in ((256, 8), (20, 8), (256, 100), (3, 4), (2, 4)):
        buffer = room()
        print(text("ucs_str_dump_hex", data, size(16), buffer, size(limit), size(line)))
    for name in (b"abc", b"abcdefghij", b""):
        print(number("ucs_string_to_id", name, kind=c.c_uint64))
    for limit in (1, 4, 9, 20):
        for function in ("ucs_strncpy_zero", "ucs_strncpy_safe"):
            buffer = room()
            buffer.raw = b"Z" * 256
            getattr(lib, function)(buffer, b"hello world", size(limit))
            print(function, limit, buffer.raw[:14])
        buffer = room()
        lib.ucs_snprintf_safe(buffer, size(limit), b"%d-%s", 42, b"text")
        print(buffer.value)
    for flags in (0, 1, 5, 7):
        print(text("ucs_flags_str", room(), size(256), c.c_uint64(flags), NAMES))
    for name in (b"bb", b"BB", b"zz"):
        for case in (0, 1):
            print(number("ucs_string_find_in_list", name, NAMES, case, kind=c.c_ssize_t))
    for given in (b"  a b ", b"", b"   ", b"x"):
        buffer = room()
        buffer.value = given
        print(text("ucs_strtrim", buffer))
    print(number("ucs_string_count_char", b"a/b/c", ord("/")))
    for prefix in b"BKMGTPx":
        print(number("ucs_string_quantity_prefix_value", prefix))
    buffer = room()
    lib.ucs_fill_filename_template(b"a_%p_%h_%e_%i_%%_%q%", buffer, size(256))
    print(buffer.value.replace(str(os.getpid()).encode(), b"PID"))
    bits = room(4)
    bits.raw = bytes([0b11101, 0xFF, 0, 1])
    print(text("ucs_log_bitmap_to_str", 10, bits, size(25)))


def string_buffers():
    buffer = room(24)
    lib.ucs_string_buffer_init(buffer)

    def show():
        print(text("ucs_string_buffer_cstr", buffer), number("ucs_string_buffer_length", buffer))

    show()
    for index in range(30):
        lib.ucs_string_buffer_appendf(buffer, b"%d,%s;", index, b"xyz" * index)
    show()
    lib.ucs_string_buffer_rtrim(buffer, b"yz;x")
    show()
    lib.ucs_string_buffer_rbrk(buffer, b",")
    show()
    lib.ucs_string_buffer_append_flags(buffer, c.c_uint64(5), NAMES)
    lib.ucs_string_buffer_append_flags(buffer, c.c_uint64(5), None)
    show()
    lib.ucs_string_buffer_append_hex(buffer, b"12345678", size(8), size(100))
    lib.ucs_string_buffer_appendc(buffer, ord("q"), size(3))
    show()
    lib.ucs_string_buffer_reset(buffer)
    show()
    lib.ucs_string_buffer_appendf(buffer, b"a,bb,,c")
    token, tokens = None, []
    while True:
        call = lib.ucs_string_buffer_next_token
        call.restype = c.c_void_p
        token = call(buffer, c.c_void_p(token), b",")
        if not token:
            break
        tokens.append(c.string_at(token))
    print(tokens)
    for mask in (0b1101, 0):
        lib.ucs_string_buffer_reset(buffer)
        print(text("ucs_mask_str", c.c_uint64(mask), buffer))
    lib.ucs_string_buffer_cleanup(buffer)
    storage = room(8)
    lib.ucs_string_buffer_init_fixed(buffer, storage, size(8))
    lib.ucs_string_buffer_appendf(buffer, b"%s", b"0123456789")
    show()
    lib.ucs_string_buffer_appendc(buffer, 65, size(3))
    show()


def string_sets():
    strings, buffer = room(40), room(24)
    lib.ucs_string_set_init(strings)
    for name in (b"q", b"a", b"q", b"m"):
        print(status("ucs_string_set_add", strings, name))
    print(status("ucs_string_set_addf", strings, b"f%d", 3))
    lib.ucs_string_buffer_init(buffer)
    lib.ucs_string_set_print_sorted(strings, buffer, b", ")
    print(text("ucs_string_buffer_cstr", buffer))
    print([lib.ucs_string_set_contains(strings, name) for name in (b"a", b"b")])
    lib.ucs_string_set_cleanup(strings)


class TableConfig(c.Structure):
    _fields_ = [("columns", c.c_uint), ("prefix", c.c_char_p), ("equal", c.c_int)]


def tables():
    for equal in (0, 1):
        table, buffer, row = room(48), room(24), c.c_uint()
        lib.ucs_table_init(table, c.byref(TableConfig(3, b"# ", equal)))
        for line in range(3):
            lib.ucs_table_add_row(table, c.byref(row))
            if line == 1:
                words = b"over two columns"
                lib.ucs_table_row_add_cell_fmt(table, row, 2, 2, b"%s-%d", words, line)
                lib.ucs_table_row_add_cell_empty(table, row, 1)
            else:
                for column in range(3):
                    words = b"v" * column
                    lib.ucs_table_row_add_cell_fmt(table, row, 1, column, b"%s%d", words, line)
            if line == 0:
                lib.ucs_table_add_separator(table)
            if line == 1:
                lib.ucs_table_add_separator_with_merged_cols(table, 1)
        lib.ucs_string_buffer_init(buffer)
        lib.ucs_table_render(table, buffer)
        print(text("ucs_string_buffer_cstr", buffer).decode())
        print(status("ucs_table_get_status", table))
        lib.ucs_table_cleanup(table)


def statuses():
    for value in range(-128, 128):
        print(value, text("ucs_status_string", c.c_int8(value)))


def processor():
    print(text("ucs_cpu_vendor_name"), text("ucs_cpu_model_name"), text("ucs_sys_dmi_product_name"))
    print(number("ucs_get_page_size"), number("ucs_sys_get_num_cpus", kind=c.c_long))
    # Two measurements of one clock.
    rate = number("ucs_get_cpu_clocks_per_sec", kind=c.c_double)
    print(round(rate / 1e8))


def checksums():
    for data in (b"", b"a", b"hello world", bytes(range(256))):
        print(number("ucs_crc16", data, size(len(data)), kind=c.c_uint16))
        print(number("ucs_crc32", c.c_uint32(0), data, size(len(data)), kind=c.c_uint32))
    print(number("ucs_crc16_string", b"hello", kind=c.c_uint16))


SECTIONS = [
    memory_units, addresses, paths, strings, string_buffers, string_sets, tables, statuses,
    processor, checksums,
]  # fmt: skip

for section in SECTIONS:
    print("==", section.__name__, flush=True)
    section()
