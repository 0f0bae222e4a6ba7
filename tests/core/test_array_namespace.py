"""The seam between numpy and torch."""

import subprocess
import sys

import numpy as np
import pytest
from rlconnect.core import array_namespace as xp


def test_formulas_do_not_load_torch():
    """Numpy users of every formula never pay for torch."""
    names = ("formulas.actions", "formulas.filters", "formulas.preprocessors")
    names += ("arrays.batching", "arrays.compare", "arrays.padding", "arrays.returns")
    imports = "; ".join(f"import rlconnect.core.{name}" for name in names)
    code = f"import sys; {imports}; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_numpy_is_left_alone():
    """Arrays pass without a copy."""
    array = np.zeros(2, np.float32)

    assert xp.as_array(array) is array
    assert xp.constant(array, array) is array
    assert xp.cast(array, np.float32) is array
    assert xp.namespace(array) is np


def test_tensors_meet_constants_where_they_are():
    """A numpy constant becomes a tensor beside the given one; bounds may be missing."""
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1.0, 5.0])

    assert xp.is_tensor(xp.constant(np.ones(2), tensor))
    assert xp.constant(None, tensor) is None
    assert xp.cast(tensor, np.int64).dtype == torch.int64
    assert xp.clip(tensor, np.array([2.0, 2.0], np.float32), None).tolist() == [2.0, 5.0]
    assert xp.to_numpy(tensor.requires_grad_()).tolist() == [1.0, 5.0]
