"""One watch and one folder for all tests of the fuzzer: an audit hook stays for good."""

import pytest

from tests.fuzz.watch import Watch


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    """The one folder that may be written to."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="session")
def watch(scratch):
    """What sees this process."""
    return Watch(scratch)
