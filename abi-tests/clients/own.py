"""Programs of this package beside UCX's: what ucx_info prints, genuine over these libraries and over
its own, and ours; ours and genuine ucx_perftest as server and client of each other."""
import json
import os
import re
import signal
import time

import proc
import tools
import where
from proc import Failure, mapped_only
from tests import Skip, Test, over_both, succeeded

BIN = os.path.join(where.REPO, "build", "bin")
INFO, PERFTEST = os.path.join(BIN, "ucx_info"), os.path.join(BIN, "ucx_perftest")
LIMIT = 30

# Switches alone and together. Those of -e are compared by their headings: lanes and protocols are ours.
SWITCHES = ["-v", "-s", "-b", "-y", "-T", "-c", "-cf", "-caf", "-cC", "-caC", "-c -F TCP", "-a", "-f", "-vsT",
            "-y -t cma", "-d -t tcp", "-d -t nothing", "-p -u t", "-p -u t -D shm", "-p -u t -D net", "-p -u t -D self",
            "-w -u t", "-w -u ta", "-m 4096 -u r", "-m 1m,host -u ra", "-m xx -u r", "-m 0 -u r", "-m 4096,cuda -u r",
            "-pw -m 64k -u trasm -n 100 -N 4", "-e -u t", "-e -u te", "-e -u tw -P intra", "-e -u t -P inter",
            "-pwe -u trasm", "-e -u a -D net", "-e -u t -P inter -A 127.0.0.1", "-p", "-u q", "-D zz", "-P zz", ""]
# Only in 1.22.0: options that 1.13.1 doesn't have.
NEW = ("-F", "-N", "host", ",cuda", "-m 0")


def text(ctx, binary, lib, switches, version="1.22.0"):
    r = ctx.run([binary, *switches.split()], where.environ(lib), LIMIT, watch=False)
    if r.timed_out or r.rc < 0:
        raise Failure(f"ucx_info {switches}: {r.how()}")
    # Of the log, only that there was an error although all went well.
    logged = ["an error is logged"] if r.rc == 0 and re.search(r"^\[.* UCX +(ERROR|FATAL) ", r.out, re.M) else []
    return r.rc, [line for line in r.out.splitlines() if not line.startswith("[")] + logged


# What is free to differ: versions, paths, numbers, words of help and explanations.
NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:[KMGT]\b|us\b|ns\b|ms\b)?)")


# Variables of this package.
OWN = re.compile("UCX_(FAULT|FAILOVER)_")


def comparable(switches, lines):
    """The lines without what may differ, in any order where the order is free."""
    # Explained, a variable is a paragraph: those that only this package has go with their explanations.
    paragraphs = re.split(r"(?<=\n)\n", "\n".join(lines) + "\n")
    paragraphs = [p for p in paragraphs if not (OWN.search(p) and len(re.findall("UCX_[A-Z_]+=", p)) == 1)]
    lines = "\n".join(paragraphs).splitlines()
    found = []
    for line in lines:
        if line in ("", "#") and switches[:2] in ("-c", "-f"):
            continue
        # Explanations are in each one's own words; what they explain follows.
        if re.search("[af]", switches.split(" ")[0]) and re.match(r"# (?!UCX |Syntax:|Inherits:)", line) and switches[:2] in ("-c", "-a", "-f"):
            continue
        # The components of Debian's UCX for devices that aren't here, and its name of a device.
        if re.match(r"#     component \d+ +:  (ib|rdmacm)$", line):
            continue
        line = line.replace("self/memory0", "self/memory")
        if line.removeprefix("# ").startswith("UCX_MODULE_DIR="):
            line = line.split("=")[0]
        if line.startswith(("# Library path", "# Library version", "# Configured with", "# Git branch", "UCX_DYNAMIC_TL_PROGRESS_FACTOR")):
            line = line.split(":")[0].split("=")[0].split("'")[0]
        if OWN.search(line) or re.search("# (Fault injection|Failover) configuration", line):
            continue  # variables of this package
        if "memory: " in line or "create time" in line:
            line = line.split(":")[0]
        line = re.sub(r"UCP worker '.*'", "UCP worker", line)
        line = re.sub(r"^#( +)peer: .*", "# peer", line)
        line = line.replace("unlimited", "<= 0")
        found.append(NUMBER.sub("N", line.rstrip()))
    if "-e" in switches or "e " in switches.split(" ")[0] or "pwe" in switches:
        # Tables of protocols: what they are about, not what is in them.
        about = [line for line in found if "message by" in line]
        rest = [line for line in found if not re.match(r"# [+|]", line) and "lane[" not in line]
        found = sorted({re.sub(r"\s*\|$", "", line) for line in about}) + rest
    return sorted(found) if "-d" in switches else found


def difference(ours, theirs):
    lost = [line for line in theirs if line not in ours]
    more = [line for line in ours if line not in theirs]
    return f"lines that are missing: {lost[:5]}, too many: {more[:5]}, {len(ours)} lines instead of {len(theirs)}"


def switches_of(version):
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("it takes two libraries")
        binary = tools.BINARIES[version][1]
        genuine = ctx.genuine if version == "1.22.0" else where.DEBIAN
        chosen = [s for s in SWITCHES if version == "1.22.0" or not any(n in s for n in NEW)]
        for switches in chosen:
            if version == "1.13.1" and re.search(r"-c|-f|-a\b|-d|-e|pw", switches):
                # The variables, lanes and descriptions of 1.13.1's own libraries are those of then.
                rc, lines = text(ctx, binary, ctx.lib, switches)
                if rc != 0 and switches not in ("-a",) or not lines and switches != "-a":
                    raise Failure(f"ucx_info {switches}: exit status {rc}, {len(lines)} lines")
                continue
            base, ours = (text(ctx, binary, lib, switches) for lib in (genuine, ctx.lib))
            if base[0] != ours[0]:
                raise Failure(f"ucx_info {switches} ends with {ours[0]}, over genuine UCX with {base[0]}")
            a, b = comparable(switches, ours[1]), comparable(switches, base[1])
            if version == "1.13.1" and "-m" in switches:  # it registers elsewhere, and tells less
                a, b = ([line.split(" with ")[0] for line in x if "regist" not in line and "rkey" not in line] for x in (a, b))
            if version == "1.13.1":  # it lists devices in the order in which the system does
                a, b = sorted(a), sorted(b)
            if a != b:
                raise Failure(f"ucx_info {switches}: " + difference(a, b))
        ctx.note = f"{len(chosen)} ways"

    return body


def ours_and_genuine(ctx, tls):
    """Our ucx_info prints what genuine ucx_info prints over the same libraries."""
    for switches in SWITCHES:
        (rc, ours), (base_rc, base) = (text(ctx, b, ctx.lib, switches) for b in (INFO, where.INFO))
        if rc != base_rc:
            raise Failure(f"ucx_info {switches} ends with {rc}, genuine with {base_rc}")
        # Help, and the list of private types and of macros of a build, are each one's own.
        if rc != 0 or any(s in switches for s in ("-b", "-y")):
            if not ours:
                raise Failure(f"ucx_info {switches} prints nothing")
            continue
        a, b = comparable(switches, ours), comparable(switches, base)
        if a != b:
            raise Failure(f"ucx_info {switches}: " + difference(a, b))
    ctx.note = f"{len(SWITCHES)} ways"


def reasons(ctx, tls):
    """--why has one line per transport, with the variable or the transport that is to blame."""
    if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
        raise Skip("genuine UCX doesn't tell")
    cases = [
        ({}, "", r"rc_verbs: not part of this build"),
        ({}, "", r"posix/memory: sysv/memory is estimated as fast and has precedence"),
        ({"UCX_TLS": "self,tcp"}, "", r"sysv/memory: UCX_TLS=self,tcp leaves it out"),
        ({"UCX_TLS": "^cma"}, "", r"cma/memory: UCX_TLS=\^cma leaves it out"),
        ({"UCX_NET_DEVICES": "lo"}, "", r"tcp/(?!lo)\S+: UCX_NET_DEVICES=lo leaves it out"),
        ({}, "-P inter", r"does not reach|the peer does not have it"),
        ({"UCX_TLS": "self,sm,tcp"}, "-P intra -u tw", r"\S+/\S+: "),
    ]
    for variables, more, wanted in cases:
        r = ctx.run([INFO, "--why", *more.split()], where.environ(ctx.lib, **variables), LIMIT, watch=False)
        succeeded(r)
        if not re.search(wanted, r.out):
            raise Failure(f"{variables} {more}: no line like {wanted!r}")
        sections = re.split(r"# Not used .*\n", r.out)
        for section in sections:
            names = re.findall(r"^# +(\S+): ", section, re.M)
            if len(names) != len(set(names)):
                raise Failure(f"{variables} {more}: a transport has two lines")


def machine_readable(ctx, tls):
    """--json prints one object, with all that is asked for, and nothing else: warnings go to standard error."""
    switches = ["-vbydsTc", "-pwe", "-m", "4096", "-u", "trasm", "--json"]
    ours = os.path.realpath(ctx.lib) != os.path.realpath(ctx.genuine)
    alone = ["sh", "-c", 'exec "$0" "$@" 2> /dev/null', INFO]
    r = ctx.run([*alone, *switches, *(["--why"] if ours else [])],
                where.environ(ctx.lib, UCX_NOBODY_KNOWS_IT="1"), LIMIT, watch=False)
    succeeded(r)
    found = json.loads(r.out)
    wanted = ["version", "build", "types", "components", "system", "topology", "configuration", "protocols"]
    if ours:
        wanted.append("unused")
    if list(found) != wanted:
        raise Failure(f"has {list(found)} instead of {wanted}")
    tls = {t["transport"] for c in found["components"] for m in c["memory domains"] for t in m["transports"]}
    if not {"self", "tcp", "sysv", "posix", "cma"} <= tls:
        raise Failure(f"transports are {sorted(tls)}")
    if found["configuration"].get("UCX_TLS") != "all":
        raise Failure(f"UCX_TLS is {found['configuration'].get('UCX_TLS')!r}")


def pair(ctx, server, client, env, arguments, server_arguments=()):
    """Outputs of both sides."""
    port = str(tools.free_port())
    background = proc.Background([server, "-p", port, *server_arguments], env)
    try:
        until = time.monotonic() + 15
        while not tools.listening(int(port)) and background.p.poll() is None:
            if time.monotonic() > until:
                raise Failure("the server does not listen")
            time.sleep(0.02)
        r = ctx.run([client, "-p", port, "127.0.0.1", *arguments], env, 60)
    finally:
        rc, out = background.finish(15)
        if ctx.last:
            ctx.last.out += "\n--- server\n" + out
    succeeded(r)
    if rc != 0:
        raise Failure(f"{' '.join(arguments)}: the server ended with {rc}")
    return r.out.split("\n--- server\n")[0], out, r.mapped


def shape(output):
    """Lines with numbers made equal, blanks too: numbers of other lengths move them."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("[")]
    shaped = [re.sub(r"\s+", " ", NUMBER.sub("N", line)).strip() for line in lines]
    # How often it reports depends on the time that it takes.
    return [line for line in shaped if not line.startswith("[thread") and "Accepted" not in line]


def case(test, size, n, *more):
    return (["-t", test, "-s", str(size), "-n", str(n), "-w", "20", *more],)


UCP = [case("tag_lat", 8, 500), case("tag_bw", 65536, 300), case("tag_sync_lat", 8, 200), case("tag_sync_bw", 8, 500),
       case("ucp_am_lat", 8, 300), case("ucp_am_bw", 100000, 100), case("ucp_put_lat", 8, 200), case("ucp_put_bw", 4096, 500),
       case("ucp_get", 4096, 200), case("ucp_add", 8, 200), case("ucp_fadd", 4, 200), case("ucp_swap", 8, 200),
       case("ucp_cswap", 8, 200), case("stream_lat", 8, 300), case("stream_bw", 8192, 300)]
MORE = [case("tag_lat", "8,16,24", 100, "-D", "iov,iov"), case("tag_bw", "100:8", 100, "-D", "iov"),
        case("tag_lat", 8, 100, "-C", "-U"), case("ucp_am_bw", 8, 100, "-H", "32", "-y"), case("tag_bw", 8192, 100, "-z", "-O", "4"),
        case("stream_bw", 8192, 100, "-r", "recv_data"), case("ucp_put_bw", 64, 100, "-o", "-I"),
        case("tag_lat", 8, 200, "-E", "sleep"), case("tag_bw", 8, 500, "-T", "2", "-M", "multi"),
        case("ucp_am_lat", 1 << 20, 20, "-e", "-B"), case("tag_lat", 0, 100, "-f"), case("tag_bw", 1024, 100, "-v"),
        case("tag_lat", 8, 100, "-N", "-R", "99.9"), case("ucp_am_lat", 8, 100, "-X", "-f")]


def sides(server, client, cases):
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls, UCX_WARN_UNUSED_ENV_VARS="n")
        mapped = {}
        for (arguments,) in cases:
            if tls == "tcp" and "-o" in arguments:
                continue  # without progress nothing is written there, with UCX either
            _, _, seen = pair(ctx, server, client, env, arguments)
            mapped.update(seen)
        ctx.note = f"{len(cases)} measurements"

    return body


def same_output(cases):
    """What ours prints on either side has the lines that genuine's has."""
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls, UCX_WARN_UNUSED_ENV_VARS="n")
        for (arguments,) in cases:
            if tls == "tcp" and "-o" in arguments:
                continue
            ours, theirs = (pair(ctx, b, b, env, arguments)[:2] for b in (PERFTEST, where.PERFTEST))
            for side, a, b in zip(("client", "server"), ours, theirs):
                if "-N" in arguments:
                    # Whether genuine's sets thousands apart depends on the locales that are installed.
                    a, b = (re.sub(r"(?<=\d),(?=\d{3}\b)", "", output) for output in (a, b))
                a, b = shape(a), shape(b)
                if "-X" in arguments:
                    a, b = a[:-1], b[:-1]
                if a != b:
                    raise Failure(f"{' '.join(arguments)}, {side}: " + difference(a, b))
        ctx.note = f"{len(cases)} measurements"

    return body


UCT = {
    "self": ("memory", [("am_lat", "short", 8), ("am_bw", "bcopy", 4096), ("put_bw", "short", 8), ("fadd", "short", 8)]),
    "posix": ("memory", [("am_lat", "short", 8), ("am_bw", "bcopy", 4096), ("put_lat", "short", 8), ("get", "bcopy", 4096),
                         ("add_lat", "short", 8), ("add_mr", "short", 4), ("cswap", "short", 8), ("swap", "short", 4)]),
    "sysv": ("memory", [("am_lat", "short", 8), ("fadd", "short", 4)]),
    "cma": ("memory", [("put_bw", "zcopy", 8192), ("get", "zcopy", 65536), ("put_lat", "zcopy", 64)]),
    "tcp": ("lo", [("am_lat", "short", 8), ("am_bw", "zcopy", 8192), ("put_bw", "zcopy", 8192), ("am_bw", "bcopy", 1024)]),
}


def uct(tl, server, client):
    def body(ctx, tls):
        env = where.environ(ctx.lib, UCX_WARN_UNUSED_ENV_VARS="n")
        device, cases = UCT[tl]
        for test, layout, size in cases:
            what = ["-d", device, "-x", tl]
            arguments = [*what, "-t", test, "-D", layout, "-s", str(size), "-n", "300", "-w", "10", "-f"]
            if tl == "self":
                r = ctx.run([client, "-l", *arguments], env, LIMIT)
                succeeded(r)
                out = r.out
            else:
                out, _, _ = pair(ctx, server, client, env, arguments, what)
            rows = [line.split() for line in out.splitlines() if re.match(r"^\s*\d+\s", line)]
            if not rows or rows[-1][0] != "300":
                raise Failure(f"{test} {layout} {size}: no final line for 300 iterations")
        ctx.note = f"{len(cases)} measurements"

    return body


def loopback(ctx, tls):
    env = where.environ(ctx.lib, tls)
    for (arguments,) in UCP + MORE[:6]:
        r = ctx.run([PERFTEST, "-l", *arguments], env, LIMIT, watch=False)
        succeeded(r, "Final:")
    r = ctx.run([PERFTEST, "-l", "-t", "tag_lat", "-n", "3000000", "-f"], env, LIMIT)
    succeeded(r)
    mapped_only(r.mapped, ctx.lib, 1)


def batches(ctx, tls):
    """Each test of the second file for each of the first, and no end for one that is wrong."""
    files = []
    for name, lines in (("sizes", ["# a comment", "", "small -s 8", "large -s 65536"]), ("tests", ["lat -t tag_lat -n 50", "bw -t tag_bw -n 50"])):
        path = os.path.join(ctx.scratch, name)
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        files.append(path)
    env = where.environ(ctx.lib, tls)
    arguments = ["-l", "-t", "tag_lat", "-w", "5", "-b", files[0], "-b", files[1]]
    ours, theirs = (ctx.run([b, *arguments], env, LIMIT, watch=False) for b in (PERFTEST, where.PERFTEST))
    for r in (ours, theirs):
        succeeded(r)
    if shape(ours.out) != shape(theirs.out):
        raise Failure(difference(shape(ours.out), shape(theirs.out)))
    for wrong in (["-t", "nothing"], ["-Q"], ["-l", "host"], ["-l", "-t", "ucp_add", "-s", "3"],
                  ["-l", "-t", "am_lat"], ["-l", "-t", "tag_lat", "-m", "cuda"], ["-l", "-b", "/nothing/there"], ["-R", "101"],
                  ["-l", "-t", "am_lat", "-x", "posix", "-d", "nothing"], ["-l", "-t", "put_bw", "-x", "tcp", "-d", "lo"]):
        a, b = (ctx.run([binary, *wrong], env, LIMIT, watch=False) for binary in (PERFTEST, where.PERFTEST))
        if a.timed_out or a.rc != b.rc:
            raise Failure(f"{' '.join(wrong)}: {a.how()}, genuine {b.how()}")


INTERRUPTED = [("tag_lat", "client"), ("ucp_put_lat", "server")]
MORE_INTERRUPTED = [(test, whom) for test in ("tag_lat", "tag_bw", "ucp_am_lat", "ucp_put_lat", "ucp_get", "stream_bw", "ucp_fadd") for whom in ("client", "server")]


def interrupted(cases):
    """Ctrl-C of one side, without error handling: the other one ends within seconds and says why, also where it only
    receives. (Genuine ucx_perftest goes on: it looks neither at its other connection nor at what its sends return.)"""
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls, UCX_WARN_UNUSED_ENV_VARS="n")
        for test, whom in cases:
            port = str(tools.free_port())
            both = {"server": proc.Background([PERFTEST, "-p", port], env)}
            until = time.monotonic() + 20
            while not tools.listening(int(port)) and time.monotonic() < until:
                time.sleep(0.02)
            both["client"] = proc.Background([PERFTEST, "-p", port, "127.0.0.1", "-t", test, "-n", "1000000000"], env)
            time.sleep(0.7)
            if any(side.p.poll() is not None for side in both.values()):
                raise Failure(f"{test}: a side ended before it was interrupted")
            both[whom].p.send_signal(signal.SIGINT)
            both.pop(whom).finish(10)
            name, other = both.popitem()
            rc, out = other.finish(15)
            if rc is None or rc <= 0:
                raise Failure(f"{test}: the {whom} was interrupted, and the {name} {'goes on' if rc is None else f'ended with {rc}'}")
            if "ERROR" not in out and "is gone" not in out:
                raise Failure(f"{test}: the {name} does not say why it ended: {out[-300:]}")
        ctx.note = f"{len(cases)} cases"

    return body


def tests():
    found = [Test(f"ucx_info {version}, all switches", None, switches_of(version)) for version in tools.BINARIES]
    found.append(Test("own ucx_info, all switches", None, ours_and_genuine))
    found.append(Test("own ucx_info --why", None, reasons))
    found.append(Test("own ucx_info --json", None, machine_readable))
    genuine = where.PERFTEST
    found += over_both("own ucx_perftest", same_output(UCP[:2] + UCP[4:5]))
    found += over_both("own ucx_perftest, all", same_output(UCP + MORE), smoke=False)
    found += over_both("own ucx_perftest to genuine", sides(genuine, PERFTEST, UCP))
    found += over_both("genuine ucx_perftest to own", sides(PERFTEST, genuine, UCP))
    found += over_both("own ucx_perftest to genuine, more", sides(genuine, PERFTEST, MORE), smoke=False)
    found += over_both("genuine ucx_perftest to own, more", sides(PERFTEST, genuine, MORE), smoke=False)
    for tl in UCT:
        found.append(Test(f"own ucx_perftest UCT {tl}", None, uct(tl, PERFTEST, PERFTEST)))
        if tl != "self":
            found.append(Test(f"own ucx_perftest UCT {tl} to genuine", None, uct(tl, genuine, PERFTEST), smoke=False))
            found.append(Test(f"genuine ucx_perftest UCT {tl} to own", None, uct(tl, PERFTEST, genuine), smoke=False))
    found += over_both("own ucx_perftest loopback", loopback, smoke=False)
    found += over_both("own ucx_perftest interrupted", interrupted(INTERRUPTED))
    found += over_both("own ucx_perftest interrupted, all", interrupted(MORE_INTERRUPTED), smoke=False)
    found.append(Test("own ucx_perftest, batch files and mistakes", "sm", batches))
    return found
