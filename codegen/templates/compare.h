RL_DEVICE bool rl_lt($type a, $type b) { return a < b; }
RL_DEVICE bool rl_le($type a, $type b) { return a <= b; }
RL_DEVICE bool rl_gt($type a, $type b) { return a > b; }
RL_DEVICE bool rl_ge($type a, $type b) { return a >= b; }
RL_DEVICE bool rl_eq($type a, $type b) { return a == b; }
RL_DEVICE bool rl_ne($type a, $type b) { return a != b; }
RL_DEVICE bool rl_true($type a) { return a != 0; }
RL_DEVICE $type rl_where(bool choose, $type a, $type b) { return choose ? a : b; }
