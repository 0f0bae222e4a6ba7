"""What changed between the spaces of a policy and an environment, and the steps that absorb it."""
