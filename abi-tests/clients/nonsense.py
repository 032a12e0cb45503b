"""A nonsensical value in each variable: what genuine UCX 1.22.0 refuses is refused here too, at the
same step or an earlier one, with a line that names the variable; and nothing crashes or hangs.

abi-tests/capi/nonsense.tsv holds what genuine does: variable, value, the first step that fails (or
'works'), and whether something is said. The long test measures it again."""
import concurrent.futures
import os
import re
import subprocess

import capi
import proc
import settings
import where
from proc import Failure
from tests import Test

TABLE = os.path.join(capi.SOURCES, "nonsense.tsv")
VALUES = ["x", "", "0", "-1", "nan"]
STEPS = ["read", "init", "worker", "endpoint", "works"]
# Where ours differs on purpose.
IMPROVED = {
    "UCX_POSIX_DIR": "another folder or transport is used, with a warning",
    "UCX_TCP_RX_SEG_SIZE": "it may be shorter than the segments that are sent",
}
# Without effect here, so that any value is as good.
UNUSED = {"UCX_PROTOS"}


def outcome(binary, lib, name, value):
    """The step that it fails at, and the lines that say something."""
    # Not by proc.run, which can't run two at a time. Some values are names of files that are made.
    env = where.environ(lib, None, UCX_LOG_FILE="stderr", **{name: value})
    try:
        r = subprocess.run([binary], env=env, cwd=os.path.dirname(binary), capture_output=True, text=True,
                           timeout=20 * proc.patience)
    except subprocess.TimeoutExpired:
        return "hangs", []
    said = [line for line in r.stderr.splitlines() if "  UCX  " in line and "to suppress this warning" not in line]
    if r.returncode != 0:
        return "crashes", said
    lines = [line for line in r.stdout.splitlines() if line == "works" or line.split(" ")[0] in STEPS and not line.endswith(" OK")]
    return (lines or ["nothing"])[0], said


def variables(ctx):
    r = ctx.run([where.INFO, "-c"], where.environ(ctx.genuine), 30, watch=False)
    return sorted(set(re.findall(r"^(UCX_\w+)=", r.out, re.M)) - {"UCX_LOG_FILE"})


def measured(ctx, names):
    """Genuine's outcome for each variable and value."""
    binary = capi.program(ctx, "settings", "1.22.0")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {(n, v): pool.submit(outcome, binary, ctx.genuine, n, v) for n in names for v in VALUES}
        return {key: (step, "speaks" if said else "silent") for key, run in runs.items() for step, said in [run.result()]}


def recorded():
    with open(TABLE) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {(name, value): (step, says) for name, value, step, says in rows}


def record(ctx):
    with open(TABLE, "w") as f:
        f.write("# What UCX 1.22.0 does with a value: variable, value, first step that fails, whether it says something.\n")
        for (name, value), (step, says) in measured(ctx, variables(ctx)).items():
            f.write(f"{name}\t{value}\t{step}\t{says}\n")


def stage(step):
    word = step.split()[0]
    return STEPS.index(word) if word in STEPS else len(STEPS)


def wrong(name, value, genuine, ours, said):
    """What is wrong with our outcome, or None."""
    step, says = genuine
    named = [line for line in said if name in line or f"{value!r}" in line]
    if ours in ("hangs", "crashes", "nothing"):
        return ours
    if ours != "works":
        if ours.split()[1] not in ("INVALID_PARAM", "NO_DEVICE", "NO_ELEM"):
            return f"{ours}, which says little"
        if len(named) not in (1, 2):
            return f"{ours}, with {len(named)} lines that name it"
        return f"only fails at {ours}, where genuine UCX fails at {step}" if stage(ours) > stage(step) else None
    if name in IMPROVED or name in UNUSED or step in ("crashes", "hangs", "works") and says == "silent":
        return None
    if step not in ("crashes", "hangs", "works"):
        return f"works, where genuine UCX fails at {step}"
    return "nothing is said" if says == "speaks" and not said else None


def refused(ctx, tls):
    settings.needs_ours(ctx)
    binary = capi.program(ctx, "settings", "1.22.0")
    problems, table = [], recorded()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {key: pool.submit(outcome, binary, ctx.lib, *key) for key in table}
        for (name, value), run in runs.items():
            ours, said = run.result()
            problem = wrong(name, value, table[name, value], ours, said)
            if problem:
                problems.append(f"{name}='{value}': {problem}")
    if problems:
        raise Failure(f"{len(problems)} of {len(table)}: " + "; ".join(problems))
    ctx.note = f"{len(table)} settings"


def still_so(ctx, tls):
    """The table is what genuine UCX does."""
    table = recorded()
    now = measured(ctx, variables(ctx))
    # Whether it hangs or crashes may be chance.
    different = [key for key in now
                 if key in table and now[key] != table[key] and not {now[key][0], table[key][0]} & {"hangs", "crashes"}]
    if different or set(now) - set(table):
        raise Failure(f"the table is out of date: {different[:10]} {sorted(set(now) - set(table))[:10]}")


def tests():
    return [Test("settings, nonsense", None, refused), Test("settings, nonsense on genuine UCX", None, still_so, smoke=False)]
