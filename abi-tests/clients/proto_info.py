"""UCX_PROTO_INFO: tables in the form that genuine UCX gives them, with a reason for each range."""
import re
import time

import where
from proc import Background, Failure
from tests import Test, over_both

# What ucx_perftest measures, and a table that goes with it.
OPERATIONS = [("tag_lat", "tagged message by ucp_tag_send* from host memory"),
              ("ucp_am_lat", "active message by ucp_am_send* from host memory"),
              ("ucp_put_bw", "remote memory write by ucp_put* from host memory to host"),
              ("ucp_get", "remote memory read by ucp_get* into host memory from host"),
              ("ucp_fadd", "fetching atomic by ucp_atomic_op* into host memory from host, arg in host memory")]


def output(ctx, lib, tls, test, wanted, port=14003):
    """The lines that the client printed, less time and process."""
    env = where.environ(lib, tls, UCX_WARN_UNUSED_ENV_VARS="n")
    command = [where.PERFTEST, "-p", str(port)]
    server = Background(command, env)
    time.sleep(0.5)
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


def filtered(ctx, tls):
    """`used`, a pattern, and nothing."""
    used = tables(output(ctx, ctx.lib, tls, "tag_lat", "used"))
    some = tables(output(ctx, ctx.lib, tls, "tag_lat", "tagged*(multi)*"))
    none = tables(output(ctx, ctx.lib, tls, "tag_lat", "n"))
    if list(used) != [OPERATIONS[0][1]] or list(some) != ["tagged message by ucp_tag_send*(multi) from host memory"] or none:
        raise Failure(f"used: {list(used)}; pattern: {list(some)}; n: {list(none)}")


def tests():
    return over_both("tables of protocols, beside genuine UCX", all_tables) + [Test("tables of protocols, filtered", "tcp", filtered)]
