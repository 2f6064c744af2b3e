#ifdef RL_HOST
RL_DEVICE float rl_widen_f16(unsigned short x)
{
    const unsigned int sign = (x & 0x8000u) << 16, low = x & 0x7fffu;
    if (low < 0x0400u) // zero and subnormals: a multiple of 2^-24
        return rl_cast<float>(rl_cast<unsigned int>((float)low * 0x1p-24f) | sign);
    return rl_cast<float>(((low << 13) + (low < 0x7c00u ? 0x38000000u : 0x70000000u)) | sign);
}
RL_DEVICE unsigned short rl_narrow_f16(float value)
{
    const unsigned int all = rl_cast<unsigned int>(value), x = all & 0x7fffffffu;
    const unsigned int sign = all >> 16 & 0x8000u;
    if (x > 0x7f800000u) return sign | 0x7e00u | (x >> 13 & 0x3ffu); // NaN, made quiet
    if (x >= 0x477ff000u) return sign | 0x7c00u;                     // 65520 and more
    if (x < 0x38800000u) // the sum's last place is 2^-24, so the addition rounds as needed
        return sign | (rl_cast<unsigned int>(rl_cast<float>(x) + 0.5f) - 0x3f000000u);
    return sign | ((x - 0x38000000u + 0xfffu + (x >> 13 & 1u)) >> 13);
}
#else
RL_DEVICE float rl_widen_f16(unsigned short x)
{
    float to;
    asm("cvt.f32.f16 %0, %1;" : "=f"(to) : "h"(x));
    return to;
}
RL_DEVICE unsigned short rl_narrow_f16(float value)
{
    unsigned short to;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to) : "f"(value));
    return to;
}
#endif
