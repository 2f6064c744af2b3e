$header

// ------------------------------------------------------------------------------- machine

#ifdef RL_HOST // g++ -DRL_HOST: the same text on a CPU, threads one after another
#define RL_DEVICE static inline
#define RL_METHOD inline
#define RL_KERNEL extern "C" void
#define RL_CALL static inline
#define RL_UNROLL
#define RL_LOOP
#define RL_EITHER(host, device) host
static thread_local long long rl_host_x, rl_host_xs, rl_host_y, rl_host_ys;
RL_DEVICE long long rl_thread() { return rl_host_x; }
RL_DEVICE long long rl_threads() { return rl_host_xs; }
RL_DEVICE long long rl_block_row() { return rl_host_y; }
RL_DEVICE long long rl_block_rows() { return rl_host_ys; }

extern "C" void rl_host_launch(void (*kernel)(const long long*, long long), long long tiles,
                               long long grid_rows, long long threads, const long long* table,
                               long long rows)
{
    rl_host_xs = tiles * threads;
    rl_host_ys = grid_rows;
    for (rl_host_y = 0; rl_host_y < grid_rows; rl_host_y++)
        for (rl_host_x = 0; rl_host_x < rl_host_xs; rl_host_x++)
            kernel(table, rows);
}
#else
#define RL_DEVICE static __device__ __forceinline__
#define RL_METHOD __device__ __forceinline__
#define RL_KERNEL extern "C" __global__ void __launch_bounds__($threads)
#define RL_CALL static __device__ __noinline__
#define RL_UNROLL _Pragma("unroll")
#define RL_LOOP _Pragma("unroll 4")
#define RL_EITHER(host, device) device // what rounds once, for nothing may be contracted
RL_DEVICE long long rl_thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
RL_DEVICE long long rl_threads() { return (long long)gridDim.x * blockDim.x; }
RL_DEVICE long long rl_block_row() { return blockIdx.y; }
RL_DEVICE long long rl_block_rows() { return gridDim.y; }
#endif

template <class To, class From> RL_DEVICE To rl_cast(From from)
{
    union { From from; To to; } both;
    both.from = from;
    return both.to;
}

// ------------------------------------------------------------------------------- operator

$operator

// ------------------------------------------------------------------------------- memory
// One access moves a rl_pack, 16 bytes, or a word. All accesses are volatile and in the order
// written, so that source and target may be the same place.

typedef unsigned long long rl_address;
struct rl_pack { unsigned int word[4]; };

#ifdef RL_HOST // a misaligned access ends the process, as it does on a device
RL_DEVICE void* rl_at(rl_address at)
{
    if (at & 15) __builtin_trap();
    return (void*)at;
}
RL_DEVICE void rl_load(rl_address at, rl_pack& to) { __builtin_memcpy(to.word, rl_at(at), 16); }
RL_DEVICE void rl_store(rl_address at, rl_pack from) { __builtin_memcpy(rl_at(at), from.word, 16); }
template <class Word> RL_DEVICE void rl_load(rl_address at, Word& to) { to = *(volatile Word*)at; }
template <class Word> RL_DEVICE void rl_store(rl_address at, Word from)
{
    *(volatile Word*)at = from;
}
RL_DEVICE rl_address rl_load_address(const long long* from) { return *from; }
#else
RL_DEVICE void rl_load(rl_address at, rl_pack& to)
{
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
                 : "l"(at) : "memory");
}
RL_DEVICE void rl_store(rl_address at, rl_pack from)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(from.word[0]),
                 "r"(from.word[1]), "r"(from.word[2]), "r"(from.word[3]) : "memory");
}
$words
RL_DEVICE rl_address rl_load_address(const long long* from) // the table is never written
{
    rl_address to;
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(to) : "l"(from));
    return to;
}
#endif

// ------------------------------------------------------------------------------- rows

$body

// ------------------------------------------------------------------------------- kernels
$shapes
