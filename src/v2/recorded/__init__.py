"""Learning from recorded data: steps of it as train batches, by the learner pipeline."""
