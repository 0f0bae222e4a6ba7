"""What the reference shows of a name runs by itself, pasted into an empty session.

Each session loads a sample or builds a network, minutes in all: `make docs` asks, once it has
built the site, and the suite asks of a few.
"""

import pytest
from rlconnect.core.errors import UnknownNameError

from .excerpts import excerpt, excerpts, statements
from .test_built import BUILT
from .test_pages import place, prompted  # noqa: F401

ALONE = {each.code for each in excerpts().values() if each.page is None}
ALONE = sorted(each for each in ALONE if "register_" not in each)  # these last for the process

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("code", ALONE if BUILT else ALONE[::40])
def test_an_excerpt_runs_by_itself(code, place):  # noqa: F811
    """Nothing is left out that it needs."""
    prompted(code + "\n", {"__name__": "page"}, "excerpt")


def test_an_excerpt_takes_what_it_needs():
    """Statements that set, change or write what is used later, with the imports of that."""
    page = (
        ">>> from math import pi, tau\n>>> a = [pi]\n>>> b = [tau]\n>>> a.append(2)\n>>> a[1]\n2\n"
    )

    cut = excerpt(None, statements([("pycon", "", page)]), 4)

    assert cut.code == ">>> from math import pi\n>>> a = [pi]\n>>> a.append(2)\n>>> a[1]\n2"


def test_a_name_is_known_under_any_front():
    """A class that two fronts serve is shown once for both."""
    assert UnknownNameError in excerpts()
