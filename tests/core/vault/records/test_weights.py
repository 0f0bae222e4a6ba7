"""A table of weights knows names, shapes and dtypes at once, numbers when asked."""

import numpy as np
import pytest
from rlconnect.core.errors import UnknownNameError
from rlconnect.core.vault import WeightTable


def test_arrays_in_a_file_are_loaded_when_asked():
    """Shapes are told without loading; each array is loaded by its name."""
    asked = []

    def load(name):
        asked.append(name)
        return np.ones((2, 3), np.float32)

    table = WeightTable({"b": np.zeros(4)}, shapes={"w": ((2, 3), "float32")}, load=load)

    assert (list(table), len(table), table.parameter_count) == (["b", "w"], 2, 10)
    assert table.describe("w") == ((2, 3), "float32")
    assert asked == []
    assert table["w"].sum() == 6
    assert asked == ["w"]


@pytest.mark.parametrize("table", [WeightTable(), WeightTable({"b": np.zeros(1)})])
def test_an_unknown_name_says_which_there_are(table):
    """Asking for weights that are not there names those that are."""
    with pytest.raises(UnknownNameError, match="no weights named 'w'") as caught:
        table["w"]

    assert caught.value.found == ", ".join(table) or caught.value.found == "none at all"


def test_a_table_without_arrays_is_false():
    """A table is true when it holds anything, so that `if record.weights` reads well."""
    assert not WeightTable()
    assert WeightTable({"b": np.zeros(1)})
    assert repr(WeightTable({"b": np.zeros(3)})) == "WeightTable(1 arrays, 3 numbers)"


def test_a_missing_name_is_not_in_the_table():
    """Asking whether a name is there is no error."""
    assert "a" in WeightTable({"a": np.zeros(1)})
    assert "b" not in WeightTable({"a": np.zeros(1)})
