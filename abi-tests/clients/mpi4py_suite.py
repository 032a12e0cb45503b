"""mpi4py's test suite on Debian's OpenMPI: module by module, two ranks, beside a recorded baseline.

What genuine UCX did is in mpi4py-baseline.json. A module is worse than genuine when it ends worse, or
when a test that passed there does not pass here. To record: mpi4py_suite.py --record [--lib DIR]."""
import argparse
import json
import os
import re
import sys
import tempfile

if __name__ == "__main__":
    sys.dont_write_bytecode = True

import openmpi
import where
from proc import Failure, mapped_only, run
from tests import Context, Test

BASELINE = os.path.join(where.HERE, "mpi4py-baseline.json")
RANKS = 2
# Point-to-point, collectives, and what lies under them: short, and all that `make test` asks for.
SMOKE = re.compile(r"test_(p2p_|cco_|msgspec|msgzero|request|status|comm$|pack|datatype|op|grequest|threads)")
ENDS = ["ok", "failed", "crashed", "hung"]  # better first


def sources():
    return os.path.join(where.DEPS, "mpi4py-src", "test")


def modules():
    return sorted(f[:-3] for f in os.listdir(sources()) if re.fullmatch(r"test_\w+\.py", f))


def verdicts(prefix):
    """Each test's worst verdict over the ranks; one that began and never ended has none to its name."""
    order = ["skip", "pass", "fail", "error", "start"]
    found = {}
    for rank in range(RANKS):
        mine = {}
        try:
            with open(f"{prefix}.{rank}") as f:
                for line in f:
                    verdict, _, test = line.strip().partition(" ")
                    if verdict == "pass" and mine.get(test) in ("fail", "error"):
                        continue
                    mine[test] = verdict
        except FileNotFoundError:
            pass
        for test, verdict in mine.items():
            worst = found.get(test, verdict)
            found[test] = max(worst, verdict, key=order.index)
    return found


def run_module(ctx, tls, module, timeout, launcher=openmpi.DEBIAN):
    prefix = os.path.join(ctx.scratch, f"{module}-{tls}")
    for rank in range(RANKS):
        if os.path.exists(f"{prefix}.{rank}"):
            os.remove(f"{prefix}.{rank}")
    env = where.environ(ctx.lib, tls, PYTHONFAULTHANDLER="1")
    program = [launcher.python, "-B", os.path.join(where.HERE, "mpi4py_rank.py"), sources(), prefix, module]
    r = ctx.run(launcher.command(RANKS, program, env), env, timeout, cwd=ctx.scratch)
    found = verdicts(prefix)
    if r.timed_out:
        end = "hung"
    elif any(v == "start" for v in found.values()) or "terminated by signal" in r.out or "exited on signal" in r.out:
        end = "crashed"
    else:
        end = "ok" if r.rc == 0 else "failed"
    return r, end, found


def summary(end, found):
    return {
        "end": end,
        "passed": sum(v == "pass" for v in found.values()),
        "not_passed": {t: v for t, v in sorted(found.items()) if v != "pass"},
    }


def worse(base, end, found):
    """What is worse than in the baseline, as text; empty when nothing is."""
    complaints = []
    if ENDS.index(end) > ENDS.index(base["end"]):
        complaints.append(f"{end}, where genuine UCX is {base['end']}")
    bad = [f"{t} ({v})" for t, v in found.items() if v not in ("pass", "skip") and t not in base["not_passed"]]
    if bad:
        complaints.append("not passed here only: " + ", ".join(bad[:8]) + (f" and {len(bad) - 8} more" if len(bad) > 8 else ""))
    passed = sum(v == "pass" for v in found.values())
    if passed < base["passed"]:
        complaints.append(f"{passed} tests passed instead of {base['passed']}")
    return "; ".join(complaints)


def body_for(module, baseline):
    def body(ctx, tls):
        base = baseline[tls].get(module)
        if base is None:
            raise Failure(f"no baseline for {module}; record it")
        for attempt in range(2 if base["end"] in ("crashed", "hung") else 1):
            r, end, found = run_module(ctx, tls, module, 45 if base["end"] == "hung" else 120)
            complaint = worse(base, end, found)
            if not complaint:
                break
        if complaint:
            raise Failure(complaint)
        openmpi.selected(r, RANKS) if end in ("ok", "failed") and found else None
        if found:
            mapped_only(r.mapped, ctx.lib, RANKS)
        passed = sum(v == "pass" for v in found.values())
        ctx.note = f"{passed} passed" + (f", {end}" if end != "ok" else "")

    return body


def tests():
    with open(BASELINE) as f:
        baseline = json.load(f)
    found = []
    for module in modules():
        for tls in where.TLS:
            found.append(Test(f"mpi4py {module}", tls, body_for(module, baseline), bool(SMOKE.match(module))))
    return found


def record():
    a = argparse.ArgumentParser()
    a.add_argument("--record", metavar="FILE", default=BASELINE)
    a.add_argument("--lib", default=where.GENUINE)
    a.add_argument("--only", default="")
    o = a.parse_args()
    out = {tls: {} for tls in where.TLS}
    with tempfile.TemporaryDirectory() as scratch:
        ctx = Context(os.path.abspath(o.lib), where.GENUINE, scratch, True)
        for module in modules():
            for tls in where.TLS:
                if o.only in module:
                    r, end, found = run_module(ctx, tls, module, 60)
                    out[tls][module] = summary(end, found)
                    s = out[tls][module]
                    print(f"{module} {tls}: {end}, {s['passed']} passed, {len(s['not_passed'])} not, {r.seconds:.1f} s", flush=True)
    with open(o.record, "w") as f:
        json.dump(out, f, indent=1, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    record()
