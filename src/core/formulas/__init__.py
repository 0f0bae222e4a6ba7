"""What connectors compute, once for both stacks: actions, filters, encoders, distributions."""
