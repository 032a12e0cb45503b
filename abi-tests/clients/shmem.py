"""OpenSHMEM: Debian's, of OpenMPI 4.1.4, whose spml, atomic and sshmem are UCX's."""
import os

import where
from launchers import OPENMPI
from proc import mapped_only
from tests import over_all, over_both, succeeded

# Without opal_mem_hooks=0 every program crashes in finalize, with genuine UCX too: a hook of a
# component that was unloaded.
OPTIONS = ("spml", "ucx", "spml_ucx_tls", "any", "spml_ucx_devices", "any", "atomic", "ucx", "sshmem", "ucx",
           "opal_common_ucx_opal_mem_hooks", "0")


def program(source, pes):
    def body(ctx, tls):
        binary = ctx.compiled(os.path.join(where.HERE, "shmem", source), "oshcc", "-Wno-deprecated-declarations")
        env = OPENMPI.environ(ctx, tls)
        cmd = OPENMPI.command(pes, ["-x", "SHMEM_SYMMETRIC_HEAP_SIZE=64M", binary], env, mca=OPTIONS)
        # oshrun is mpirun by another name; the components are chosen, or the program ends.
        r = ctx.run(["/usr/bin/oshrun", *cmd[1:]], env, 90)
        succeeded(r, "ok end")
        mapped_only(r.mapped, ctx.lib, pes)
        if "shmem_ptr reaches" in r.out:
            reached = r.out.split("shmem_ptr reaches", 1)[1].splitlines()[0]
            ctx.note = "shmem_ptr reaches" + reached

    return body


def tests():
    found = []
    for source in ("rma.c", "atomics.c", "collectives.c"):
        name = f"oshmem {source[:-2]}"
        found += over_both(f"{name} 2 PEs", program(source, 2))
        found += over_all(f"{name} 4 PEs", program(source, 4))
    return found
