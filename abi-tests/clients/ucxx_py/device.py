"""Memory of a device as arrays that other packages take for one, by the driver alone: no kernels, no
runtime, so it works on a simulated driver too."""
import ctypes

import numpy as np

_driver = None


def driver():
    """The driver, with the first device's primary context current in this thread."""
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
        _call("cuInit", 0)
    current = ctypes.c_void_p()
    _call("cuCtxGetCurrent", ctypes.byref(current))
    if not current:
        context = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        _call("cuCtxPushCurrent_v2", context)
    return _driver


def _call(name, *arguments):
    code = getattr(_driver, name)(*arguments)
    if code:
        raise RuntimeError(f"{name} gave {code}")


def call(name, *arguments):
    driver()
    _call(name, *arguments)


class DeviceArray:
    """Bytes on a device. numpy reads a copy of them."""

    def __init__(self, size):
        self.size = size
        at = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(size, 1)))
        self.at = at.value
        self[:] = np.zeros(size, dtype=np.uint8)

    def __del__(self):
        call("cuMemFree_v2", ctypes.c_uint64(self.at))

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.at, False), "version": 3, "strides": None}

    def __array__(self, dtype=None, copy=None):
        return self[:] if dtype is None else self[:].astype(dtype)

    def _part(self, part):
        start, stop, step = part.indices(self.size)
        assert step == 1
        return self.at + start, max(0, stop - start)

    def __getitem__(self, part):
        at, size = self._part(part)
        out = np.empty(size, dtype=np.uint8)
        if size:
            call("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(at), ctypes.c_size_t(size))
        return out

    def __setitem__(self, part, data):
        at, size = self._part(part)
        data = np.ascontiguousarray(np.broadcast_to(np.asarray(data, dtype=np.uint8), (size,)))
        if size:
            call("cuMemcpyHtoD_v2", ctypes.c_uint64(at), ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(size))
