RL_DEVICE float rl_widen_bf16(unsigned short x) { return rl_cast<float>((unsigned int)x << 16); }
RL_DEVICE unsigned short rl_narrow_bf16(float value)
{
    const unsigned int x = rl_cast<unsigned int>(value);
    if (value != value) return (x >> 16 & 0x8000u) | 0x7fc0u;
    return (x + 0x7fffu + (x >> 16 & 1u)) >> 16; // to nearest, ties to even
}
