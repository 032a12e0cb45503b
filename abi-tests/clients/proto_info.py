"""UCX_PROTO_INFO: tables in the form that genuine UCX gives them, with a reason for each range."""
import re
import time

import where
from proc import Background, Failure
from tests import Test, over_both
from tools import free_port, listening

# What ucx_perftest measures, and a table that goes with it.
OPERATIONS = [("tag_lat", "tagged message by ucp_tag_send* from host memory"),
              ("ucp_am_lat", "active message by ucp_am_send* from host memory"),
              ("ucp_put_bw", "remote memory write by ucp_put* from host memory to host"),
              ("ucp_get", "remote memory read by ucp_get* into host memory from host"),
              ("ucp_fadd", "fetching atomic by ucp_atomic_op* into host memory from host, arg in host memory")]


def output(ctx, lib, tls, test, wanted, **more):
    """The lines that the client printed, less time and process."""
    env = where.environ(lib, tls, UCX_WARN_UNUSED_ENV_VARS="n", **more)
    port = free_port()
    command = [where.PERFTEST, "-p", str(port)]
    server = Background(command, env)
    end = time.monotonic() + 20
    while not listening(port) and server.p.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    r = ctx.run([*command, "127.0.0.1", "-t", test, "-s", "8", "-n", "20", "-w", "2"], {**env, "UCX_PROTO_INFO": wanted}, 60)
    server.finish(20)
    if r.rc != 0:
        raise Failure(f"{test}: {r.how()}: {r.out[-300:]}")
    return [re.sub(r"^\[[^]]*\] \[[^]]*\]   ", "", line) for line in r.out.splitlines() if line.startswith("[")]


def size(text):
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    return float("inf") if text == "inf" else int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


def tables(lines):
    """Operation to (lines, ranges, lines that follow up to the next table)."""
    found, at = {}, 0
    while at < len(lines):
        if not re.fullmatch(r"\+[-+]+\+", lines[at]):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end].startswith(("|", "+")) and (lines[end][0] == "|" or end - at < 6 or lines[end - 1][0] == "|"):
            end += 1
        box, after = lines[at:end], []
        while end < len(lines) and lines[end].startswith("  "):
            after.append(lines[end])
            end += 1
        cells = [[c.strip() for c in line.strip("|").split("|")] for line in box if line[0] == "|"]
        ranges = [tuple(size(s) for s in (row[0].split("..") * 2)[:2]) for row in cells[3:]]
        found[cells[1][0]] = (box, ranges, after)
        at = end
    return found


def check(name, box, ranges, after, reasons):
    if len({len(line) for line in box}) != 1:
        raise Failure(f"{name}: a ragged table")
    if not re.fullmatch(r"\| +Range +\| +Description +\| +Config +\|", box[4]):
        raise Failure(f"{name}: headings {box[4]!r}")
    if any(b[0] != a[1] + 1 for a, b in zip(ranges, ranges[1:])) or (ranges[0][0], ranges[-1][1]) not in ((0, float("inf")), (4, 8)):
        raise Failure(f"{name}: ranges {ranges}")
    if reasons and len(after) != len(ranges):
        raise Failure(f"{name}: {len(after)} reasons for {len(ranges)} ranges")


def all_tables(ctx, tls):
    counts = []
    for test, title in OPERATIONS:
        seen = {lib: tables(output(ctx, lib, tls, test, "y")) for lib in (ctx.lib, ctx.genuine)}
        if title not in seen[ctx.lib]:
            raise Failure(f"{test}: no table {title!r}, but {list(seen[ctx.lib])}")
        for name, (box, ranges, after) in seen[ctx.lib].items():
            check(name, box, ranges, after, ctx.lib != ctx.genuine)
        common = set(seen[ctx.lib]) & set(seen[ctx.genuine])
        for name, (box, ranges, after) in seen[ctx.genuine].items():
            check(name, box, ranges, after, False)
            if name in seen[ctx.lib] and box[1].rstrip(" |") != seen[ctx.lib][name][0][1].rstrip(" |"):
                raise Failure(f"{box[1]} and {seen[ctx.lib][name][0][1]}")
        if not common:
            raise Failure(f"{test}: genuine UCX has {list(seen[ctx.genuine])}")
        counts.append(len(common))
    ctx.note = f"{sum(counts)} tables in both"


# What ucx_perftest does once in an iteration, and what its table is called.
USES = [("tag_lat", "tagged message by ucp_tag_send* from host memory"),
        ("tag_bw", "tagged message by ucp_tag_send*(multi) from host memory"),
        ("tag_sync_lat", "synchronous tagged message by ucp_tag_send_sync* from host memory"),
        ("ucp_am_bw", "active message by ucp_am_send*(multi) from host memory"),
        ("stream_bw", "stream message by ucp_stream_send*(multi) from host memory"),
        ("ucp_put_lat", "remote memory write by ucp_put* from host memory to host"),
        ("ucp_get", "remote memory read by ucp_get*(multi) into host memory from host"),
        ("ucp_add", "posted atomic by ucp_atomic_op*(multi) to host, arg in host memory"),
        ("ucp_fadd", "fetching atomic by ucp_atomic_op*(multi) into host memory from host, arg in host memory")]


def used(uses):
    """`used`: at the worker's end, the tables of what was used, with how often each range was."""
    def body(ctx, tls):
        ctx.note = "; ".join(f"{test} " + " and ".join(str(n) for n in uses_of(ctx, tls, test, title)) for test, title in uses)

    return body


def uses_of(ctx, tls, test, title):
    """How often this operation was used by our counts, and by those of genuine UCX."""
    sums = []
    for lib in (ctx.lib, ctx.genuine):
        seen = tables(output(ctx, lib, tls, test, "used"))
        if title not in seen:
            raise Failure(f"{test}, {lib}: no table {title!r}, but {list(seen)}")
        for name, (box, _, after) in seen.items():
            cells = [[c.strip() for c in line.strip("|").split("|")] for line in box if line[0] == "|"]
            if len({len(line) for line in box}) != 1 or cells[2] != ["Count", "Range", "Description", "Config"]:
                raise Failure(f"{test}, {lib}: {box}")
            counts = [int(row[0]) for row in cells[3:]]
            if sum(counts) == 0 or (lib == ctx.lib and len(after) != len(counts)):
                raise Failure(f"{test}, {lib}: {name}: counts {counts}, {len(after)} reasons")
            if name != title:
                continue
            # Messages of 8 bytes: one range, that of this size.
            ends = [[size(s) for s in (row[1].split("..") * 2)[:2]] for row in cells[3:]]
            if lib == ctx.lib and [count != 0 for count in counts] != [first <= 8 <= last for first, last in ends]:
                raise Failure(f"{test}: counts {counts} of ranges {ends}")
            sums.append(sum(counts))
    # 20, and some of the 2 to warm up and what the two say to each other. Genuine UCX counts what it tries again each
    # time, and not what ends on its fast path.
    if not 20 <= sums[0] <= 24:
        raise Failure(f"{test}: {sums[0]}, genuine UCX {sums[1]}")
    return sums


def lanes(ctx, tls):
    """UCX_LOG_LEVEL=info: each configuration of endpoints, and its lanes."""
    said = {}
    for lib in (ctx.lib, ctx.genuine):
        lines = output(ctx, lib, tls, "tag_lat", "n", UCX_LOG_LEVEL="info", UCX_NET_DEVICES="lo")
        said[lib] = [m[0] for line in lines if (m := re.search(r"perftest intra-node cfg#0 tag\(.*\)$", line))]
    if len(said[ctx.lib]) != 1 or said[ctx.lib] != said[ctx.genuine]:
        raise Failure(f"ours {said[ctx.lib]}, genuine UCX {said[ctx.genuine]}")
    ctx.note = said[ctx.lib][0]


def to_itself(ctx, tls):
    """An endpoint to the own worker is called so, whatever its lanes are."""
    said = {}
    for lib in (ctx.lib, ctx.genuine):
        env = where.environ(lib, tls, UCX_PROTO_INFO="y", UCX_WARN_UNUSED_ENV_VARS="n")
        r = ctx.run([where.PERFTEST, "-l", "-t", "tag_lat", "-n", "10", "-w", "2"], env, 60)
        if r.rc != 0:
            raise Failure(r.how())
        said[lib] = set(re.findall(r"perftest [a-z-]+ cfg#\d+", r.out))
    if said[ctx.lib] != {"perftest self cfg#0"} or said[ctx.lib] != said[ctx.genuine]:
        raise Failure(f"ours {said[ctx.lib]}, genuine UCX {said[ctx.genuine]}")


def filtered(ctx, tls):
    """A pattern, and nothing."""
    some = tables(output(ctx, ctx.lib, tls, "tag_lat", "tagged*(multi)*"))
    none = tables(output(ctx, ctx.lib, tls, "tag_lat", "n"))
    if list(some) != ["tagged message by ucp_tag_send*(multi) from host memory"] or none:
        raise Failure(f"pattern: {list(some)}; n: {list(none)}")


def tests():
    return over_both("tables of protocols, beside genuine UCX", all_tables) + [Test("tables of protocols that were used, beside genuine UCX", "sm", used(USES[1::3]))] + over_both("tables of protocols that were used, all, beside genuine UCX", used(USES), smoke=False) + [Test("tables of protocols, filtered", "tcp", filtered), Test("tables of protocols, to itself", "tcp", to_itself), Test("lanes at level info, beside genuine UCX", "tcp", lanes)]
