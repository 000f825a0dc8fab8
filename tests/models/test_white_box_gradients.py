"""Torch models as functions of relaxed rows: the same answers on the grid, gradients between, every row counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways.errors import SettingError
from leastways.models import TorchModel, as_model
from leastways.models.white_box import GradientCounter, RelaxedModel, RowsSpentError, relaxed_rows
from leastways.schema import Schema

torch: Any = pytest.importorskip("torch")

DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "job": DRAW.choice(["cook", "nurse", "clerk"], 50),
        "age": DRAW.integers(18, 60, 50),
        "income": DRAW.gamma(3.0, 800.0, 50).round(2),
        "owner": DRAW.random(50) < 0.5,
    }
)
SCHEMA = Schema.infer(FRAME)


def encoder(frame: pd.DataFrame) -> Any:
    """Numbers straight and bent, a category one-hot, another as a code, and a column that says nothing."""
    jobs = [(frame["job"] == job).to_numpy(float) for job in ("cook", "nurse", "clerk")]
    age, income = frame["age"].to_numpy(float), np.log(frame["income"].to_numpy(float))
    return np.stack([age / 10, income, *jobs, frame["owner"].to_numpy(float), np.full(len(frame), 3.0)], axis=1)


def network(outputs: int, *tail: Any) -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(7, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, outputs), *tail
    )


def states(n: int = 40) -> Any:
    sizes = np.array([len(f.values) for f in SCHEMA.features])
    return (np.random.default_rng(2).random((n, 4)) * sizes).astype(np.int32)


@pytest.mark.parametrize(
    "model",
    [
        TorchModel(network(1), encoder),
        TorchModel(network(1, torch.nn.Sigmoid(), torch.nn.Flatten(0)), encoder, output="probability"),
        TorchModel(network(3), encoder),
        TorchModel(network(3, torch.nn.Softmax(1)), encoder, classes=[2, 1, 0], output="probability"),
        TorchModel(network(2).double(), encoder),
    ],
    ids=repr,
)
@pytest.mark.parametrize("target", [0, 1])
def test_module_equals_the_model_on_the_grid(model: TorchModel, target: int) -> None:
    bound = as_model(model, target)
    relaxed = RelaxedModel.build(bound, SCHEMA, "dice")
    numbers, weights = (torch.tensor(part) for part in relaxed_rows(SCHEMA, states()))
    with relaxed.ready():
        answer = relaxed.probability(numbers, weights).detach().numpy()
    np.testing.assert_allclose(answer, bound.probability(SCHEMA.decode(states())), atol=1e-6)


def test_gradients_are_slopes_and_the_module_is_unchanged() -> None:
    module = network(1).double()
    relaxed = RelaxedModel.build(as_model(TorchModel(module, encoder), 1), SCHEMA, "dice")
    numbers, weights = (torch.tensor(part) for part in relaxed_rows(SCHEMA, states(5)))
    numbers = numbers + 0.3  # between grid points
    with relaxed.ready():
        assert torch.autograd.gradcheck(relaxed.probability, (numbers.requires_grad_(), weights.requires_grad_()))
        relaxed.probability(numbers, weights).sum().backward()
        assert not module.training
    assert module.training
    assert all(p.requires_grad and p.grad is None for p in module.parameters())


def test_rows_are_counted_and_one_too_many_refused() -> None:
    seen = []
    module = network(1)
    module.register_forward_hook(lambda module, rows, out: seen.append(len(out)))
    relaxed = RelaxedModel.build(as_model(TorchModel(module, encoder), 1), SCHEMA, "dice")
    seen.clear()
    meter = GradientCounter(relaxed, 25)
    parts = [torch.tensor(part) for part in relaxed_rows(SCHEMA, states(10))]
    meter.probability(*parts)
    meter.probability(*parts)
    assert (meter.rows, meter.left, sum(seen)) == (20, 5, 20)
    with pytest.raises(RowsSpentError, match="10 rows wanted, 5 left"):
        meter.probability(*parts)
    assert (meter.rows, sum(seen)) == (20, 20)


def test_module_that_differs_from_the_model_is_refused() -> None:
    class Moody(torch.nn.Module):  # type: ignore[misc]
        """Looks at the whole batch."""

        def forward(self, x: Any) -> Any:
            return x[:, 0] - x[:, 0].mean() - (10.0 if len(x) == 64 and x.requires_grad else 0.0) + self.drift()

        def drift(self) -> float:
            self.calls = getattr(self, "calls", 0) + 1
            return float(self.calls)

    with pytest.raises(SettingError, match=r"'dice' cannot follow the gradients .* where the model itself gives"):
        RelaxedModel.build(as_model(TorchModel(Moody(), encoder), 1), SCHEMA, "dice")
