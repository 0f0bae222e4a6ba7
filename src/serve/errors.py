"""What a request is refused with."""

from __future__ import annotations

from ..core.errors import RlconnectError


class ServeError(RlconnectError):
    """A request that is not answered, and why.

    Args:
        status: Of HTTP.
        code: The reason as a word that programs look at.
        error: The reason for people.
        hint: What to do.

    Example:
        >>> error = ServeError(410, "session_gone", "session 'a' is gone", hint="begin a new one.")
        >>> error.status, error.to_dict()["code"]
        (410, 'session_gone')
    """

    def __init__(self, status: int, code: str, error: str, *, hint: str = "") -> None:
        super().__init__(error, hint=hint)
        self.status, self.code = status, code

    def to_dict(self) -> dict[str, str]:
        """As the body of an answer."""
        document = {"error": self.summary, "code": self.code}
        return {**document, "hint": self.hint} if self.hint else document


class SessionGoneError(ServeError):
    """A session's memory is lost: it lay unused for too long, made room, or the server ended.

    What to do is for the client to decide: begin the episode anew, or go on from a fresh memory
    under a new name. It is never done in silence.
    """
