RL_DEVICE bool rl_and(bool a, bool b) { return a && b; }
RL_DEVICE bool rl_or(bool a, bool b) { return a || b; }
RL_DEVICE bool rl_not(bool a) { return !a; }
