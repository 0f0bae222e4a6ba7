"""Two policies on the same observations: where they part, by how much, and what it does to play."""
