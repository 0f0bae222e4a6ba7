"""Run with a Ray 2.60 interpreter: writes what its learner pipeline makes of two small samples."""
import json, sys, warnings; warnings.filterwarnings("ignore")
import logging; logging.disable(50)
import numpy as np, torch, gymnasium as gym
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.learner.add_one_ts_to_episodes_and_truncate import AddOneTsToEpisodesAndTruncate
from ray.rllib.connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
class Tenth(TorchRLModule, ValueFunctionAPI):
    def setup(self): pass
    def compute_values(self, batch, embeddings=None): return batch["obs"].sum(-1) * 0.1
B=gym.spaces.Box(-10.,10.,(2,),np.float32); D=gym.spaces.Discrete(3)
def one(name, steps, done):
    e=SingleAgentEpisode(id_=name, observation_space=B, action_space=D)
    e.add_env_reset(observation=np.array([steps,0],np.float32))
    for t in range(1,steps+1):
        e.add_env_step(observation=np.array([t,-2*t+1],np.float32),action=t%3,reward=0.5*t-1,terminated=done=="term" and t==steps,truncated=done=="trunc" and t==steps,extra_model_outputs={"action_logp":-0.1*t})
    return e.to_numpy()
def two(name, steps, last_b):
    e=MultiAgentEpisode(id_=name, agent_to_module_mapping_fn=lambda a,ep:"p_"+a)
    e.add_env_reset(observations={"a":np.array([1,0],np.float32),"b":np.array([0,1],np.float32)})
    for t in range(1,steps+1):
        o={"a":np.array([t,1],np.float32)};ac={"a":t%3};r={"a":0.5*t};x={"a":{"action_logp":-0.1*t}};te={"__all__":t==steps}
        if t<=last_b:
            o["b"]=np.array([-t,2],np.float32);ac["b"]=(t+1)%3;r["b"]=-1.0*t;x["b"]={"action_logp":-0.2*t}
            if t==last_b and last_b<steps: te["b"]=True
        e.add_env_step(observations=o,actions=ac,rewards=r,terminateds=te,extra_model_outputs=x)
    return e.to_numpy()
def run(c,o,a,ids,eps):
    p=c.build_learner_connector(o,a); p.prepend(AddOneTsToEpisodesAndTruncate()); p.append(GeneralAdvantageEstimation(gamma=0.95,lambda_=0.9))
    m=MultiRLModule(rl_module_specs={i:RLModuleSpec(module_class=Tenth,observation_space=B,action_space=D,model_config={}) for i in ids})
    out=p(rl_module=m,batch={},episodes=eps,explore=False,shared_data={})
    res={}
    for k,v in out.items():
        order=np.lexsort(np.asarray(v["obs"]).T)  if len(ids)>1 else np.arange(len(v["obs"]))
        res[k]={c:np.asarray(v[c])[order].tolist() for c in sorted(v)}
    return res
out={"ray":__import__("ray").__version__,
 "single":run(PPOConfig(),B,D,["default_policy"],[one("x",3,"term"),one("y",4,None),one("z",2,"trunc")]),
 "several":run(PPOConfig().multi_agent(policies={"p_a","p_b"},policy_mapping_fn=lambda a,e,**k:"p_"+a),gym.spaces.Dict({"a":B,"b":B}),gym.spaces.Dict({"a":D,"b":D}),["p_a","p_b"],[two("M0",3,3)])}
json.dump(out,open(sys.argv[1],"w"),indent=1)
