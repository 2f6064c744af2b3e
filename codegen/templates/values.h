// A Raw is what a thread takes at once: rl_values as many as fill a pack, rl_one a single value.
// rl_bits: a value as it lies in memory. rl_acc: a value while it is combined.

typedef $bits rl_bits;
typedef $acc rl_acc;
enum { RL_LANES = 16 / sizeof(rl_bits) };
struct rl_values { enum { lanes = RL_LANES }; rl_pack pack; };
struct rl_one { enum { lanes = 1 }; rl_bits value; };

RL_DEVICE void rl_load(rl_address at, rl_values& to) { rl_load(at, to.pack); }
RL_DEVICE void rl_load(rl_address at, rl_one& to) { rl_load(at, to.value); }
RL_DEVICE void rl_store(rl_address at, rl_values from) { rl_store(at, from.pack); }
RL_DEVICE void rl_store(rl_address at, rl_one from) { rl_store(at, from.value); }

RL_DEVICE rl_bits rl_lane(rl_one from, int) { return from.value; }
RL_DEVICE void rl_set_lane(rl_one& to, int, rl_bits value) { to.value = value; }
$lane

template <int LANES> struct rl_wide { rl_acc lane[LANES]; };

template <class Raw> RL_DEVICE rl_wide<Raw::lanes> rl_widen_all(Raw from)
{
    rl_wide<Raw::lanes> to;
    RL_UNROLL for (int k = 0; k < Raw::lanes; k++) to.lane[k] = $take;
    return to;
}
template <class Raw> RL_DEVICE void rl_narrow_all(Raw& to, rl_wide<Raw::lanes> from)
{
    RL_UNROLL for (int k = 0; k < Raw::lanes; k++) rl_set_lane(to, k, rl_narrow_$name(from.lane[k]));
}
template <class Raw> RL_DEVICE void rl_narrow_all(Raw& to, Raw from) { to = from; }

template <int LANES> RL_DEVICE rl_wide<LANES> rl_merge(rl_wide<LANES> a, rl_wide<LANES> b)
{
    rl_wide<LANES> to;
    RL_UNROLL for (int k = 0; k < LANES; k++) to.lane[k] = rl_op(a.lane[k], b.lane[k]);
    return to;
}
$finish
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
    typedef rl_operands<rl_values, Shape::operands, NEAR> packs_type;
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
                rl_values value;
                rl_narrow_all(value, Shape::tree(first));
                rl_store_all<Shape>(at, 16 * i, value);
                rl_narrow_all(value, Shape::tree(second));
                rl_store_all<Shape>(at, 16 * (i + step), value);
            }
        for (; i < packs; i += step) {
            const packs_type operands(at, 16 * i);
            rl_values value;
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
