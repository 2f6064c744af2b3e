$header

// ------------------------------------------------------------------------------- machine

#ifdef RL_HOST // g++ -DRL_HOST: the same text on a CPU, threads one after another
#define RL_DEVICE static inline
#define RL_METHOD inline
#define RL_KERNEL extern "C" void
#define RL_UNROLL
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
#define RL_UNROLL _Pragma("unroll")
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

// ------------------------------------------------------------------------------- element
// rl_bits: a value as it lies in memory. rl_acc: a value while it is combined.

$element

// ------------------------------------------------------------------------------- operator

$operator

// ------------------------------------------------------------------------------- memory
// A Raw is what one access moves: rl_pack 16 bytes, rl_one a single value. All accesses are
// volatile and in the order written, so that source and target may be the same place.

typedef unsigned long long rl_address;
enum { RL_LANES = 16 / sizeof(rl_bits) };
struct rl_pack { enum { lanes = RL_LANES }; unsigned int word[4]; };
struct rl_one { enum { lanes = 1 }; rl_bits value; };

#ifdef RL_HOST // a misaligned access ends the process, as it does on a device
RL_DEVICE void* rl_at(rl_address at)
{
    if (at & 15) __builtin_trap();
    return (void*)at;
}
RL_DEVICE void rl_load(rl_address at, rl_pack& to) { __builtin_memcpy(to.word, rl_at(at), 16); }
RL_DEVICE void rl_store(rl_address at, rl_pack from) { __builtin_memcpy(rl_at(at), from.word, 16); }
RL_DEVICE void rl_load(rl_address at, rl_one& to) { to.value = *(volatile rl_bits*)at; }
RL_DEVICE void rl_store(rl_address at, rl_one from) { *(volatile rl_bits*)at = from.value; }
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
RL_DEVICE void rl_load(rl_address at, rl_one& to)
{
    $load_one
}
RL_DEVICE void rl_store(rl_address at, rl_one from)
{
    $store_one
}
RL_DEVICE rl_address rl_load_address(const long long* from) // the table is never written
{
    rl_address to;
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(to) : "l"(from));
    return to;
}
#endif

RL_DEVICE rl_bits rl_lane(rl_one from, int) { return from.value; }
RL_DEVICE void rl_set_lane(rl_one& to, int, rl_bits value) { to.value = value; }
$lane

// ------------------------------------------------------------------------------- rows

template <int LANES> struct rl_wide { rl_acc lane[LANES]; };

template <class Raw> RL_DEVICE rl_wide<Raw::lanes> rl_widen_all(Raw from)
{
    rl_wide<Raw::lanes> to;
    RL_UNROLL for (int k = 0; k < Raw::lanes; k++) to.lane[k] = rl_widen(rl_lane(from, k));
    return to;
}
template <class Raw> RL_DEVICE void rl_narrow_all(Raw& to, rl_wide<Raw::lanes> from)
{
    RL_UNROLL for (int k = 0; k < Raw::lanes; k++) rl_set_lane(to, k, rl_narrow(from.lane[k]));
}
template <class Raw> RL_DEVICE void rl_narrow_all(Raw& to, Raw from) { to = from; }

template <int LANES> RL_DEVICE rl_wide<LANES> rl_merge(rl_wide<LANES> a, rl_wide<LANES> b)
{
    rl_wide<LANES> to;
    RL_UNROLL for (int k = 0; k < LANES; k++) to.lane[k] = rl_op(a.lane[k], b.lane[k]);
    return to;
}

// The addresses of a row: in registers, or read again at each use when they are too many.
template <int N, bool NEAR> struct rl_addresses {
    rl_address at[N];
    RL_METHOD rl_addresses(const long long* row)
    {
        RL_UNROLL for (int n = 0; n < N; n++) at[n] = row[n];
    }
    RL_METHOD rl_address operator[](int n) const { return at[n]; }
};
template <int N> struct rl_addresses<N, false> {
    const long long* row;
    RL_METHOD rl_addresses(const long long* row) : row(row) {}
    RL_METHOD rl_address operator[](int n) const { return rl_load_address(row + n); }
};

// The operands of one place: all loaded at first, or each when the tree asks for it.
template <class Raw, int N, bool NEAR> struct rl_operands {
    Raw loaded[N];
    template <class Addresses> RL_METHOD rl_operands(const Addresses& at, rl_address offset)
    {
        RL_UNROLL for (int n = 0; n < N; n++) rl_load(at[n] + offset, loaded[n]);
    }
    RL_METHOD Raw raw(int n) const { return loaded[n]; }
    RL_METHOD rl_wide<Raw::lanes> operator()(int n) const { return rl_widen_all(loaded[n]); }
};
template <class Raw, int N> struct rl_operands<Raw, N, false> {
    const rl_addresses<N, false> at;
    const rl_address offset;
    template <class Addresses> RL_METHOD rl_operands(const Addresses& from, rl_address offset)
        : at(from.row), offset(offset) {}
    RL_METHOD Raw raw(int n) const { Raw to; rl_load(at[n] + offset, to); return to; }
    RL_METHOD rl_wide<Raw::lanes> operator()(int n) const { return rl_widen_all(raw(n)); }
};

template <class Shape, class Addresses, class Raw>
RL_DEVICE void rl_store_all(const Addresses& at, rl_address offset, Raw value)
{
    RL_UNROLL for (int t = 0; t < Shape::targets; t++)
        rl_store(at[Shape::operands + t] + offset, value);
}

// A row of the table: length in elements, the operands' addresses, the targets' addresses.
template <class Shape> RL_DEVICE void rl_run(const long long* table, long long rows)
{
    enum { NEAR = Shape::operands <= 16 && Shape::targets <= 16,
           UNROLL = Shape::operands <= 8, PLACES = Shape::operands + Shape::targets };
    typedef rl_operands<rl_pack, Shape::operands, NEAR> packs_type;
    typedef rl_operands<rl_one, Shape::operands, NEAR> ones_type;
    const long long step = rl_threads();
    for (long long r = rl_block_row(); r < rows; r += rl_block_rows()) {
        const long long* row = table + r * (1 + PLACES);
        const long long length = row[0];
        const rl_addresses<PLACES, NEAR> at(row + 1);
        rl_address all = 0;
        RL_UNROLL for (int n = 0; n < PLACES; n++) all |= at[n];
        const long long packs = all & 15 ? 0 : length / RL_LANES;
        long long i = rl_thread();
        if (UNROLL)
            for (; i + step < packs; i += 2 * step) {
                const packs_type first(at, 16 * i), second(at, 16 * (i + step));
                rl_pack value;
                rl_narrow_all(value, Shape::tree(first));
                rl_store_all<Shape>(at, 16 * i, value);
                rl_narrow_all(value, Shape::tree(second));
                rl_store_all<Shape>(at, 16 * (i + step), value);
            }
        for (; i < packs; i += step) {
            const packs_type operands(at, 16 * i);
            rl_pack value;
            rl_narrow_all(value, Shape::tree(operands));
            rl_store_all<Shape>(at, 16 * i, value);
        }
        for (i = packs * RL_LANES + rl_thread(); i < length; i += step) {
            const ones_type operands(at, sizeof(rl_bits) * i);
            rl_one value;
            rl_narrow_all(value, Shape::tree(operands));
            rl_store_all<Shape>(at, sizeof(rl_bits) * i, value);
        }
    }
}

// ------------------------------------------------------------------------------- kernels
$shapes
