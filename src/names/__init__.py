"""One table of names: what is called how, which module of ours has it, and where Ray has it.

    .modules.sac: DefaultSACTorchRLModule @ algorithms.sac.torch.default_sac_torch_rl_module
    ~.modules.spec: SingleAgentRLModuleSpec>RLModuleSpec @ core.rl_module.rl_module
    -.modules.catalogs: MARWILCatalog=PPOCatalog @ algorithms.marwil.marwil_catalog
    .connectors.action.clip: ClipActionsConnector @ =

The module of ours comes first, from the package of the front: one dot is that package, two the one
above. Behind it stand the names in it, `Name=OurName` for one that is called otherwise there (`>`
where RLlib itself has come to call it so), `*` for all of its constants. Behind `@` stand the
modules of Ray that have them, the first being where Ray 2.60 defines them: below `ray.rllib`, in
full behind a slash, `=` for the very path of ours. A front shows the names of a row; with `~` it
serves them out of sight, with `-` it lacks them. An indented line goes on with the one above.

Front doors, import aliases, the codemod and the names of classes in checkpoints are views of the
rows in `v2`, `legacy` and `ray`: a new class is one row. A file's name is only ever looked up among
the rows of its slot, and what is imported for it is the module that the row says.
"""

from __future__ import annotations

from typing import Final

SHARED: Final = """\
~..core.rllib_utils.annotations: override @ utils.annotations utils
~..core.rllib_utils.typing_names: AgentID AgentToModuleMappingFn AlgorithmConfigDict ConvFilterSpec
    DeviceType EnvActionType EnvConfigDict EnvCreator EnvID EnvInfoDict EnvObsType EnvType EpisodeID
    EpisodeType FileType FromConfigSpec GradInfoDict IsPolicyToTrain LearnerStatsDict
    LearningRateOrSchedule LocalOptimizer ModelConfigDict ModelGradients ModelInputDict ModelWeights
    ModuleID MultiAgentDict MultiAgentPolicyConfigDict MultiEnvDict NamedParamDict NetworkType
    Optimizer Param ParamDict ParamList ParamRef PartialAlgorithmConfigDict PolicyID PolicyState
    RLModuleSpecType ResultDict SampleBatchType ShouldModuleBeUpdatedFn SpaceStruct StateBatches
    StateDict TFPolicyV2Type TensorShape TensorStructType TensorType UnrollID ViewRequirementsDict @
    utils.typing
"""
"""What old sources of either stack import and annotate with; Ray's paths lead to `legacy`."""


def lines(table: str) -> list[str]:
    """The rows of a table, each on one line."""
    return table.replace("\n    ", " ").splitlines()


def front_tables(*tables: str) -> tuple[dict[str, str], dict[str, str]]:
    """The names that a front shows, and those it serves out of sight, each with its home."""
    shown: dict[str, str] = {}
    hidden: dict[str, str] = {}
    for line in (line for table in tables for line in lines(table)):
        home, _, words = line.partition(" @ ")[0].partition(": ")
        if home[0] == "-":
            continue
        served = hidden if home[0] == "~" else shown
        home = home.lstrip("~")
        for word in words.split():
            name, sign, ours = word.replace(">", "=").partition("=")
            served[name] = f"{home}:{ours}" if sign else home
    return shown, hidden
