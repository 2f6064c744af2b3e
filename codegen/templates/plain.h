RL_DEVICE rl_acc rl_widen(rl_bits x) { return rl_cast<rl_acc>(x); }
RL_DEVICE rl_bits rl_narrow(rl_acc x) { return rl_cast<rl_bits>(x); }
