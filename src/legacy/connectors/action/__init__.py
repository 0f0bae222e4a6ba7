"""Action connectors: what happens to a policy's answer before the environment gets it."""
