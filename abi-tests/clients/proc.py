"""Runs programs with a time limit, watches which UCX libraries they and their children map, and
leaves no process behind.

All processes of a test are descendants of this one, which is a subreaper: what a launcher leaves
behind becomes our child, and is found and ended too."""
import ctypes
import os
import re
import signal
import subprocess
import threading
import time

UCX_OBJECT = re.compile(r"/libuc(?:[ptsm]|x-rs|s_signal|[ptsm]_[a-z0-9_]+|[ptsm]-[0-9a-f]+)\.so")
PR_SET_CHILD_SUBREAPER = 36


def adopt():
    """Orphans below this process become its children. (A forked process must say so again.)"""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


adopt()


CLONE_NEWNS, CLONE_NEWIPC, MS_REC, MS_PRIVATE = 0x20000, 0x8000000, 0x4000, 1 << 18


def own_shared_memory():
    """This process and those below it get a /dev/shm and SysV segments of their own, where it has the right: tests look
    at what is left there, and other programs may be running."""
    libc = ctypes.CDLL(None, use_errno=True)
    mount = lambda *args: libc.mount(*(a if a is None or isinstance(a, int) else a.encode() for a in args), None) == 0
    return (libc.unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 and mount("none", "/", None, MS_REC | MS_PRIVATE)
            and mount("tmpfs", "/dev/shm", "tmpfs", 0))


class Failure(Exception):
    """A test found something wrong."""


def stat_fields(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()


def descendants(root=None, alive_only=True):
    """pids of all processes below `root` (this process when not given)."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                f = stat_fields(name)
            except OSError:
                continue
            if not alive_only or f[0] != "Z":
                children.setdefault(int(f[1]), []).append(int(name))
    found, queue = [], [root or os.getpid()]
    while queue:
        for pid in children.get(queue.pop(), []):
            found.append(pid)
            queue.append(pid)
    return found


def objects(maps_text):
    """The files of UCX in the text of a /proc/PID/maps."""
    found = set()
    for line in maps_text.splitlines():
        path = line.split(None, 5)[5:]
        if path and UCX_OBJECT.search(path[0]):
            found.add(path[0].removesuffix(" (deleted)"))
    return found


class Watch(threading.Thread):
    """Reads the maps of all descendants, often at first, then less so. Those of `pid` are read all the time
    at first: a short client is over within some hundredths of a second."""

    def __init__(self, pid=None):
        super().__init__(daemon=True)
        self.first = [pid] if pid else []
        self.seen = {}  # pid -> set of files
        self.done = threading.Event()

    def look(self, pids):
        for pid in pids:
            try:
                with open(f"/proc/{pid}/maps") as f:
                    self.seen.setdefault(pid, set()).update(objects(f.read()))
            except OSError:
                pass

    def run(self):
        start = looked = time.monotonic()
        while not self.done.wait(self.pause(time.monotonic() - start)):
            self.look(self.first)
            if time.monotonic() - looked >= 0.02:
                self.look(descendants())
                looked = time.monotonic()

    @staticmethod
    def pause(age):
        return 0.002 if age < 0.3 else 0.02 if age < 3 else 0.25

    def stop(self):
        self.done.set()
        self.join()
        return {pid: files for pid, files in self.seen.items() if files}


class Result:
    def __init__(self, rc, out, timed_out, mapped, seconds):
        self.rc, self.out, self.timed_out, self.mapped, self.seconds = rc, out, timed_out, mapped, seconds

    def how(self):
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s"
        return f"exit status {self.rc}" if self.rc >= 0 else f"ended by signal {-self.rc}"


# Every time limit is so many times as long (run.py --patience).
patience = 1.0


# Servers whose end is waited for elsewhere (Background): how they end, and what they say then, belongs to a test.
kept = set()


def end_all(grace=2.0, spare=frozenset()):
    """Ends every descendant but those of `spare` and what is below them, and waits until none is left."""
    for sig, limit in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + limit
        while time.monotonic() < until:
            spared = set(spare).union(*(descendants(pid) for pid in spare))
            pids = [pid for pid in descendants() if pid not in spared]
            if not pids:
                break
            for pid in pids:
                try:
                    os.kill(pid, sig)
                except OSError:
                    pass
            reap(spare)
            time.sleep(0.05)
    reap(spare)


def reap(spare=frozenset()):
    """Collects what has ended, orphans that became ours among it, but for `spare`."""
    for pid in descendants(alive_only=False):
        if pid not in spare:
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass


def run(cmd, env, timeout, cwd=None, watch=True, stdin=None):
    """Runs `cmd`, with its output (both streams) in order. Never raises for what the program does."""
    start = time.monotonic()
    p = subprocess.Popen(cmd, env=env, cwd=cwd, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, start_new_session=True)
    watcher = Watch(p.pid) if watch else None
    if watcher:
        watcher.start()
    timed_out = False
    try:
        out, _ = p.communicate(timeout=timeout * patience)
    except subprocess.TimeoutExpired:
        timed_out = True
        end_all()
        out, _ = p.communicate()
    except BaseException:
        end_all()
        raise
    mapped = watcher.stop() if watcher else {}
    end_all(0.5, frozenset(kept))
    return Result(p.returncode, out.decode(errors="replace"), timed_out, mapped, time.monotonic() - start)


class Background:
    """A server, whose output is kept."""

    def __init__(self, cmd, env):
        # A shell that runs the tests in the background has its children ignore Ctrl-C.
        heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.p = subprocess.Popen(cmd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=heed)
        kept.add(self.p.pid)
        self.out = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while chunk := self.p.stdout.read1(1 << 16):
            self.out += chunk

    def finish(self, timeout):
        """Its exit status; None when it had to be ended."""
        try:
            rc = self.p.wait(timeout * patience)
        except subprocess.TimeoutExpired:
            rc = None
            try:
                os.killpg(self.p.pid, signal.SIGKILL)
            except OSError:
                pass
            self.p.wait()
        kept.discard(self.p.pid)
        # What is left in the pipe; long, for a machine on which this thread may not have run yet.
        self.reader.join(20)
        return rc, self.out.decode(errors="replace")


def told_by_both(lines, mapped, lib):
    """As `mapped_only` for two processes that print their maps: what they use UCX for may take so little of
    their time that nobody sees them with it."""
    told = [line.split()[1] for line in lines if line.startswith("MAPS ")]
    mapped_only({0: set(told)}, lib, 1)
    both = any(told.count(file) >= 2 for file in told if "libucp" in file)
    mapped_only(mapped, lib, 0 if both else 2)


def mapped_only(mapped, lib, at_least):
    """That at least so many processes had UCX mapped, and all of it from `lib`."""
    lib = os.path.realpath(lib)
    users = {pid: files for pid, files in mapped.items() if any("libucp" in f for f in files)}
    if len(users) < at_least:
        raise Failure(f"only {len(users)} of {at_least} processes were seen with UCX mapped")
    for pid, files in mapped.items():
        for f in files:
            real = os.path.realpath(f)
            if not real.startswith(lib + "/"):
                raise Failure(f"process {pid} had {f} mapped, which is not under {lib}")
