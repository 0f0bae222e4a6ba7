"""Agent connectors: what happens to what agents see before the policy gets it."""
