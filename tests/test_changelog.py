"""The changelog is one that tools and people can read by release."""

import re
from pathlib import Path

import rlconnect
from packaging.version import Version

CHANGELOG = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def releases():
    """Version and date of each release, the newest first."""
    return re.findall(r"^## \[(\d[^]]*)\] - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)


def test_what_is_unreleased_comes_first_then_releases_newest_first():
    """Every heading is one or the other, with a date that does not run backwards."""
    headings = re.findall(r"^## .*$", CHANGELOG, re.MULTILINE)
    versions = [Version(version) for version, _ in releases()]
    dates = [date for _, date in releases()]

    assert headings[0] == "## [Unreleased]"
    assert len(headings) == 1 + len(versions)
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_the_version_is_in_the_changelog_or_yet_to_come():
    """A released version has its heading; one that is being made is newer than all of them."""
    version = Version(rlconnect.__version__)
    released = [Version(name) for name, _ in releases()]

    assert version in released or (version.is_devrelease and all(version > own for own in released))


def test_each_release_has_each_kind_of_change_once():
    """Under the six headings that the format has."""
    for release in re.split(r"^## .*$", CHANGELOG, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", release, re.MULTILINE)

        assert len(kinds) == len(set(kinds))
        assert set(kinds) <= SECTIONS
