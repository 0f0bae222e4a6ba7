"""Operations on arrays, independent of policies: batches, padding, sequences, returns."""
