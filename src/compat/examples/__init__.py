"""What scripts import from RLlib's examples: environments, modules, connectors, written anew."""
