"""Operations on arrays that know nothing of policies: batches, padding, sequences, returns."""
