"""Where things are: the repository, the packages that tests run on, the libraries under test."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
DEPS = os.path.abspath(os.environ.get("UCX_RS_DEPS") or os.path.join(REPO, ".deps"))
OURS = os.path.join(REPO, "build", "lib")
GENUINE = os.path.join(DEPS, "libucx", "lib")  # 1.22.0, of the wheel
DEBIAN = "/usr/lib/x86_64-linux-gnu"  # 1.13.1
PERFTEST = os.path.join(DEPS, "libucx", "bin", "ucx_perftest")
INFO = os.path.join(DEPS, "libucx", "bin", "ucx_info")

TLS = {"sm": "self,sm", "tcp": "self,tcp", "both": "self,sm,tcp"}


def environ(lib, tls=None, **more):
    """The environment of a client that shall find the libraries in `lib`. What the caller's own
    environment says about UCX or OpenMPI stays out."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UCX_", "OMPI_", "PMIX_", "PRTE_"))}
    env["LD_LIBRARY_PATH"] = os.path.abspath(lib)
    env.pop("LD_PRELOAD", None)
    if tls:
        env["UCX_TLS"] = TLS.get(tls, tls)
    env.update(more)
    return env
