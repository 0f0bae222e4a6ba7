"""What is counted while things run."""
