#!/usr/bin/env python3
"""Builds the link-time libraries libucp.so, libuct.so, libucs.so and libucm.so.

    stubs.py LIBRARY OUTDIR     LIBRARY is the libucp.so.0 that holds everything

A linker that is given -luct shall find the uct_ names, and record "libuct.so.0", as with UCX. So
each link-time library is a shared object that declares the symbols of its prefix, with the SONAME
of its namesake, and whose only content at run time is that it needs libucp.so.0.

Some programs dlopen these names. The loader must then not find the declarations, which have no
bodies: the objects have a SysV hash table, whose buckets and chains are zeroed. Linkers don't read
it, the loader looks nowhere else, and falls through to what the object needs.
"""

import argparse
import os
import re
import struct
import subprocess
import tempfile

PREFIXES = {
    "libucp.so": ("ucp_",),
    "libuct.so": ("uct_",),
    "libucs.so": ("ucs_", "__ucs_", "ini_", "void_"),
    "libucm.so": ("ucm_",),
}

# Sizes of data objects in UCX 1.22.0, where they are larger than what we export. What we export
# has the smallest size among the versions served (executables copy these objects, and old ones
# have reserved less); an executable that is linked now must reserve what its headers say.
SIZES = {
    "ucm_global_opts": 72,
    "ucs_arch_global_opts_table": 352,
    "ucs_config_array_string": 64,
    "ucs_global_opts": 448,
    "ucs_memory_type_descs": 88,
    "ucs_memory_type_names": 96,
}

# What each object needs. Not "libucp.so.0" for the one that has this very SONAME: the loader would
# take the object itself for what it needs. Nor "libucp.so.0.0.0": GNU ld warns of a conflict. So a
# link of another name leads to the same file.
ALIAS = "libucx-rs.so.0"
NEEDED = {name: "libucp.so.0" for name in PREFIXES} | {"libucp.so": ALIAS}

SHT_HASH = 5


def exported(library):
    """(name, is_function, size) of each symbol that the library defines."""
    text = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True
    ).stdout
    row = re.compile(r"\s*\d+: \w+\s+(\w+) (FUNC|OBJECT)\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+ (\w+)$")
    for line in text.splitlines():
        match = row.match(line)
        if match:
            yield match[3], match[2] == "FUNC", int(match[1], 0)


def declarations(symbols):
    """Assembler text that declares the symbols. Data is aligned so that a copy of it will be."""
    lines = ["\t.section .note.GNU-stack,\"\",%progbits"]
    for name, is_function, size in sorted(symbols):
        size = SIZES.get(name, size)
        lines += [
            "\t.text" if is_function else "\t.data\n\t.balign 32",
            f"\t.globl {name}",
            f"\t.type {name}, {'%function' if is_function else '%object'}",
            f"{name}:\t.zero {4 if is_function else size}",
            f"\t.size {name}, {4 if is_function else size}",
        ]
    return "\n".join(lines) + "\n"


def hide_from_loader(path):
    """Zeroes the buckets and chains of the hash table."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        offset, = struct.unpack_from("<Q", data, 0x28)
        entry_size, count = struct.unpack_from("<HH", data, 0x3A)
        for i in range(count):
            header = struct.unpack_from("<IIQQQQ", data, offset + i * entry_size)
            if header[1] == SHT_HASH:
                start, size = header[4], header[5]
                data[start + 8 : start + size] = bytes(size - 8)
                break
        else:
            raise SystemExit(f"{path}: no SysV hash table")
        file.seek(0)
        file.write(data)


def link(cc, outdir, name, symbols):
    path = os.path.join(outdir, name)
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "stub.s")
        with open(source, "w", encoding="ascii") as file:
            file.write(declarations(symbols))
        # An object whose SONAME is the text that shall be recorded as needed.
        needed = os.path.join(scratch, "needed.so")
        subprocess.run(
            [cc, "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{NEEDED[name]}"]
            + ["-o", needed],
            check=True,
        )
        subprocess.run(
            [cc, "-shared", "-nostdlib", source, "-o", path + ".new", f"-Wl,-soname,{name}.0"]
            + ["-Wl,--hash-style=sysv", "-Wl,--build-id=none"]
            # libc, since GNU ld passes over what doesn't need it when it follows needed objects.
            + ["-Wl,--disable-new-dtags,-rpath,$ORIGIN", "-Wl,--no-as-needed", needed, "-lc"],
            check=True,
        )
    hide_from_loader(path + ".new")
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("outdir")
    parser.add_argument("--cc", default=os.environ.get("CC", "cc"))
    args = parser.parse_args()
    symbols = list(exported(args.library))
    left = set(symbols)
    for name, prefixes in PREFIXES.items():
        own = [symbol for symbol in symbols if symbol[0].startswith(prefixes)]
        left -= set(own)
        link(args.cc, args.outdir, name, own)
    # What only our own programs look for, at run time.
    left = {symbol for symbol in left if not symbol[0].startswith("ucx_rs_")}
    if left:
        raise SystemExit("no link library for: " + ", ".join(sorted(name for name, _, _ in left)))


if __name__ == "__main__":
    main()
