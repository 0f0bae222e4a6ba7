"""What lets code that was written for Ray run here: RLlib's paths, its rewriter, its examples."""
