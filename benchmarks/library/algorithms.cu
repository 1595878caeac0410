// C++'s algorithms by Thrust, on the default stream, for algorithms.py. Each returns a number.
#include <thrust/adjacent_difference.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/inner_product.h>
#include <thrust/logical.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
using T = double;
struct Large { __host__ __device__ bool operator()(T x) const { return x > 0.5; } };
struct Huge { __host__ __device__ bool operator()(T x) const { return x > 2.0; } };
struct Twice { __host__ __device__ T operator()(T x) const { return 2.0 * x + 1.0; } };
static auto how = thrust::device;
#define IN const T *x, T *y, T *z, long n
#define X thrust::device_pointer_cast(x), thrust::device_pointer_cast(x) + n
#define Y thrust::device_pointer_cast(y)
#define Z thrust::device_pointer_cast(z)
extern "C" {
double count_if(IN) { return thrust::count_if(how, X, Large()); }
double all_of(IN) { return thrust::none_of(how, X, Huge()); }
double find_if(IN) { return thrust::find_if(how, X, Huge()) - thrust::device_pointer_cast(x); }
double equal(IN) { return thrust::equal(how, X, Z); }
double reduce(IN) { return thrust::reduce(how, X, 0.0); }
double transform_reduce(IN) { return thrust::inner_product(how, X, Z, 0.0); }
double max_element(IN) { return thrust::max_element(how, X) - thrust::device_pointer_cast(x); }
double is_sorted(IN) { return thrust::is_sorted(how, Z, Z + n); }
double fill(IN) { thrust::fill(how, Y, Y + n, 3.0); return 0; }
double copy(IN) { thrust::copy(how, X, Y); return 0; }
double transform(IN) { thrust::transform(how, X, Y, Twice()); return 0; }
double replace_if(IN) { thrust::replace_if(how, Y, Y + n, Huge(), 0.25); return 0; }
double reverse_copy(IN) { thrust::reverse_copy(how, X, Y); return 0; }
double copy_if(IN) { return thrust::copy_if(how, X, Y, Large()) - Y; }
double remove_copy_if(IN) { return thrust::remove_copy_if(how, X, Y, Large()) - Y; }
double unique_copy(IN) { return thrust::unique_copy(how, X, Y) - Y; }
double inclusive_scan(IN) { thrust::inclusive_scan(how, X, Y); return 0; }
double exclusive_scan(IN) { thrust::exclusive_scan(how, X, Y, 0.0); return 0; }
double adjacent_difference(IN) { thrust::adjacent_difference(how, X, Y); return 0; }
double wait() { return cudaDeviceSynchronize(); }
}
