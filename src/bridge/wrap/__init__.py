"""Old connectors and policies as pieces and modules of the new stack, and the other way."""
