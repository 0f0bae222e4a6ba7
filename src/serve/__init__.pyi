# Made of the table in __init__.py by `make stubs`.
from .app import App as App
from .asking import Acted as Acted
from .async_client import AsyncClient as AsyncClient
from .client import Client as Client, ClientSession as ClientSession
from .errors import ServeError as ServeError, SessionGoneError as SessionGoneError
from .process import run as run
from .server import Server as Server, app_of as app_of
from .settings import ServeSettings as ServeSettings
_HOME: dict[str, str]
