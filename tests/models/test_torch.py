"""Torch modules behind an encoder."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from leastways.errors import ModelError, SettingError
from leastways.models import AllOf, QueryCounter, TorchModel, as_model
from tests.support.job_table import NUMBERS, people, pipeline

torch: Any = pytest.importorskip("torch")

FRAME = people(50)
ENCODER = pipeline()[0].fit(FRAME)
WIDTH = ENCODER.transform(FRAME).shape[1]


def network(outputs: int, *tail: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, outputs), *tail
    )


def raw(module: Any) -> Any:
    """What the module gives, worked out apart from the adapter."""
    module.eval()
    with torch.no_grad():
        encoded = torch.tensor(np.asarray(ENCODER.transform(FRAME)), dtype=torch.float32)
        return module(encoded).double().numpy()


def test_one_output_is_the_positive_class() -> None:
    module = network(1)
    positive = 1 / (1 + np.exp(-raw(module)[:, 0]))
    model = TorchModel(module, ENCODER)
    np.testing.assert_allclose(as_model(model, 1).probability(FRAME), positive, rtol=1e-12)
    np.testing.assert_allclose(as_model(model, 0).probability(FRAME), 1 - positive, rtol=1e-12)
    named = TorchModel(module, ENCODER, classes=["no", "yes"])
    np.testing.assert_allclose(as_model(named, "yes").probability(FRAME), positive, rtol=1e-12)
    np.testing.assert_allclose(as_model(named, "no").probability(FRAME), 1 - positive, rtol=1e-12)


def test_a_flat_output_and_probabilities() -> None:
    module = network(1, torch.nn.Sigmoid(), torch.nn.Flatten(0))
    model = TorchModel(module, ENCODER, output="probability")
    np.testing.assert_allclose(as_model(model, True).probability(FRAME), raw(module), rtol=1e-12)


def test_a_column_per_class() -> None:
    module = network(3)
    logits = raw(module)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(as_model(TorchModel(module, ENCODER), 2).probability(FRAME), shares[:, 2])
    named = TorchModel(module, ENCODER, classes=["c", "a", "b"])
    np.testing.assert_allclose(as_model(named, "a").probability(FRAME), shares[:, 1])
    given = TorchModel(network(3, torch.nn.Softmax(dim=1)), ENCODER, output="probability")
    np.testing.assert_allclose(as_model(given, 0).probability(FRAME), shares[:, 0], rtol=1e-5)


@pytest.mark.parametrize("batch_rows", [1, 7, 50, 1000])
def test_outputs_do_not_depend_on_batches(batch_rows: int) -> None:
    module = network(1)
    whole = as_model(TorchModel(module, ENCODER), 1).probability(FRAME)
    parts = as_model(TorchModel(module, ENCODER, batch_rows=batch_rows), 1).probability(FRAME)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_encoders_are_applied() -> None:
    scaler = StandardScaler().fit(FRAME[NUMBERS].to_numpy())
    module = torch.nn.Linear(2, 1).double()
    by_object = as_model(TorchModel(module, scaler), 1).probability(FRAME[NUMBERS])
    by_call = as_model(TorchModel(module, lambda frame: scaler.transform(frame[NUMBERS].to_numpy())), 1)
    np.testing.assert_array_equal(by_object, by_call.probability(FRAME))


def test_training_flags_are_put_back_one_by_one() -> None:
    module = network(1)
    module.train()
    module[2].eval()
    model = as_model(TorchModel(module, ENCODER), 1)
    first, second = model.probability(FRAME), model.probability(FRAME)
    np.testing.assert_array_equal(first, second)
    assert [part.training for part in module.modules()] == [True, True, True, False, True]


def test_training_flags_are_put_back_after_an_error() -> None:
    module = network(1).train()
    with pytest.raises(RuntimeError):
        as_model(TorchModel(module, lambda frame: np.zeros((len(frame), WIDTH + 1))), 1).probability(FRAME)
    assert all(part.training for part in module.modules())


def test_torch_model_can_be_pickled_and_combined() -> None:
    model = TorchModel(network(1), ENCODER)
    expected = as_model(model, 1).probability(FRAME)
    again = pickle.loads(pickle.dumps(as_model(model, 1)))
    np.testing.assert_array_equal(again.probability(FRAME), expected)
    both = as_model(AllOf([model, lambda frame: np.full(len(frame), 0.4)]), 1)
    np.testing.assert_array_equal(both.probability(FRAME), np.minimum(expected, 0.4))


@pytest.mark.parametrize(
    ("target", "classes", "outputs", "hint"),
    [
        ("yes", None, 1, "without classes="),
        (2, None, 1, "classes are 0, 1"),
        (3, None, 3, "classes are 0, 1, 2"),
        ("maybe", ["no", "yes"], 1, "'no', 'yes'"),
        ("yes", ["no", "yes"], 3, "has 2 labels; the model has 3"),
    ],
)
def test_target_without_a_column_is_refused(target: object, classes: list[str] | None, outputs: int, hint: str) -> None:
    with pytest.raises(SettingError, match=hint):
        as_model(TorchModel(network(outputs), ENCODER, classes=classes), target).probability(FRAME)


def test_nan_weights_are_reported_with_the_row() -> None:
    module = network(2)
    with torch.no_grad():
        module[0].weight.fill_(float("nan"))
    with pytest.raises(ModelError, match=r"returned nan .* row 1000"):
        QueryCounter(as_model(TorchModel(module, ENCODER), 1)).evaluate(FRAME)


class Pair(torch.nn.Module):  # type: ignore[misc]
    """Returns something that is no tensor of one entry per row."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def forward(self, encoded: Any) -> Any:
        return self.result


@pytest.mark.parametrize(
    ("result", "hint"),
    [
        ((1, 2), "must return a tensor, not tuple"),
        (torch.zeros(3), "must return 50 rows"),
        (torch.tensor(0.0), "must return 50 rows"),
        (torch.zeros(50, 2, 2), r"shape \(50, 2, 2\)"),
    ],
)
def test_unusable_outputs_are_refused(result: Any, hint: str) -> None:
    with pytest.raises(ModelError, match=hint):
        as_model(TorchModel(Pair(result), ENCODER), 1).probability(FRAME)


@pytest.mark.parametrize(
    ("encoded", "hint"),
    [
        (np.zeros(50), r"shape \(50,\)"),
        (np.zeros((49, 2)), r"shape \(49, 2\)"),
        (np.full((50, 2), "a"), "must return numbers"),
    ],
)
def test_unusable_encodings_are_refused(encoded: Any, hint: str) -> None:
    with pytest.raises(ModelError, match=hint):
        as_model(TorchModel(network(1), lambda frame: encoded), 1).probability(FRAME)


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(SettingError, match=r"torch\.nn\.Module"):
        TorchModel(lambda frame: frame, ENCODER)
    with pytest.raises(SettingError, match="encoder"):
        TorchModel(network(1), "not an encoder")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="encoder"):
        TorchModel(network(1), StandardScaler)
    with pytest.raises(SettingError, match="output='logit' must be one of 'logits', 'probability'"):
        TorchModel(network(1), ENCODER, output="logit")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="batch_rows=0"):
        TorchModel(network(1), ENCODER, batch_rows=0)
    with pytest.raises(SettingError, match="TorchModel"):
        as_model(network(1), 1)


def test_half_precision_output_is_readable() -> None:
    result = torch.full((50,), 0.25, dtype=torch.bfloat16)
    answer = as_model(TorchModel(Pair(result), ENCODER, output="probability"), 1).probability(FRAME)
    np.testing.assert_array_equal(answer, np.full(50, 0.25))


def test_threads_that_share_a_module_in_training() -> None:
    """One thread must not switch it back while another still runs it."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(64, 1))
    module[1].eval()
    model = as_model(TorchModel(module, lambda frame: frame.to_numpy(dtype=np.float32)), 1)
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 2)), columns=list("ab"))
    alone = model.probability(rows)
    with ThreadPoolExecutor(4) as executor:
        for answer in executor.map(lambda _: model.probability(rows), range(200)):
            np.testing.assert_allclose(answer, alone, atol=1e-6)
    assert [part.training for part in module] == [True, False, True, True]
