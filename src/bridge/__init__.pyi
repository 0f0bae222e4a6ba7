# Made of the table in __init__.py by `make stubs`.
from ..compat import ray_aliases as ray_aliases
from ..core.adapters import AdapterChain as AdapterChain
from .actor.actor import Actor as Actor, SlowPieceWarning as SlowPieceWarning
from .actor.episodes import Played as Played
from .adapting.adapt import Suggestion as Suggestion, adapt as adapt, suggest_adapter as suggest_adapter
from .adapting.changes import Change as Change, SpaceDiff as SpaceDiff
from .adapting.space_diff import diff_spaces as diff_spaces
from .compiled.artifact import export_actor as export_actor
from .compiled.program import Program as Program, SplitWarning as SplitWarning, compile_actor as compile_actor
from .exported.opened import Artifact as Artifact, load_artifact as load_artifact
from .graft.graft import graft as graft
from .loading.triples import load_triple as load_triple
from .migrate.checkpoint import MigratedPolicy as MigratedPolicy, load_migrated as load_migrated, save_migrated as save_migrated
from .migrate.front_door import migrate as migrate
from .migrate.plan import MigrationPlan as MigrationPlan, plan_migration as plan_migration
from .migrate.ray_checkpoint import to_ray as to_ray
from .migrate.scoreboard import Score as Score, scoreboard as scoreboard
from .proof.verdict import Verdict as Verdict
from .proof.verify import verify as verify
from .teach.taught import Lesson as Lesson, Taught as Taught
from .teach.teach import kickstart as kickstart, teach as teach
from .twins.native_module import native_module as native_module
from .twins.twin import MigrationStep as MigrationStep, Refusal as Refusal, register_twin as register_twin
from .wrap.action_connector import LegacyActionConnectorV2 as LegacyActionConnectorV2
from .wrap.agent_connector import LegacyAgentConnectorV2 as LegacyAgentConnectorV2
from .wrap.policy_module import LegacyPolicyModule as LegacyPolicyModule
from .wrap.triple import LegacyMultiPolicyModule as LegacyMultiPolicyModule, policy_to_v2 as policy_to_v2, use_policy as use_policy
from .wrap.v2_as_legacy import V2AsLegacyConnector as V2AsLegacyConnector
_HOME: dict[str, str]
