// A record is $bytes bytes of memory, its fields without gaps; a thread combines whole ones. Words
// of fields lie at multiples of their size where the addresses are multiples of $grain and the
// layout lets them; others are moved byte by byte.

enum { RL_BYTES = $bytes, RL_GRAIN = $grain };

template <class Word, bool NATURAL> RL_DEVICE Word rl_get(rl_address at)
{
    Word to = 0;
    if (NATURAL) {
        rl_load(at, to);
        return to;
    }
    RL_UNROLL for (int n = 0; n < (int)sizeof(Word); n++) {
        unsigned char part;
        rl_load(at + n, part);
        to = (Word)(to | (Word)part << 8 * n);
    }
    return to;
}
template <class Word, bool NATURAL> RL_DEVICE void rl_put(rl_address at, Word from)
{
    if (NATURAL) {
        rl_store(at, from);
        return;
    }
    RL_UNROLL for (int n = 0; n < (int)sizeof(Word); n++)
        rl_store(at + n, (unsigned char)(from >> 8 * n));
}

template <bool WHOLE> RL_DEVICE void rl_load_record(rl_address at, rl_record& to)
{
$load
}
template <bool WHOLE> RL_DEVICE void rl_store_record(rl_address at, const rl_record& from)
{
$store
}

// One record of every operand of a row: where they lie, and whether words may be moved whole.
struct rl_place {
    const long long* at;
    rl_address offset;
    bool whole;
};
$call void rl_take(const rl_place& from, int n, rl_record& to)
{
    const rl_address at = rl_load_address(from.at + n) + from.offset;
$take
}
$call void rl_give(const rl_place& to, int n, const rl_record& from)
{
    const rl_address at = rl_load_address(to.at + n) + to.offset;
    if (to.whole) rl_store_record<true>(at, from);
    else rl_store_record<false>(at, from);
}

template <class Shape> RL_DEVICE rl_address rl_all_addresses(const long long* row)
{
    rl_address all = 0;
    for (int n = 0; n < Shape::operands + Shape::targets; n++) all |= rl_load_address(row + 1 + n);
    return all;
}

// A row of the table: length in records, the operands' addresses, the targets' addresses. The
// whole result is made before any of it is stored.
template <class Shape> RL_DEVICE void rl_run(const long long* table, long long rows)
{
    for (long long r = rl_block_row(); r < rows; r += rl_block_rows()) {
        const long long* row = table + r * (1 + Shape::operands + Shape::targets);
        const bool whole = !(rl_all_addresses<Shape>(row) & (RL_GRAIN - 1));
        const long long length = row[0];
        for (long long i = rl_thread(); i < length; i += rl_threads()) {
            const rl_place place = {row + 1, (rl_address)RL_BYTES * i, whole};
            rl_record value;
            Shape::make(place, value);
            for (int t = 0; t < Shape::targets; t++) rl_give(place, Shape::operands + t, value);
        }
    }
}

// Copies move words, as wide as the addresses let them, whatever the records are.
template <class Shape, class Word>
RL_DEVICE void rl_move(const long long* row, long long first, long long last)
{
    for (long long i = first + rl_thread(); i < last; i += rl_threads()) {
        Word word;
        rl_load(rl_load_address(row + 1) + sizeof(Word) * i, word);
        for (int t = 0; t < Shape::targets; t++)
            rl_store(rl_load_address(row + 2 + t) + sizeof(Word) * i, word);
    }
}
template <class Shape> RL_DEVICE void rl_copy(const long long* table, long long rows)
{
    for (long long r = rl_block_row(); r < rows; r += rl_block_rows()) {
        const long long* row = table + r * (1 + Shape::operands + Shape::targets);
        const rl_address all = rl_all_addresses<Shape>(row);
        const long long bytes = RL_BYTES * row[0];
        if (!(all & 15)) {
            rl_move<Shape, rl_pack>(row, 0, bytes / 16);
            rl_move<Shape, unsigned char>(row, bytes / 16 * 16, bytes);
        } else if (!(all & 3)) {
            rl_move<Shape, unsigned int>(row, 0, bytes / 4);
            rl_move<Shape, unsigned char>(row, bytes / 4 * 4, bytes);
        } else {
            rl_move<Shape, unsigned char>(row, 0, bytes);
        }
    }
}
