"""The reference: every public name is on it, with what it does and how it is used."""

import re

import pytest

from .reference import WIDE, example_in, excerpt_of, names, pages


@pytest.fixture(scope="module")
def made():
    return pages()


@pytest.mark.torch
def test_every_public_name_has_its_entry(made):
    """On the page that the index leads to, once."""
    for each in names():
        heading = rf"^## {re.escape(each.name.replace('__', WIDE))} {{#{each.name.strip('_')}}}$"
        assert len(re.findall(heading, made[each.page], re.M)) == 1, each
        assert f"]({each.link.removeprefix('reference/')})" in made["reference/index.md"]


@pytest.mark.torch
def test_names_are_shown_in_use():
    """By an example that runs: in the docstring, on a page of the site, or in `in_use`."""
    assert not [e.name for e in names() if not (example_in(e.value) or excerpt_of(e))]


@pytest.mark.torch
def test_what_is_handed_on_is_told_once(made):
    """A page shows a class's own methods; those of a public base stand where the base does."""
    configs = made["reference/v2-algorithms.md"]

    assert "### `PPOConfig.training`" in configs
    assert "### `PPOConfig.environment`" not in configs
    assert "### `AlgorithmConfig.environment`" in made["reference/v2-config.md"]
