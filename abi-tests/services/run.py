#!/usr/bin/env python3
"""UCS through its C functions and tools, ours beside genuine UCX 1.22.0.

    run.py [--lib DIR] [NAME...]      NAME: run only tests whose name contains it

Needs the libraries of `make`, and UCX 1.22.0 under $UCX_RS_DEPS/libucx.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPS = Path(os.environ.get("UCX_RS_DEPS", ROOT / ".deps"))
GENUINE = DEPS / "libucx" / "lib"
INFO = DEPS / "libucx" / "bin" / "ucx_info"
LIMIT = 60
OURS = ROOT / "build" / "lib"

# Lines in which we differ on purpose: a path of the build, and a number of rounds that genuine UCX
# reads and prints as a time. Its syntax comes in the line before.
DIFFERENT = re.compile(
    r"(# syntax: .*\n#\n)?UCX_(MODULE_DIR|DYNAMIC_TL_PROGRESS_FACTOR)=.*\n", re.MULTILINE
)


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def run(*command, lib, env=None):
    """Runs a command with the libraries of a folder: exit code and all output."""
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(("UCX_", "LD_"))
    }
    result = subprocess.run(
        [str(part) for part in command],
        env=clean | {"LD_LIBRARY_PATH": str(lib), "HOME": "/nonexistent"} | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=LIMIT,
        cwd="/",
    )
    return result.returncode, result.stdout


def sections(lib):
    code, output = run(sys.executable, HERE / "calls.py", lib / "libucs.so.0", lib=lib)
    check(code == 0, f"calls.py exits with {code}:\n{output[-2000:]}")
    found = {}
    for line in output.splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:], [])
        elif " UCX  " not in line:  # log lines carry times and source lines
            lines.append(line)
    return found


def listing(lib, *options):
    code, output = run(INFO, *options, lib=lib)
    check(code == 0, f"ucx_info exits with {code}: {output}")
    # Explained, a variable is a paragraph: those that only we have go with their explanations.
    paragraphs = re.split(r"(?<=\n)\n", DIFFERENT.sub("", output))
    ours = re.compile(r"(?:.*\n)*?(# )?UCX_(FAULT|FAILOVER)_")
    keep = [p for p in paragraphs if not (ours.match(p) and len(re.findall("UCX_[A-Z_]+=", p)) == 1)]
    return "\n".join(keep).splitlines()


def variables(lines):
    """Those that UCX has too."""
    return [line for line in lines if re.match(r"(# )?UCX_(?!FAULT_|FAILOVER_)", line)]


def test_values_of_variables():
    ours, genuine = (variables(listing(lib, "-c")) for lib in (OURS, GENUINE))
    check(len(genuine) > 200, f"only {len(genuine)} variables")
    check(ours == genuine, f"{set(ours) ^ set(genuine)}")


def test_hidden_variables_and_syntax():
    keep = re.compile(r"UCX_(?!FAULT_|FAILOVER_)|# (syntax|inherits|alias of):|# (?!Fault injection|Failover).* configuration$")
    ours, genuine = (
        [line for line in listing(lib, "-caf") if keep.match(line)] for lib in (OURS, GENUINE)
    )
    check(ours == genuine, f"{set(ours) ^ set(genuine)}")


def test_defaults_are_commented_out():
    code, output = run(INFO, "-c", "-C", lib=OURS, env={"UCX_TLS": "tcp"})
    lines = [line for line in variables(output.splitlines()) if not line.startswith("# ")]
    check(code == 0 and lines == ["UCX_TLS=tcp"], f"{lines}")


def test_filter():
    _, output = run(INFO, "-c", "-F", "KEEPALIVE", lib=OURS)
    names = [line.split("=")[0] for line in variables(output.splitlines())]
    check(names == ["UCX_KEEPALIVE_INTERVAL", "UCX_KEEPALIVE_NUM_EPS"], f"{names}")


def test_values_come_from_environment_and_file(tmp=Path("/tmp")):
    folder = tmp / f"ucx-conf-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / "ucx.conf").write_text("UCX_TLS=self\nUCX_SEG_SIZE=4k\n[x]\nCPU model=none*\nUCX_NUM_EPS=7\n")
        env = {"UCX_CONFIG_DIR": str(folder), "UCX_TLS": "tcp"}
        for lib in (OURS, GENUINE):
            _, output = run(INFO, "-c", lib=lib, env=env)
            lines = output.splitlines()
            for wanted in ("UCX_TLS=tcp", "UCX_SEG_SIZE=4K", "UCX_NUM_EPS=auto"):
                check(wanted in lines, f"{lib}: no {wanted}")
    finally:
        (folder / "ucx.conf").unlink()
        folder.rmdir()


def test_a_wrong_value_is_named():
    _, output = run(INFO, "-c", lib=OURS, env={"UCX_RNDV_THRESH": "abc"})
    lines = [line for line in output.splitlines() if " ERROR " in line]
    check(len(lines) == 1, f"{lines}")
    for word in ("UCX_RNDV_THRESH", "'abc'", "memory units"):
        check(word in lines[0], f"{word} is not in {lines[0]}")


def test_system_information():
    ours, genuine = (listing(lib, "-s") for lib in (OURS, GENUINE))
    drop = re.compile(r"# Timer")
    ours, genuine = ([x for x in lines if not drop.match(x)] for lines in (ours, genuine))
    check(ours == genuine, f"{ours} {genuine}")


def test_tables_of_programs():
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "config"
        include = DEPS / "libucx" / "include"
        flags = ["-Wl,--allow-shlib-undefined", f"-L{GENUINE}", "-lucs"]
        command = [os.environ.get("CC", "cc"), f"-I{include}", HERE / "config.c", "-o", program]
        subprocess.run([str(part) for part in command] + flags, check=True, timeout=LIMIT)
        results = [run(program, lib=lib) for lib in (OURS, GENUINE)]
    # Log lines carry times and source lines; what they say must be the same.
    ours, genuine = (
        [re.sub(r"^\[.* UCX  ", "", line) for line in output.splitlines()] for _, output in results
    )
    check([code for code, _ in results] == [0, 0], f"{results[0][1][-500:]}")
    differences = [f"{x!r} not {y!r}" for x, y in zip(ours, genuine) if x != y]
    check(ours == genuine, "; ".join(differences[:5]) or f"{len(ours)} lines, not {len(genuine)}")


def test_asynchronous_handlers_and_ini_files():
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "async"
        flags = ["-Wl,--allow-shlib-undefined", f"-L{GENUINE}", "-lucs", "-lpthread"]
        command = [os.environ.get("CC", "cc"), f"-I{DEPS / 'libucx' / 'include'}", HERE / "async.c", "-o", program]
        subprocess.run([str(part) for part in command] + flags, check=True, timeout=LIMIT)
        ours, genuine = (
            [line for line in run(program, lib=lib)[1].splitlines() if " UCX  " not in line] for lib in (OURS, GENUINE)
        )
    check(genuine[-1:] == ["end"] and len(genuine) > 60, f"{genuine[-3:]}")
    differences = [f"{x!r} not {y!r}" for x, y in zip(ours, genuine) if x != y]
    check(ours == genuine, "; ".join(differences[:5]) or f"{len(ours)} lines, not {len(genuine)}: {ours[-1:]}")


def says_the_same(source, least):
    """A program says on our libraries, also under AddressSanitizer, what it says on genuine UCX: at least
    `least` lines."""
    with tempfile.TemporaryDirectory() as folder:
        program, checked = Path(folder) / "program", Path(folder) / "checked"
        flags = ["-Wl,--allow-shlib-undefined", f"-L{GENUINE}", "-lucs", "-lucm"]
        command = [os.environ.get("CC", "cc"), "-g", f"-I{DEPS / 'libucx' / 'include'}", HERE / source]
        for name, more in ((program, []), (checked, ["-fsanitize=address"])):
            subprocess.run([str(part) for part in [*command, *more, "-o", name]] + flags, check=True, timeout=LIMIT)
        ours, genuine, asan = (
            [line for line in run(name, lib=lib)[1].splitlines() if " UCX  " not in line]
            for name, lib in ((program, OURS), (program, GENUINE), (checked, OURS))
        )
    check(genuine[-1:] == ["end"] and len(genuine) > least, f"{genuine[-3:]}")
    for lines in (ours, asan):
        differences = [f"{x!r} not {y!r}" for x, y in zip(lines, genuine) if x != y]
        check(lines == genuine, "; ".join(differences[:5]) or f"{len(lines)} lines, not {len(genuine)}: {lines[-3:]}")


def test_structures_and_registrations():
    says_the_same("structures.c", 80)


def test_values_sockets_events_and_topology():
    says_the_same("system.c", 150)


def test_what_programs_import():
    says_the_same("imports.c", 15)


def test_the_tree_of_objects():
    says_the_same("vfs.c", 80)


def test_profiles():
    """A profile is read by genuine UCX's ucx_read_profile, and says what one of genuine UCX says."""
    reader = DEPS / "libucx" / "bin" / "ucx_read_profile"
    reader.chmod(reader.stat().st_mode | 0o111)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "profile"
        flags = ["-Wl,--allow-shlib-undefined", f"-L{GENUINE}", "-lucs", "-lpthread"]
        command = [os.environ.get("CC", "cc"), f"-I{DEPS / 'libucx' / 'include'}", HERE / "profile.c", "-o", program]
        subprocess.run([str(part) for part in command] + flags, check=True, timeout=LIMIT)
        for mode in ("0", "1", "2", "3"):
            said = []
            for lib in (OURS, GENUINE):
                file = Path(folder) / f"{lib.parent.name}-{mode}"
                code, marks = run(program, file, mode, lib=lib)
                check(code == 0, f"mode {mode}: exit status {code}: {marks}")
                text = run(reader, "-r", "-T", "all", file, lib=GENUINE)[1] if file.exists() else "no file"
                # Times, process ids, paths.
                text = re.sub(r"( ucs lib| command) *:.*", "", text)
                text = re.sub(r"\d+\.\d+|tid \d+|pid +: \d+", "N", text)
                said.append(marks.splitlines() + [" ".join(line.split()) for line in text.splitlines()])
            check(mode == "0" or len(said[1]) > 12, f"mode {mode}: {said[1]}")
            differences = [f"{x!r} not {y!r}" for x, y in zip(*said) if x != y]
            check(said[0] == said[1], f"mode {mode}: {'; '.join(differences[:5]) or [len(lines) for lines in said]}")


def test_modules_of_programs():
    """Found beside the library and in folders of the user, each once, as UCX_MODULES allows."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        program, plugins = folder / "modules", folder / "plugins"
        cc = [os.environ.get("CC", "cc"), f"-I{DEPS / 'libucx' / 'include'}"]
        flags = ["-Wl,--allow-shlib-undefined", f"-L{GENUINE}", "-lucs", "-lpthread"]
        compile_ = lambda *command: subprocess.run([str(part) for part in [*cc, *command]], check=True, timeout=LIMIT)
        compile_(HERE / "modules.c", "-o", program, *flags)
        plugins.mkdir()
        for file, name, more in (("x_one", "one", []), ("x_two", "two", ["-DSTATUS=0"]), ("x_bad", "bad", ["-DSTATUS=-1"]),
                                 ("x_a_b", "ab", []), ("xy_one", "xy", []), ("uct_evil", "evil", [])):
            # Both names that a library may look for.
            for suffix in (".so", ".so.0"):
                compile_("-shared", "-fPIC", f'-DNAME="{name}"', *more, HERE / "module.c", "-o", plugins / f"lib{file}{suffix}")
        for framework, env in (("x", {}), ("x", {"UCX_MODULES": "t*"}), ("x", {"UCX_MODULES": "^one,bad"}), ("nothing", {})):
            env = {"UCX_PLUGIN_PATH": str(plugins)} | env
            ours, genuine = (
                [" ".join(sorted(line.split())) for line in run(program, framework, lib=lib, env=env)[1].splitlines()]
                for lib in (OURS, GENUINE)
            )
            check(ours == genuine, f"{framework} {env}: {ours} not {genuine}")
        code, said = run(program, "uct", lib=OURS, env={"UCX_PLUGIN_PATH": str(plugins)})
        check(code == 0 and said.startswith("none "), f"a transport of another build: {said}")


def tests():
    found = {
        name.removeprefix("test_"): function
        for name, function in globals().items()
        if name.startswith("test_")
    }
    ours, genuine = sections(OURS), sections(GENUINE)

    def compare(name):
        a, b = ours.get(name), genuine[name]
        differences = [f"{x!r} not {y!r}" for x, y in zip(a or [], b) if x != y]
        check(a == b, "; ".join(differences[:5]) or f"{len(a or [])} lines, not {len(b)}")

    for name in genuine:
        found[f"calls: {name}"] = lambda name=name: compare(name)
    return found


def main():
    global OURS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, default=OURS)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    OURS = arguments.lib.resolve()
    passed = failed = 0
    for name, test in tests().items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        try:
            test()
        except Failure as failure:
            print(f"FAILED {name}: {failure}")
            failed += 1
        except Exception:
            print(f"FAILED {name}: {traceback.format_exc()}")
            failed += 1
        else:
            print(f"ok {name}")
            passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
