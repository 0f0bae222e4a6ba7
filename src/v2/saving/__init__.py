"""How components of the new stack are saved and read, in RLlib's layout."""
