"""A Python process whose memory is watched: watched.py HELPER"""
import ctypes
import mmap
import os
import sys
import threading

helper = ctypes.CDLL(sys.argv[1])
helper.helper_bytes.restype = ctypes.c_ulong
SIZE = 64 << 20


def gone(what):
    before = helper.helper_bytes()
    what()
    return helper.helper_bytes() - before >= SIZE


def mapping():
    with mmap.mmap(-1, SIZE) as memory:
        memory[0] = 1


def block():
    memory = bytearray(SIZE)
    del memory


print("start:", helper.helper_start())
print("test:", helper.helper_test())
print("mmap:", gone(mapping))
print("bytearray:", gone(block))
import json  # noqa: E402  modules loaded after the hooks
import decimal  # noqa: E402
import ssl  # noqa: E402

print("json:", len(json.dumps([str(decimal.Decimal(i) / 7) for i in range(1000)])) > 0, ssl.HAS_SNI in (True, False))
threads = [threading.Thread(target=lambda: [block() for _ in range(20)]) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
child = os.fork()
if child == 0:
    os._exit(0 if gone(block) and gone(mapping) else 1)
print("child:", os.waitpid(child, 0)[1])
print("test:", helper.helper_test())
helper.helper_stop()
print("stopped:", not gone(mapping))
print("end")
