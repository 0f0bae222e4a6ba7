"""Learners: a module, its optimisers and the learner pipeline."""
