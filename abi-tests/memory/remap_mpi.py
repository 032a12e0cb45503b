"""Large messages from and to memory that is mapped anew each time: remap_mpi.py ROUNDS BYTES"""
import ctypes
import mmap
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
rounds, size = int(sys.argv[1]), int(sys.argv[2])
wrong = again = last = 0
for i in range(rounds):
    with mmap.mmap(-1, size) as memory:
        first = ctypes.c_char.from_buffer(memory)
        address = ctypes.addressof(first)
        del first
        again += address == last
        last = address
        pattern = b"%8d" % i
        if rank == 0:
            memory[:] = pattern * (size // 8)
            comm.Send([memory, MPI.BYTE], 1, 7)
        elif rank == 1:
            comm.Recv([memory, MPI.BYTE], 0, 7)
            wrong += memory[:] != pattern * (size // 8)
wrong = comm.allreduce(wrong)
if rank == 0:
    print(f"wrong {wrong} again {again > rounds // 2}")
