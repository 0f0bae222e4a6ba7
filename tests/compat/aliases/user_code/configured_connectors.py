"""Connectors of one's own put into an algorithm's pipelines by its config."""

import gymnasium as gym
from one_piece_for_all import AddTimeLeft
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import FlattenObservations, MeanStdFilter
from scaled_observations import ScaleAndShift


def run():
    env = gym.make("CartPole-v1")
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(
            env_to_module_connector=lambda env, spaces, device: [
                FlattenObservations(),
                MeanStdFilter(),
                ScaleAndShift(by=3.0),
            ],
            num_envs_per_env_runner=1,
        )
        .training(lr=0.0003, gamma=0.95, train_batch_size_per_learner=256)
        .learners(num_learners=0)
        .debugging(seed=3)
    )
    config.training(learner_connector=lambda obs_space, act_space: [AddTimeLeft()])
    vector = gym.make_vec("CartPole-v1", num_envs=1, vectorization_mode="sync")
    pipeline = config.build_env_to_module_connector(vector)
    learner = config.build_learner_connector(env.observation_space, env.action_space)
    return {
        "env_to_module": [type(piece).__name__ for piece in pipeline.connectors],
        "learner": [type(piece).__name__ for piece in learner.connectors],
        "gamma": config.gamma,
        "batch": config.train_batch_size_per_learner,
    }
