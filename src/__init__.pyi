# Made of the table in __init__.py by `make stubs`.
from . import adapters as adapters, legacy as legacy, v2 as v2
from .bridge.actor.actor import Actor as Actor
from .bridge.adapting.adapt import adapt as adapt, suggest_adapter as suggest_adapter
from .bridge.front.export import export as export
from .bridge.front.hub import push as push
from .bridge.front.load import LoadedPolicies as LoadedPolicies, load as load
from .bridge.front.loaded_policy import LoadedPolicy as LoadedPolicy
from .bridge.graft.graft import graft as graft
from .bridge.migrate.front_door import migrate as migrate
from .bridge.proof.verify import verify as verify
from .bridge.rollout import rollout as rollout
from .bridge.teach.teach import kickstart as kickstart, teach as teach
from .core.data.budget import limits as limits
from .core.errors import CheckpointError as CheckpointError, RlconnectError as RlconnectError
from .core.trust import trust as trust
from .core.vault import open_checkpoint as open_checkpoint
from .core.vault.audit.files import audit as audit
from .core.vault.convert import convert as convert
from .core.version import __version__ as __version__
_HOME: dict[str, str]
