#ifdef RL_HOST // -ffp-contract=off
RL_DEVICE rl_acc rl_add(rl_acc a, rl_acc b) { return a + b; }
RL_DEVICE rl_acc rl_sub(rl_acc a, rl_acc b) { return a - b; }
RL_DEVICE rl_acc rl_mul(rl_acc a, rl_acc b) { return a * b; }
RL_DEVICE rl_acc rl_div(rl_acc a, rl_acc b) { return a / b; }
#else // the functions of one rounding are never contracted
RL_DEVICE rl_acc rl_add(rl_acc a, rl_acc b) { return __${d}add_rn(a, b); }
RL_DEVICE rl_acc rl_sub(rl_acc a, rl_acc b) { return __${d}sub_rn(a, b); }
RL_DEVICE rl_acc rl_mul(rl_acc a, rl_acc b) { return __${d}mul_rn(a, b); }
RL_DEVICE rl_acc rl_div(rl_acc a, rl_acc b) { return __${d}div_rn(a, b); }
#endif
typedef $word rl_acc_bits;
static const rl_acc_bits rl_sign = $sign;
RL_DEVICE rl_acc rl_neg(rl_acc a) { return rl_cast<rl_acc>(rl_cast<rl_acc_bits>(a) ^ rl_sign); }
RL_DEVICE rl_acc rl_abs(rl_acc a) { return rl_cast<rl_acc>(rl_cast<rl_acc_bits>(a) & ~rl_sign); }
RL_DEVICE rl_acc rl_min(rl_acc a, rl_acc b) { return (a <= b || a != a) ? a : b; }
RL_DEVICE rl_acc rl_max(rl_acc a, rl_acc b) { return (a >= b || a != a) ? a : b; }
