"""Columns of recorded data, leaf by leaf."""


def leaves(column, path):
    """The arrays of a column with their paths, as the recordings name them."""
    if isinstance(column, dict):
        for key, part in column.items():
            yield from leaves(part, f"{path}.{key}")
    elif isinstance(column, tuple):
        for place, part in enumerate(column):
            yield from leaves(part, f"{path}.#{place}")
    else:
        yield path, column
