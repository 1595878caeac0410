// What the neutral names of C++ for GPUs are in CUDA, as far as they are macros. Functions, which take
// NVRTC longer, are in files of their own, for sources that call them. No header is included.

#define _ES_METHOD __device__ __forceinline__
#define _ES_FUNCTION static _ES_METHOD
#define _ES_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define _ES_LIGHT_KERNEL(threads, groups) \
    extern "C" __global__ void __launch_bounds__(threads, groups)
#define _ES_SHARED(type, name, extents) __shared__ type name extents
#define _ES_GROUP_MEMORY extern __shared__ __align__(16) unsigned char _group_memory[]
#define _ES_ITEM(axis) threadIdx.axis
#define _ES_GROUP_ID(axis) blockIdx.axis
#define _ES_GROUP_SIZE(axis) blockDim.axis
#define _ES_GROUPS(axis) gridDim.axis
#define _ES_FENCE() __threadfence()
#define _ES_BARRIER() __syncthreads()
#define _ES_LANE_SYNC(mask) __syncwarp((unsigned int)(mask))
#define _ES_COPY(to, from, bytes) memcpy(to, from, bytes)
#define _ES_BALLOT(mask, test) ((unsigned long long)__ballot_sync((unsigned int)(mask), test))
#define _ES_FIRST_BIT(bits) (__ffsll((long long)(bits)) - 1)
#define _es_mul_hi(a, b) __umulhi(a, b)
