"""Act in CartPole with a policy that an old Ray saved: RLlib's own example, imports changed.

    python examples/02_act_with_an_old_policy.py
    python examples/02_act_with_an_old_policy.py --checkpoint PATH --policy-id ID

Connectors remember what the policy needs from step to step: its states, its last action and
reward. Nobody has to pass them, or to preprocess an observation.
"""

import argparse
from pathlib import Path

import gymnasium as gym
from rlconnect.legacy import Policy, local_policy_inference

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60"


def run(checkpoint_path, policy_id):
    # Restore policy.
    policies = Policy.from_checkpoint(
        checkpoint=checkpoint_path,
        policy_ids=[policy_id],
    )
    policy = policies[policy_id]
    print(policy)
    print(policy.agent_connectors)
    print(policy.action_connectors)

    # Run CartPole.
    env = gym.make("CartPole-v1")
    obs, _ = env.reset(seed=0)
    terminated = truncated = False
    step = 0
    while not (terminated or truncated):
        step += 1

        # Use local_policy_inference() to run inference, so we do not have to
        # provide policy states or extra fetch dictionaries.
        # "env_1" and "agent_1" are dummy env and agent IDs to run connectors with.
        policy_outputs = local_policy_inference(policy, "env_1", "agent_1", obs, explore=False)
        assert len(policy_outputs) == 1
        action, _, _ = policy_outputs[0]
        print(f"step {step}", obs, action)

        # Step environment forward one more step.
        obs, _, terminated, truncated, _ = env.step(action)

    # The episode is over: let the connectors forget it, before another one starts.
    policy.reset_connectors("env_1")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default=SAMPLE, help="a folder (default: a sample)")
    parser.add_argument("--policy-id", default="default_policy")
    args = parser.parse_args()
    run(args.checkpoint, args.policy_id)
