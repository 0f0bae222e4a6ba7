"""What a checkpoint holds, as frozen plain data."""
