"""The loss of DICE's gradient method, as configured: against values worked out by hand, and dice-ml's own loops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")
pytest.importorskip("dice_ml")

from dice_ml.explainer_interfaces.dice_pytorch import DicePyTorch  # noqa: E402

from leastways.baselines.dice_descent import Descent  # noqa: E402
from leastways.baselines.dice_tables import Layout  # noqa: E402

# One number from 0 to 10 and one category of three values. In the relaxed rows below, the distance of a number has the
# weight 2, that of each value of the category the weight 1.
LAYOUT = Layout(
    order=np.array([0, 1]),
    n_numbers=1,
    whole=np.array([True]),
    low=np.array([0.0]),
    high=np.array([10.0]),
    sizes=np.array([3]),
)
NOW = [0.2, 1.0, 0.0, 0.0]
SET = [[0.5, 0.0, 1.0, 0.0], [0.2, 0.5, 0.25, 0.0]]
PROBABILITY = [0.9, 0.3]


def descent(k: int = 2) -> Any:
    """A descent that has come to SET, of whose rows the model says PROBABILITY."""
    made: Any = Descent(LAYOUT, np.array([[0.0, 0.0], [5.0, 1.0], [10.0, 2.0]]), np.array([2.0]))
    made.do_cf_initializations(k, "DiverseCF", "all")
    made.do_loss_initializations("hinge_loss", "dpp_style:inverse_dist", {"n0000": 2.0})
    made.update_hyperparameters(0.5, 1.0, 0.1)
    made.block.data.copy_(torch.tensor(SET[:k]))
    made.x1 = torch.tensor(NOW)
    made.answers = SimpleNamespace(shift=0.0)
    made.meter = SimpleNamespace(probability=lambda numbers, weights: torch.tensor(PROBABILITY[:k]).double())
    return made


def theirs() -> Any:
    """What dice-ml's own methods read."""
    stand_in = SimpleNamespace(
        total_CFs=2,
        cfs=[torch.tensor(row) for row in SET],
        x1=torch.tensor(NOW),
        minx=np.zeros((1, 4)),
        feature_weights_list=torch.tensor([2.0, 1.0, 1.0, 1.0]),
        encoded_categorical_feature_indexes=[[1, 2, 3]],
        yloss_type="hinge_loss",
        target_cf_class=torch.tensor(1.0),
    )
    stand_in.compute_dist = lambda a, b: DicePyTorch.compute_dist(stand_in, a, b)
    known = {tuple(row): p for row, p in zip(SET, PROBABILITY, strict=True)}
    stand_in.get_model_output = lambda row: torch.tensor([known[tuple(np.round(row.tolist(), 6).tolist())]])
    return stand_in


def test_hinge_matches_calculation_by_hand() -> None:
    # log-odds of 0.9: 2.197, beyond 1, so no loss; of 0.3: -0.8473, so 1 + 0.8473
    assert descent().compute_yloss().item() == pytest.approx((0.0 + 1.847298) / 2, abs=1e-5)


def test_proximity_matches_calculation_by_hand() -> None:
    # first: 2 * 0.3 + 1 + 1 = 2.6; second: 0 + 0.5 + 0.25 = 0.75; over 4 columns of 2 rows
    assert descent().compute_proximity_loss().item() == pytest.approx((2.6 + 0.75) / 8)


def test_diversity_matches_calculation_by_hand() -> None:
    # distance of the two: 2 * 0.3 + 0.5 + 0.75 = 1.85, so K = [[1, 1 / 2.85], [1 / 2.85, 1]], 0.0001 on the diagonal
    assert descent().compute_diversity_loss().item() == pytest.approx(1.0001**2 - (1 / 2.85) ** 2)
    assert descent(1).compute_diversity_loss().item() == 0.0


def test_whole_loss_matches_calculation_by_hand() -> None:
    # the category's weights sum to 1 and 0.75: a penalty of 0.25 squared
    made = descent()
    assert made.compute_regularization_loss().item() == pytest.approx(0.0625)
    whole = 1.847298 / 2 + 0.5 * 3.35 / 8 - (1.0001**2 - (1 / 2.85) ** 2) + 0.1 * 0.0625
    assert made.compute_loss().item() == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("term", ["compute_yloss", "compute_proximity_loss", "compute_regularization_loss"])
def test_terms_equal_those_of_dice_ml(term: str) -> None:
    assert getattr(descent(), term)().item() == pytest.approx(float(getattr(DicePyTorch, term)(theirs())), rel=1e-5)


def test_diversity_equals_that_of_dice_ml() -> None:
    assert descent().dpp_style("inverse_dist").item() == pytest.approx(
        float(DicePyTorch.dpp_style(theirs(), "inverse_dist")), rel=1e-5
    )


def test_weights_equal_those_of_dice_ml() -> None:
    from leastways.baselines.dice_tables import weights_of

    made = descent()
    rows = np.concatenate([np.array([[0.0, 0.0], [5.0, 1.0], [10.0, 2.0]]), LAYOUT.covering()])
    mads = made.data_interface.get_valid_mads(normalized=True)
    assert weights_of(rows / 10, 1)[0] == pytest.approx(1 / float(mads["n0000"]))


def test_numbers_of_any_scale_have_a_weight() -> None:
    from leastways.baselines.dice_tables import weights_of

    assert weights_of(np.array([[0.0], [10000.0], [40000.0]]), 1)[0] == pytest.approx(1e-4)


def test_a_step_goes_downhill_within_bounds_and_leaves_frozen_columns() -> None:
    made = descent()
    made._varies = torch.tensor([True, True, True, False])
    made._low, made._high = torch.tensor([0.0, 0.0, 0.0, 0.0]), torch.tensor([0.52, 1.0, 1.0, 0.0])
    made.do_optimizer_initializations("pytorch:adam", 0.05)
    before = made.compute_loss().item()
    for _ in range(5):
        made.optimizer.zero_grad()
        made.compute_loss()
        made.loss.backward()
        made.optimizer.step()
    assert made.compute_loss().item() < before
    assert (made.block >= made._low).all()
    assert (made.block <= made._high).all()
    assert (made.block[:, 3] == 0.0).all()
    assert made.cfs[1].tolist() == made.block[1].tolist()
