"""A client plays on while the policy behind the port changes under it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import rlconnect
from field_cart import FieldCart
from rlconnect.serve import Client

TOKEN = "story"


class Player(threading.Thread):
    """Plays episodes until it is told to stop, and keeps what it saw and was answered."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.episodes, self.is_over, self.error = url, [], threading.Event(), None
        self.ended = threading.Condition()

    def run(self):
        try:
            with Client(self.url) as client:
                while not self.is_over.is_set():
                    episode = played(client, seed=len(self.episodes))
                    with self.ended:
                        self.episodes.append(episode)
                        self.ended.notify_all()
        except Exception as error:
            self.error = error
            with self.ended:
                self.ended.notify_all()

    def wait(self, episodes):
        """Let it play so many more."""
        goal = len(self.episodes) + episodes
        with self.ended:
            self.ended.wait_for(lambda: self.error or len(self.episodes) >= goal)
        if self.error:
            raise self.error

    def stop(self):
        self.is_over.set()
        self.join()


def played(client, seed):
    """One episode as (observation, action, version) rows."""
    env, rows, is_over = FieldCart(), [], False
    with client.session() as session:
        obs, _ = env.reset(seed=seed)
        while not is_over:
            acted = session.act(obs)
            rows.append((obs, int(acted.action), acted.version))
            obs, _, terminated, truncated, _ = env.step(acted.action)
            is_over = terminated or truncated
    return rows


def wrong_answers(episodes, policies):
    """How many answers are not what the policy of that version does by itself."""
    actors = {number: rlconnect.Actor.from_policy(each) for number, each in policies.items()}
    wrong = 0
    for rows in episodes:
        versions = {version for *_, version in rows}
        assert len(versions) == 1, "a session changed its policy on the way"
        actor = actors[versions.pop()]
        actor.reset()
        wrong += sum(int(np.asarray(actor.act(obs))) != action for obs, action, _ in rows)
    return wrong


def served(old, new, episodes, tell):
    """Serve the old policy, and promote the new one while a client plays.

    Args:
        old: The folder of the old one.
        new: The exported new one.
        episodes: How many are played at each stage.
        tell: Prints a line.
    """
    command = [
        sys.executable,
        "-m",
        "rlconnect",
        "serve",
        str(old),
        "--port",
        "0",
        "--allow-program",
    ]
    server = subprocess.Popen(
        [*command, "--admin-token", TOKEN],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    stages = []
    try:
        line = server.stderr.readline()
        assert "serving" in line, line + server.stderr.read()
        url = line.split(" at ")[1].split(";")[0]
        player = Player(url)
        player.start()
        with Client(url, token=TOKEN) as admin:
            new = str(Path(new).resolve())
            for stage, change in (
                ("old alone", None),
                ("new loaded", {"do": "load", "path": new}),
                ("new promoted", {"do": "promote", "version": 2}),
            ):
                if change:
                    admin.admin(**change)
                begun = len(player.episodes)
                player.wait(episodes)
                rows = player.episodes[begun:]
                by_new = sum(each[0][2] == 2 for each in rows) / len(rows)
                earned = sum(map(len, rows)) / len(rows)
                stages.append((stage, len(rows), earned, by_new))
                tell(f"{stage:15} {len(rows):3} episodes, return {earned:5.1f}, "
                     f"{by_new:4.0%} of them by the new one")  # fmt: skip
        player.stop()
        assert player.error is None, player.error
    finally:
        server.terminate()
        ended = server.wait(30)
        server.stderr.close()
    assert ended == 0, f"the server ended with {ended}"
    promoted = rlconnect.load(new, allow_program=True)
    wrong = wrong_answers(player.episodes, {1: old, 2: promoted})
    assert not wrong, f"{wrong} answers were not the policy's own"
    return {"stages": stages, "steps": sum(map(len, player.episodes))}
