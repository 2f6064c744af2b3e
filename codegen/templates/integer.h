RL_DEVICE $type rl_add($type a, $type b) { return ($type)(($word)a + ($word)b); }
RL_DEVICE $type rl_sub($type a, $type b) { return ($type)(($word)a - ($word)b); }
RL_DEVICE $type rl_mul($type a, $type b) { return ($type)(($word)a * ($word)b); }
RL_DEVICE $type rl_neg($type a) { return ($type)(0 - ($word)a); }
RL_DEVICE $type rl_abs($type a) { return $abs; }
RL_DEVICE $type rl_min($type a, $type b) { return a <= b ? a : b; }
RL_DEVICE $type rl_max($type a, $type b) { return a >= b ? a : b; }
RL_DEVICE $type rl_div($type a, $type b) // toward zero; by zero 0
{
    if (b == 0) return 0;
    return $quotient;
}
RL_DEVICE $type rl_band($type a, $type b) { return ($type)(a & b); }
RL_DEVICE $type rl_bor($type a, $type b) { return ($type)(a | b); }
RL_DEVICE $type rl_bxor($type a, $type b) { return ($type)(a ^ b); }
RL_DEVICE $type rl_inv($type a) { return ($type)~a; }
RL_DEVICE $type rl_shl($type a, $type b) // by too much or less than nothing: 0
{
    return (unsigned long long)b < $width ? ($type)(($word)a << b) : ($type)0;
}
RL_DEVICE $type rl_shr($type a, $type b) // by too much or less than nothing: the sign everywhere
{
    return (unsigned long long)b < $width ? ($type)(a >> b) : $fill;
}
