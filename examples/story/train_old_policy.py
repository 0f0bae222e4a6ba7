"""Train the story's old policy with Ray 2.7.2: how `checkpoints/ppo-cartpole-ray-2.7` came about.

Run by an interpreter that has ray[rllib]==2.7.2 and torch: `python train_old_policy.py FOLDER`.
"""

import sys

from ray.rllib.algorithms.ppo import PPOConfig

config = (
    PPOConfig()
    .environment("CartPole-v1")
    .framework("torch")
    .rl_module(_enable_rl_module_api=False)
    .rollouts(num_rollout_workers=0, num_envs_per_worker=8, observation_filter="MeanStdFilter")
    .training(
        _enable_learner_api=False,
        model={"fcnet_hiddens": [32, 32], "fcnet_activation": "tanh"},
        train_batch_size=2048,
        sgd_minibatch_size=128,
        num_sgd_iter=10,
        lr=1e-3,
        lr_schedule=[[0, 1e-3], [150_000, 1e-4]],
        gamma=0.99,
        lambda_=0.95,
        entropy_coeff=0.0,
        vf_clip_param=1e6,
        grad_clip=0.5,
        clip_param=0.2,
    )
    .debugging(seed=7)
    .resources(num_gpus=0)
)
algorithm = config.build()
for iteration in range(1, 101):
    result = algorithm.train()
    steps, earned = result["timesteps_total"], result["episode_reward_mean"]
    print(f"iteration {iteration:3d}  {steps:7,} steps  return {earned:6.1f}", flush=True)
    if earned >= 495:
        break
print(algorithm.save(sys.argv[1]).checkpoint.path)
