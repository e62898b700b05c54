"""The experiments of groupsim, each for one question of operators."""
