RL_DEVICE $type rl_widen_$name($bits x) { return rl_cast<$type>(x); }
RL_DEVICE $bits rl_narrow_$name($type x) { return rl_cast<$bits>(x); }
