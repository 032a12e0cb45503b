"""ucxx and NIXL, unmodified wheels, with buffers on devices: memory of the driver, since rmm and cupy
bring a CUDA runtime of their own, which doesn't start on a simulated driver."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "clients"))
import nixl_py  # noqa: E402
import proc  # noqa: E402
import ucxx_py  # noqa: E402

FAST = "self,sm,cuda_copy,cuda_ipc"
SLOW = "self,tcp,cuda_copy"


class InRoom:
    """What those tests run with, on the simulated machine of a room."""

    def __init__(self, room, lib, full):
        self.room, self.lib, self.full, self.scratch = room, str(lib), full, str(room.folder)
        self.note = self.said = ""

    def run(self, command, env, limit):
        path = self.room.env(env["LD_LIBRARY_PATH"], {})["LD_LIBRARY_PATH"]
        more = {"LD_LIBRARY_PATH": path, "CUDASIM_DIR": str(self.room.machine)}
        more["CUDASIM_REPORT"] = str(self.room.folder / "report-%p")
        r = proc.run([str(part) for part in command], env | more, limit)
        self.said = r.out
        return r

    def reports(self):
        found = [path.read_text() for path in self.room.folder.glob("report-*")]
        for path in self.room.folder.glob("report-*"):
            path.unlink()
        return [report for report in found if "cuMemAlloc" in report]


def said_by(run):
    def checked(room, lib, tls, *options, full=False):
        ctx = InRoom(room, lib, full)
        try:
            run(ctx, tls, [*options, "--device"] + (["--full"] if full else []))
        except proc.Failure as failure:
            raise proc.Failure(f"{tls} {options}: {failure}: {ctx.said[-2500:]}") from None
        return ctx.said, ctx.reports()

    return checked


@said_by
def ucxx(ctx, tls, options):
    program = str(Path(ucxx_py.PROGRAMS) / "sync.py")
    ucxx_py.own(ctx, ctx.lib, ucxx_py.once(ctx, ctx.lib, tls, [program, *options], {}))


@said_by
def nixl(ctx, tls, options):
    nixl_py.once(ctx, ctx.lib, tls, options)
