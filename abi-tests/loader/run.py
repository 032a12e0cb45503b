#!/usr/bin/env python3
"""Loader tests: which file serves each of UCX's four names, however a program comes to them.

    run.py [--lib DIR] [NAME...]      NAME: run only tests whose name contains it

Needs the libraries of `make`, Debian's libucx-dev, and UCX 1.22.0 under $UCX_RS_DEPS/libucx.
"""

import argparse
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LAYERS = ("ucp", "uct", "ucs", "ucm")
UNVERSIONED = [f"lib{layer}.so" for layer in LAYERS]
VERSIONED = [f"{name}.0" for name in UNVERSIONED]
FUNCTION = {
    "ucp": "ucp_worker_progress",
    "uct": "uct_md_open",
    "ucs": "ucs_status_string",
    "ucm": "ucm_set_event_handler",
}
GENUINE = re.compile(r"/lib(uc[ptsm])(-\w+)?\.so|/ucx/libuc")
LIMIT = 60


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def equal(found, wanted, what):
    check(found == wanted, f"{what}: {found}, not {wanted}")


def run(*command, env=None, errors=False, limit=LIMIT):
    """Runs a command with nothing of UCX in its environment but what `env` adds; its output, or
    with `errors` what it wrote to stderr too."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("UCX_", "LD_")) or key == "UCX_RS_DEPS"
    }
    result = subprocess.run(
        [str(part) for part in command],
        env=clean | (env or {}),
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    check(
        result.returncode == 0,
        f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}",
    )
    return result.stdout + (result.stderr if errors else "")


class Tests:
    def __init__(self, lib, scratch):
        self.lib = lib
        self.real = (lib / "libucp.so.0").resolve()
        self.scratch = scratch
        deps = Path(os.environ.get("UCX_RS_DEPS", ROOT / ".deps"))
        self.genuine = deps / "libucx"
        for needed in (self.real, self.genuine / "lib/libucp.so.0"):
            if not needed.exists():
                raise SystemExit(f"loader: {needed} is missing (make, make deps)")

    # ---- helpers -----------------------------------------------------------------------------

    @functools.cache
    def program(self, source, *flags):
        """Compiles one of our programs; the same program is built once."""
        path = self.scratch / f"program{len(list(self.scratch.iterdir()))}"
        run("cc", "-w", "-O1", HERE / source, "-o", path, *flags)
        return path

    def linked(self, libdir, layers, *flags, use=None):
        """A program that is linked with -l of these layers, and uses `use` (default: the same)."""
        defines = [f"-D{layer.upper()}" for layer in use or layers]
        libraries = [f"-l{layer}" for layer in layers]
        return self.program("linked.c", *defines, f"-L{libdir}", *flags, *libraries)

    def needed(self, path):
        found = re.findall(r"\((\w+)\).*\[(.*)\]", run("readelf", "-dW", path))
        return [value for tag, value in found if tag == "NEEDED"]

    def ours_alone(self, output, expect=None):
        """Every name leads to the one file, which is mapped as the only one that holds code."""
        bound = re.findall(r"^bind (\w+) (\S+)", output, re.M)
        check(bound, f"nothing bound:\n{output}")
        for name, file in bound:
            check(file != "-", f"{name} is not found")
            equal(Path(file).resolve(), self.real, f"file of {name}")
        mapped = {Path(file) for file in re.findall(r"^map (\S+)", output, re.M)}
        check(self.real in mapped, f"{self.real} is not mapped")
        for file in mapped:
            if GENUINE.search(str(file)):
                equal(file.parent, self.lib, f"folder of {file}")
        addresses = {}
        for name, address in re.findall(r"^bind (\w+) \S+ (\S+)", output, re.M):
            equal(addresses.setdefault(name, address), address, f"address of {name}")
        if expect:
            equal({name for name, _ in bound}, set(expect), "names")

    def env(self, **more):
        return {"LD_LIBRARY_PATH": str(self.lib)} | more

    # ---- dlopen ------------------------------------------------------------------------------

    def test_dlopen_unversioned_first(self):
        program = self.program("open.c")
        for name in UNVERSIONED:
            self.ours_alone(run(program, name, env=self.env()))

    def test_dlopen_unversioned_by_path(self):
        program = self.program("open.c")
        for name in UNVERSIONED:
            self.ours_alone(run(program, self.lib / name))

    def test_dlopen_every_order(self):
        program = self.program("open.c")
        for order in itertools.permutations(UNVERSIONED):
            self.ours_alone(run(program, *order, env=self.env()))

    def test_dlopen_versioned_then_unversioned(self):
        program = self.program("open.c")
        for first, second in itertools.product(VERSIONED, UNVERSIONED):
            self.ours_alone(run(program, first, second, env=self.env()))
            self.ours_alone(run(program, second, first, env=self.env()))

    def test_dlopen_signal_library(self):
        program = self.program("open.c")
        for name in ("libucs_signal.so", "libucs_signal.so.0"):
            self.ours_alone(run(program, name, "libucp.so", env=self.env()))

    def test_dlopen_deepbind_and_global(self):
        program = self.program("open.c")
        for flag, name in itertools.product(("-d", "-g"), UNVERSIONED + VERSIONED):
            self.ours_alone(run(program, flag, name, env=self.env()))

    def test_dlopen_again_and_again(self):
        """Neither threads nor files nor mappings are left by opening and closing."""
        program = self.program("open.c")
        once = run(program, "-r", "1", *UNVERSIONED, env=self.env())
        often = run(program, "-r", "100", *UNVERSIONED, env=self.env())
        self.ours_alone(often)
        for what in ("threads", "files"):
            equal(
                re.findall(rf"^{what} \d+", often, re.M),
                re.findall(rf"^{what} \d+", once, re.M),
                what,
            )
        equal(often.count("\nmap "), once.count("\nmap "), "mapped files")

    # ---- linking -----------------------------------------------------------------------------

    def linkers(self):
        return [name for name in ("bfd", "gold", "lld") if shutil.which(f"ld.{name}")]

    def test_link_each_layer_alone(self):
        for linker, layer in itertools.product(self.linkers(), LAYERS):
            program = self.linked(self.lib, [layer], f"-fuse-ld={linker}")
            check(f"lib{layer}.so.0" in self.needed(program), f"lib{layer}.so.0 is not recorded")
            self.ours_alone(run(program, env=self.env()), [FUNCTION[layer]])

    def test_link_all_as_needed(self):
        for linker, flag in itertools.product(self.linkers(), ("--as-needed", "--no-as-needed")):
            for use in (LAYERS, ("ucp", "ucs"), ("uct",)):
                flags = (f"-fuse-ld={linker}", f"-Wl,{flag}")
                program = self.linked(self.lib, LAYERS, *flags, use=use)
                self.ours_alone(run(program, env=self.env()), [FUNCTION[layer] for layer in use])

    def test_link_records_what_genuine_does(self):
        for flag, count in itertools.product(("--as-needed", "--no-as-needed"), (1, 2, 3, 4)):
            for layers in itertools.combinations(LAYERS, count):
                ours = self.linked(self.lib, layers, f"-Wl,{flag}")
                theirs = self.linked(
                    self.genuine / "lib", layers, f"-Wl,{flag}", "-Wl,--allow-shlib-undefined"
                )
                equal(self.needed(ours), self.needed(theirs), f"NEEDED with {flag} {layers}")

    def test_link_offers_each_name_in_one_library(self):
        """-lucp alone doesn't offer ucs_ names, as with UCX."""
        for layer, other in itertools.permutations(LAYERS, 2):
            try:
                self.linked(self.lib, [layer], use=[other])
            except Failure as failure:
                check("undefined reference" in str(failure), str(failure))
            else:
                raise Failure(f"-l{layer} offers {other}_ names")

    def test_link_is_silent(self):
        """No linker warns of our libraries."""
        for linker in self.linkers():
            self.linked(self.lib, LAYERS, f"-fuse-ld={linker}", "-Wl,--fatal-warnings")
            self.linked(self.lib, ["ucp"], f"-fuse-ld={linker}", "-Wl,--fatal-warnings")

    def test_lazy_binding(self):
        program = self.linked(self.lib, LAYERS, "-Wl,-z,lazy", "-Wl,--no-as-needed")
        self.ours_alone(run(program, env=self.env()))

    # ---- programs that were linked to genuine UCX ---------------------------------------------

    def debian(self):
        found = Path(run("cc", "-print-file-name=libucp.so").strip())
        check(found.is_absolute(), "libucx-dev is not installed")
        return found.parent

    def test_genuine_program_by_library_path(self):
        for libdir, layers in itertools.product(
            (self.debian(), self.genuine / "lib"), (LAYERS, ("ucp",), ("ucp", "ucs"), ("uct",))
        ):
            program = self.linked(libdir, layers, "-Wl,--allow-shlib-undefined")
            self.ours_alone(run(program, env=self.env()))

    def test_preload_all_into_genuine_program(self):
        preload = " ".join(str(self.lib / name) for name in VERSIONED)
        for layers in (LAYERS, ("ucp", "ucs"), ("uct", "ucs")):
            program = self.linked(self.debian(), layers)
            self.ours_alone(run(program, env={"LD_PRELOAD": preload}))

    def test_preload_one_into_genuine_program(self):
        """A program that names libucp alone needs no more than that in LD_PRELOAD."""
        program = self.linked(self.debian(), ["ucp"])
        self.ours_alone(run(program, env={"LD_PRELOAD": str(self.lib / "libucp.so.0")}))

    def test_library_path_beats_runpath(self):
        rpath = f"-Wl,--enable-new-dtags,-rpath,{self.genuine / 'lib'}"
        program = self.linked(
            self.genuine / "lib", LAYERS, rpath, "-Wl,--no-as-needed,--allow-shlib-undefined"
        )
        self.ours_alone(run(program, env=self.env()))

    def test_mix_is_refused(self):
        """Where names of ours bind to genuine UCX, ucp_init fails with a line that names both."""
        program = self.copied(self.genuine / "include", self.genuine / "lib")
        theirs = self.genuine / "lib/libucs.so.0"
        output = run(program, env=self.env(LD_PRELOAD=str(theirs)), errors=True)
        check(re.search(r"^init (-?\d+) -\d+$", output, re.M), f"not refused:\n{output}")
        lines = [line for line in output.splitlines() if str(theirs) in line]
        check(any(str(self.lib) in line for line in lines), f"no line names both:\n{output}")

    # ---- data --------------------------------------------------------------------------------

    def copied(self, include, libdir):
        """The program that copies our data, with the headers and libraries of one version."""
        program = self.program(
            "copied.c",
            *("-no-pie", "-fno-pic", f"-I{include}", f"-L{libdir}"),
            *("-lucp", "-luct", "-lucs", "-lucm", "-Wl,--allow-shlib-undefined"),
        )
        relocations = run("readelf", "-rW", program)
        for name in ("ucs_global_opts", "ucs_memory_type_names", "ucs_memory_type_descs"):
            check(re.search(rf"R_\w+_COPY .* {name}\b", relocations), f"{name} is not copied")
        return program

    def sees_data(self, program, size, symbol_size=None):
        equal(
            re.search(r" (\d+) OBJECT .* ucs_global_opts$", run("readelf", "-sW", program), re.M)[1],
            str(symbol_size or size),
            "bytes that the linker reserved for ucs_global_opts",
        )
        output = run(program, env=self.env())
        for line in (
            f"size ucs_global_opts {size}",
            "name memory 0 host",
            "name memory 1 cuda",
            "name description 0 System memory",
            "list initialised",
            "init 0 0",
            "canary intact",
        ):
            check(f"\n{line}\n" in f"\n{output}", f"no line '{line}' in\n{output}")

    def test_copied_data_of_1_13(self):
        self.sees_data(self.copied("/usr/include", self.debian()), 360)

    def test_copied_data_of_1_22(self):
        self.sees_data(self.copied(self.genuine / "include", self.genuine / "lib"), 448)

    def test_copied_data_of_ours(self):
        """Newly linked with our own headers and libraries: room for what the headers say."""
        self.sees_data(self.copied(ROOT / "include", self.lib), 448)

    def test_our_headers_on_genuine_libraries(self):
        program = self.copied(ROOT / "include", self.lib)
        output = run(program, env={"LD_LIBRARY_PATH": str(self.genuine / "lib")})
        check("name memory 0 host" in output and "canary intact" in output, output)

    def test_variadic_functions_do_what_genuine_ones_do(self):
        flags = ("-Wl,--allow-shlib-undefined", "-lucs", "-lucm")
        program = self.program(
            "variadic.c", f"-I{self.genuine / 'include'}", f"-L{self.genuine / 'lib'}", *flags
        )
        theirs = run(program, env={"LD_LIBRARY_PATH": str(self.genuine / "lib")})
        equal(run(program, env=self.env()), theirs, "output")
        program = self.program("variadic.c", f"-I{ROOT / 'include'}", f"-L{self.lib}", *flags)
        equal(run(program, env=self.env()), theirs, "output with our headers")

    # ---- the files ---------------------------------------------------------------------------

    def test_exported_names(self):
        """Nothing of Rust's leaks out, and of our own only what our programs call."""
        rows = run("readelf", "-W", "--dyn-syms", self.real).splitlines()
        names = [row.split()[7] for row in rows if re.search(r"(GLOBAL|WEAK)\s+DEFAULT\s+\d", row)]
        check(len(names) > 600, f"only {len(names)} names")
        stray = [name for name in names if not re.match(r"(uc[ptsm]|__ucs|ini|void)_", name)]
        equal(sorted(stray), ["ucx_rs_print_config", "ucx_rs_why"], "other names")

    def test_names_and_flags(self):
        for name in VERSIONED + ["libucs_signal.so.0"]:
            dynamic = run("readelf", "-dW", self.lib / name)
            check(f"soname: [{name}]" in dynamic, f"{name}: other SONAME")
            check("(RPATH)" in dynamic and "[$ORIGIN]" in dynamic, f"{name}: no RPATH")
            check("RUNPATH" not in dynamic, f"{name}: RUNPATH")
            if name != "libucp.so.0":
                needed = ["libucp.so.0", "libc.so.6"]
                equal(self.needed(self.lib / name), needed, f"NEEDED of {name}")
                check("INIT" not in dynamic, f"{name} has constructors")
        check("NODELETE" in run("readelf", "-dW", self.real), "libucp.so.0 can be unloaded")

    def test_needs_no_device_library(self):
        """It loads where neither CUDA nor RDMA is installed."""
        system = {"libc.so.6", "libgcc_s.so.1", "libm.so.6", "ld-linux-x86-64.so.2"}
        extra = set(self.needed(self.real)) - system - set(VERSIONED)
        equal(extra, set(), "further libraries needed")

    def test_loading_starts_nothing(self):
        """No thread, no open file; the time is printed, not judged."""
        program = self.program("open.c")
        output = run(program, "libucp.so.0", env=self.env())
        equal(re.findall(r"^threads (\d+)", output, re.M), ["1", "1"], "threads")
        before, after = re.findall(r"^files (\d+)", output, re.M)
        equal(after, before, "open files")
        took = {}
        for name, libdir in (("ours", self.lib), ("genuine", self.genuine / "lib")):
            times = []
            for _ in range(9):
                start = time.perf_counter()
                run(program, "libucp.so.0", env={"LD_LIBRARY_PATH": str(libdir)})
                times.append(time.perf_counter() - start)
            took[name] = sorted(times)[len(times) // 2] * 1e3
        print("    a process that loads it:", ", ".join(f"{k} {v:.1f} ms" for k, v in took.items()))

    # ---- installation ------------------------------------------------------------------------

    def install(self, *variables):
        destdir = Path(tempfile.mkdtemp(dir=self.scratch))
        # Sources may be newer than the libraries.
        run("make", "-C", ROOT, "install", f"DESTDIR={destdir}", *variables, limit=600)
        return destdir

    def test_install_layout(self):
        """Each file of a genuine installation that isn't a static or module library is there."""
        root = self.install("PREFIX=/opt/ucx")
        for pattern in ("lib/*.so*", "lib/cmake/ucx/*", "lib/pkgconfig/ucx*.pc", "include/**/*.h"):
            for file in self.genuine.glob(pattern):
                relative = file.relative_to(self.genuine)
                if file.name in ("ucx-cma.pc",) or set(relative.parts) & OTHER_HEADERS:
                    continue
                check((root / "opt/ucx" / relative).exists(), f"{relative} is not installed")
        pc = (root / "opt/ucx/lib/pkgconfig/ucx.pc").read_text()
        check("\nprefix=/opt/ucx\n" in f"\n{pc}", pc)

    def test_installed_programs(self):
        """They find the libraries that they are installed with, wherever that is."""
        root = self.install("PREFIX=/opt/ucx", "LIBDIR=/opt/ucx/lib") / "opt/ucx"
        said = run(root / "bin/ucx_info", "-v")
        path = re.search(r"Library path: (\S+)", said)
        check(path and Path(path[1]).resolve() == (root / "lib/libucp.so.0").resolve(), said)
        check("not part of this build" in run(root / "bin/ucx_info", "--why"), "--why gives no reason")
        json.loads(run(root / "bin/ucx_info", "-d", "--json"))
        said = run(root / "bin/ucx_perftest", "-l", "-t", "tag_lat", "-n", "1000", "-w", "10", "-f")
        check(re.search(r"^\s*1000\s", said, re.M), said)

    def test_ldconfig(self):
        """ldconfig makes no link of a link-time library."""
        libdir = self.install("PREFIX=/opt/ucx") / "opt/ucx/lib"
        run("/sbin/ldconfig", "-n", libdir)
        for name in VERSIONED:
            equal((libdir / name).resolve().name, f"{name}.0.0", name)

    def test_pkg_config(self):
        root = self.install("PREFIX=/opt/ucx", "LIBDIR=/opt/ucx/lib64")
        env = {
            "PKG_CONFIG_LIBDIR": str(root / "opt/ucx/lib64/pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": str(root),
        }
        flags = run("pkg-config", "--cflags", "--libs", "ucx >= 1.13", env=env).split()
        equal([flag for flag in flags if flag.startswith("-l")],
              ["-lucp", "-luct", "-lucs", "-lucm"], "libraries")  # fmt: skip
        program = self.program("copied.c", *flags)
        run(program, env={"LD_LIBRARY_PATH": str(root / "opt/ucx/lib64")})

    def test_cmake(self):
        root = self.install("PREFIX=/opt/ucx")
        source = self.scratch / "consumer"
        source.mkdir()
        shutil.copy(HERE / "copied.c", source)
        shutil.copy(HERE / "consumer.cmake", source / "CMakeLists.txt")
        prefix = f"-DCMAKE_PREFIX_PATH={root}/opt/ucx"
        run("cmake", "-S", source, "-B", source / "build", prefix)
        run("cmake", "--build", source / "build")
        output = run(source / "build/consumer")
        check("headers 1.22" in output, output)
        found = run("ldd", source / "build/consumer")
        check(str(root) in found and "/usr/lib" not in "".join(
            line for line in found.splitlines() if "libuc" in line), found)  # fmt: skip


# Folders of headers that public ones include for a processor, or that are for device code.
OTHER_HEADERS = {"generic", "x86_64", "aarch64", "ppc64", "rv64", "cuda", "device"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lib", type=Path, default=ROOT / "build/lib")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    failed = passed = 0
    with tempfile.TemporaryDirectory() as scratch:
        tests = Tests(args.lib.resolve(), Path(scratch))
        for name in sorted(n for n in dir(tests) if n.startswith("test_")):
            if args.names and not any(part in name for part in args.names):
                continue
            try:
                getattr(tests, name)()
            except (Failure, subprocess.TimeoutExpired) as failure:
                failed += 1
                print(f"FAIL {name}: {failure}")
            except Exception:  # a fault of the test itself fails it too
                failed += 1
                print(f"FAIL {name}:\n{traceback.format_exc()}")
            else:
                passed += 1
                print(f"ok   {name}")
    print(f"loader: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
