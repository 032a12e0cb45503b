/* The part of the CUDA driver API that the programs here call, declared from its documentation. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUevent, *CUpool;
typedef struct { unsigned char bytes[64]; } CUtoken; /* every handle that travels */
typedef struct { int type, id; } CUlocation;
typedef struct {
    int type, handle_types;
    CUlocation location;
    void *win32;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
} CUprop;
typedef struct { CUlocation location; int flags; } CUaccess;
typedef struct {
    int type, handle_types;
    CUlocation location;
    void *win32;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
} CUpoolprops;

enum { FILE_DESCRIPTOR = 1, FABRIC = 8 };

int cuInit(unsigned);
int cuDeviceGetCount(int *);
int cuDeviceGetAttribute(int *, int, CUdevice);
int cuDeviceCanAccessPeer(int *, CUdevice, CUdevice);
int cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
int cuDevicePrimaryCtxRelease_v2(CUdevice);
int cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
int cuCtxDestroy_v2(CUcontext);
int cuCtxPushCurrent_v2(CUcontext);
int cuCtxPopCurrent_v2(CUcontext *);
int cuCtxGetCurrent(CUcontext *);
int cuCtxSynchronize(void);
int cuCtxSetFlags(unsigned);
int cuStreamCreate(CUstream *, unsigned);
int cuStreamSynchronize(CUstream);
int cuStreamQuery(CUstream);
int cuStreamDestroy_v2(CUstream);
int cuLaunchHostFunc(CUstream, void (*)(void *), void *);
int cuStreamWaitEvent(CUstream, CUevent, unsigned);
int cuEventCreate(CUevent *, unsigned);
int cuEventRecord(CUevent, CUstream);
int cuEventQuery(CUevent);
int cuEventSynchronize(CUevent);
int cuEventDestroy_v2(CUevent);
int cuIpcGetEventHandle(CUtoken *, CUevent);
int cuIpcOpenEventHandle(CUevent *, CUtoken);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemAlloc_v2(CUdeviceptr *, size_t);
int cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
int cuMemFree_v2(CUdeviceptr);
int cuMemAllocFromPoolAsync(CUdeviceptr *, size_t, CUpool, CUstream);
int cuMemFreeAsync(CUdeviceptr, CUstream);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
int cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
int cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
int cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream);
int cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
int cuPointerGetAttribute(void *, int, CUdeviceptr);
int cuIpcGetMemHandle(CUtoken *, CUdeviceptr);
int cuIpcOpenMemHandle_v2(CUdeviceptr *, CUtoken, unsigned);
int cuIpcCloseMemHandle(CUdeviceptr);
int cuMemCreate(uint64_t *, size_t, const CUprop *, unsigned long long);
int cuMemRelease(uint64_t);
int cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
int cuMemAddressFree(CUdeviceptr, size_t);
int cuMemMap(CUdeviceptr, size_t, size_t, uint64_t, unsigned long long);
int cuMemUnmap(CUdeviceptr, size_t);
int cuMemSetAccess(CUdeviceptr, size_t, const CUaccess *, size_t);
int cuMemExportToShareableHandle(void *, uint64_t, int, unsigned long long);
int cuMemImportFromShareableHandle(uint64_t *, void *, int);
int cuMemPoolCreate(CUpool *, const CUpoolprops *);
int cuMemPoolDestroy(CUpool);
int cuMemPoolExportToShareableHandle(void *, CUpool, int, unsigned long long);
int cuMemPoolImportFromShareableHandle(CUpool *, void *, int, unsigned long long);
int cuMemPoolExportPointer(CUtoken *, CUdeviceptr);
int cuMemPoolImportPointer(CUdeviceptr *, CUpool, CUtoken *);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);

#define CU(call)                                                                     \
    do {                                                                             \
        int code_ = (call);                                                          \
        if (code_) {                                                                 \
            printf("FAILED %s:%d: %s gave %d\n", __FILE__, __LINE__, #call, code_);  \
            fflush(stdout);                                                          \
            _exit(3);                                                                \
        }                                                                            \
    } while (0)

/* The device's primary context, current in this thread. */
__attribute__((unused)) static void use_device(CUdevice d)
{
    CUcontext c;
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&c, d));
    CU(cuCtxPushCurrent_v2(c));
}

__attribute__((unused)) static size_t free_memory(void)
{
    size_t left, all;
    CU(cuMemGetInfo_v2(&left, &all));
    return left;
}
#endif
