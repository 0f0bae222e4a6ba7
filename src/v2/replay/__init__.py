"""What was lived through, kept to be drawn from again and again: buffers of episodes."""
