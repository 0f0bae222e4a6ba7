"""How much a file may ask for: bytes, steps, depth, room for networks."""
