"""Results written down: TensorBoard events, CSV, JSON lines, and a line that tells the present."""
