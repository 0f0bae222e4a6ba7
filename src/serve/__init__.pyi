# Made of the table in __init__.py by `make stubs`.
from .app import App as App
from .application import Application as Application, asgi as asgi
from .asking import Acted as Acted
from .async_client import AsyncClient as AsyncClient
from .client import Client as Client, ClientSession as ClientSession
from .errors import ServeError as ServeError, SessionGoneError as SessionGoneError
from .server import Server as Server, app_of as app_of, run as run
from .settings import ServeSettings as ServeSettings
_HOME: dict[str, str]
