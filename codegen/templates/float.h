RL_DEVICE $type rl_add($type a, $type b) { return RL_EITHER(a + b, __${d}add_rn(a, b)); }
RL_DEVICE $type rl_sub($type a, $type b) { return RL_EITHER(a - b, __${d}sub_rn(a, b)); }
RL_DEVICE $type rl_mul($type a, $type b) { return RL_EITHER(a * b, __${d}mul_rn(a, b)); }
RL_DEVICE $type rl_div($type a, $type b) { return RL_EITHER(a / b, __${d}div_rn(a, b)); }
RL_DEVICE $type rl_sqrt($type a) { return RL_EITHER(__builtin_sqrt$f(a), __${d}sqrt_rn(a)); }
RL_DEVICE $type rl_exp($type a) { return RL_EITHER(__builtin_exp$f(a), exp$f(a)); }
RL_DEVICE $type rl_log($type a) { return RL_EITHER(__builtin_log$f(a), log$f(a)); }
RL_DEVICE $type rl_log1p($type a) { return RL_EITHER(__builtin_log1p$f(a), log1p$f(a)); }
RL_DEVICE $type rl_neg($type a) { return rl_cast<$type>(rl_cast<$word>(a) ^ $sign); }
RL_DEVICE $type rl_abs($type a) { return rl_cast<$type>(rl_cast<$word>(a) & ~$sign); }
RL_DEVICE $type rl_min($type a, $type b) { return (a <= b || a != a) ? a : b; }
RL_DEVICE $type rl_max($type a, $type b) { return (a >= b || a != a) ? a : b; }
RL_DEVICE $type rl_logaddexp($type a, $type b) // equal infinities have no difference
{
    if (a == b) return rl_add(a, $log2);
    const $type apart = rl_sub(a, b);
    if (apart > 0) return rl_add(a, rl_log1p(rl_exp(rl_neg(apart))));
    return rl_add(b, rl_log1p(rl_exp(apart))); // a NaN stays one
}
