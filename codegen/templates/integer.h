RL_DEVICE rl_acc rl_add(rl_acc a, rl_acc b) { return (rl_acc)(($word)a + ($word)b); }
RL_DEVICE rl_acc rl_sub(rl_acc a, rl_acc b) { return (rl_acc)(($word)a - ($word)b); }
RL_DEVICE rl_acc rl_mul(rl_acc a, rl_acc b) { return (rl_acc)(($word)a * ($word)b); }
RL_DEVICE rl_acc rl_neg(rl_acc a) { return (rl_acc)(0 - ($word)a); }
RL_DEVICE rl_acc rl_abs(rl_acc a) { return $abs; }
RL_DEVICE rl_acc rl_min(rl_acc a, rl_acc b) { return a <= b ? a : b; }
RL_DEVICE rl_acc rl_max(rl_acc a, rl_acc b) { return a >= b ? a : b; }
