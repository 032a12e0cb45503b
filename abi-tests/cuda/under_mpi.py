"""Unmodified MPIs, none of which knows anything of CUDA, with buffers on devices: they hand them to UCX."""
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "clients"))
import launchers  # noqa: E402
import proc  # noqa: E402

FAST = "self,sm,cuda_copy,cuda_ipc"
SLOW = "self,tcp,cuda_copy"
MPIS = {mpi.name: mpi for mpi in (*launchers.OPENMPIS, *launchers.MPICHS)}


class UnderMpi:
    """The program, compiled for an MPI, in a room of the tests."""

    def __init__(self, room, mpi, flags):
        self.room, self.mpi = room, mpi
        self.program = room.folder / f"under_mpi-{mpi.name}"
        self.flags = [str(flag) for flag in flags]
        self.compile()

    def compile(self):
        compiler = self.mpi.compiler or str(Path(self.mpi.mpirun).parent / "mpicc")
        source = str(HERE / "under_mpi.c")
        r = proc.run([compiler, "-O1", "-g", "-w", source, "-o", str(self.program), *self.flags], None, 60, watch=False)
        if r.rc:
            raise proc.Failure(f"{self.mpi.name}: {r.out[-2000:]}")

    def run(self, lib, tls, *arguments, ranks=2, **env):
        """Its output, and what each rank reports of the driver's calls."""
        ctx = SimpleNamespace(lib=str(lib), scratch=str(self.room.folder))
        env = self.mpi.environ(ctx, tls, **env)
        more = {key: value for key, value in self.room.env(lib, {}).items() if key.startswith("CUDASIM_")}
        folder = self.room.folder / "reports"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        env |= more | {"CUDASIM_REPORT": str(folder / "%p"), "UCX_WARN_UNUSED_ENV_VARS": "n"}
        env["LD_LIBRARY_PATH"] += ":" + self.room.env(lib, {})["LD_LIBRARY_PATH"]
        program = [str(self.program), *map(str, arguments)]
        r = proc.run(self.mpi.command(ranks, program, env), env, 120)
        what = f"{self.mpi.name} {tls} {' '.join(map(str, arguments))}"
        if r.timed_out or r.rc:
            raise proc.Failure(f"{what}: {r.how()}: {r.out[-2500:]}")
        self.mpi.selected(r, ranks)
        proc.mapped_only(r.mapped, str(lib), ranks)
        return r.out, [path.read_text() for path in folder.iterdir() if "cuMemAlloc" in path.read_text()]
