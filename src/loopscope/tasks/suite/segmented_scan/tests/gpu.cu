/* The backend of a GPU: the same kernels.inc as in shim.c, timed with events. Every index is checked here too.

   Input, for each call: a head of three words (elements, segments, poison), then scale, shift, starts, heads. Output, for each call: nanoseconds
   of all its launches together (u64), then out_scale and out_shift. The caches hold nothing of it when it begins. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

typedef uint32_t u32;
typedef uint64_t u64;
enum { B_scale, B_shift, B_starts, B_heads, B_out_scale, B_out_shift, B_scratch, BUFFERS };

__constant__ u32 *gpu_data[BUFFERS];
__constant__ u32 gpu_length[BUFFERS], gpu_n, gpu_segments;
static u32 plan_n;
__attribute__((unused)) static u32 plan_segments;

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        exit(3);
    }
}

#define DEVICE static __device__
#define KERNEL static __global__
#define THREAD threadIdx.x
#define THREADS blockDim.x
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define N gpu_n
#define SEGMENTS gpu_segments
#define PLAN_N plan_n
#define PLAN_SEGMENTS plan_segments
#define STEP(count) ((void)0)
#define BARRIER(site) __syncthreads()
#define LOAD(buffer, site, index) load_word(buffer, index)
#define STORE(buffer, site, index, value) store_word(buffer, index, value)
#define GET(offset, words, index) get_word(offset, words, index)
#define PUT(offset, words, index, value) put_word(offset, words, index, value)
#define LAUNCH(name, blocks, threads) (name<<<(blocks), (threads)>>>(), must(cudaGetLastError(), "launch"))

#define BOTH static __host__ __device__
BOTH u32 DIVIDE(u32 a, u32 b) { return b ? a / b : 0xffffffffu; }
BOTH u32 MODULO(u32 a, u32 b) { return b ? a % b : 0xffffffffu; }
BOTH u32 SHIFT_LEFT(u32 a, u32 b) { return a << (b & 31); }
BOTH u32 SHIFT_RIGHT(u32 a, u32 b) { return a >> (b & 31); }
DEVICE u32 checked(u32 index, u32 words)
{
    if (index >= words)
        __trap();
    return index;
}
DEVICE u32 load_word(u32 buffer, u32 index) { return gpu_data[buffer][checked(index, gpu_length[buffer])]; }
DEVICE void store_word(u32 buffer, u32 index, u32 value) { gpu_data[buffer][checked(index, gpu_length[buffer])] = value; }
DEVICE u32 *shared_words(void);
DEVICE u32 get_word(u32 offset, u32 words, u32 index) { return shared_words()[offset + checked(index, words)]; }
DEVICE void put_word(u32 offset, u32 words, u32 index, u32 value) { shared_words()[offset + checked(index, words)] = value; }
#include "kernels.inc"

DEVICE u32 *shared_words(void)
{
    __shared__ u32 words[SHARED_TOTAL];
    return words;
}

static __global__ void poison(u32 *words, u32 count, u32 noise)
{
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count)
        words[at] = (at ^ noise) * 2654435761u ^ noise >> 7;
}

static void take(void *to, size_t size)
{
    if (fread(to, 1, size, stdin) != size)
        exit(2);
}

static void call(const u32 *head, char *flush, size_t flush_size)
{
    u32 n = head[0], *device[BUFFERS];
    plan_n = n;
    plan_segments = head[1];
    u32 sizes[BUFFERS] = {n, n, head[1] + 1, (n + 31) / 32, n, n, 2 * n + 64};
    u32 *host = (u32 *)malloc((2 * (size_t)n + 64) * sizeof(u32));
    for (int b = 0; b < BUFFERS; b++) {
        must(cudaMalloc(&device[b], sizes[b] * sizeof(u32)), "memory");
        if (b < B_out_scale) {
            take(host, sizes[b] * sizeof(u32));
            must(cudaMemcpy(device[b], host, sizes[b] * sizeof(u32), cudaMemcpyHostToDevice), "input");
        } else
            poison<<<(sizes[b] + 255) / 256, 256>>>(device[b], sizes[b], head[2] + b);
    }
    must(cudaMemcpyToSymbol(gpu_data, device, sizeof device), "places");
    must(cudaMemcpyToSymbol(gpu_length, sizes, sizeof sizes), "lengths");
    must(cudaMemcpyToSymbol(gpu_n, &n, sizeof n), "elements");
    must(cudaMemcpyToSymbol(gpu_segments, &head[1], sizeof(u32)), "segments");
    must(cudaMemset(flush, (int)head[2], flush_size), "flush");
    must(cudaDeviceSynchronize(), "before");
    cudaEvent_t before, after;
    must(cudaEventCreate(&before), "event");
    must(cudaEventCreate(&after), "event");
    must(cudaEventRecord(before), "event");
    plan();
    must(cudaEventRecord(after), "event");
    must(cudaDeviceSynchronize(), "kernels");
    float milliseconds;
    must(cudaEventElapsedTime(&milliseconds, before, after), "event");
    u64 nanoseconds = (u64)(1e6 * milliseconds + 0.5);
    fwrite(&nanoseconds, sizeof nanoseconds, 1, stdout);
    for (int b = B_out_scale; b <= B_out_shift; b++) {
        must(cudaMemcpy(host, device[b], n * sizeof(u32), cudaMemcpyDeviceToHost), "output");
        fwrite(host, sizeof(u32), n, stdout);
    }
    fflush(stdout);
    for (int b = 0; b < BUFFERS; b++)
        must(cudaFree(device[b]), "memory");
    free(host);
}

int main(void)
{
    size_t flush_size = (size_t)256 << 20;
    char *flush;
    must(cudaMalloc(&flush, flush_size), "memory");
    u32 head[3];
    while (fread(head, sizeof head, 1, stdin) == 1)
        call(head, flush, flush_size);
    return 0;
}
