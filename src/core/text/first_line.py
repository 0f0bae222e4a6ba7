"""What foreign errors say, cut to what fits into one of ours."""

from __future__ import annotations


def first_line(error: BaseException, most: int = 160) -> str:
    r"""The first line of an error's message; the name of its class if it has none.

    Example:
        >>> first_line(ValueError("no such port\nat line 3")), first_line(KeyError())
        ('no such port', 'KeyError')
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:most]
