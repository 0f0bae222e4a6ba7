"""The whole step of an actor as one torch module, and as an exported artifact."""
