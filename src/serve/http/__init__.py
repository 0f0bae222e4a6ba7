"""HTTP/1.1 and WebSockets over asyncio: bounded, timed, nothing else needed."""
