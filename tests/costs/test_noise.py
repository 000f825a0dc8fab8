"""Beta draws by the row: their law, their twin, and what each of them depends on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from leastways.costs.kernels import noisy_row
from tests.support import reference_kernels as reference

keys = st.integers(0, 2**64 - 1)
# what cost tables hold: anything from 0 to 1, tiny and nearly 1 among them
means = st.just(0.0) | st.floats(1e-300, 1) | st.floats(1e-12, 1e-3) | st.floats(0.999, 1)
stds = st.sampled_from([1e-3, 0.01, 0.05, 0.2, 0.4])


def row(key: int, samples: NDArray[np.int32], mean: NDArray[np.float64], std: float) -> NDArray[np.float64]:
    """The draws of a row at `samples`, in their order."""
    room = np.full((5, len(samples)), np.nan)
    room[0] = mean
    out = np.full(int(samples.max()) + 1, np.nan)
    noisy_row(np.uint64(key), samples, room, len(samples), std, out)
    return out[samples]


@pytest.mark.parametrize(
    ("mean", "std"),
    [
        (0.5, 0.01),
        (0.03, 0.01),
        (0.011, 0.01),  # the angle's density is hardly peaked
        (0.004, 0.01),  # infinite density at 0
        (0.001, 0.01),  # almost all of it below any number worth writing
        (0.97, 0.01),
        (0.995, 0.01),
        (0.3, 0.1),
        (0.5, 0.28),  # nearly flat
        (0.5, 0.4),  # two peaks
    ],
)
def test_draws_follow_the_beta_distribution(mean: float, std: float) -> None:
    n = 20_000
    sample = row(7, np.arange(n, dtype=np.int32), np.full(n, mean), std)
    size = mean * (1 - mean) / std**2 - 1
    law = stats.beta(mean * size, (1 - mean) * size)
    assert stats.kstest(sample, law.cdf).pvalue > 1e-3
    assert sample.mean() == pytest.approx(mean, abs=4 * std / np.sqrt(n))


@pytest.mark.parametrize(("mean", "std"), [(1e-6, 0.01), (0.5, 0.5), (0.99, 0.3)])
def test_more_noise_than_a_beta_can_have_keeps_the_mean(mean: float, std: float) -> None:
    n = 20_000
    sample = row(7, np.arange(n, dtype=np.int32), np.full(n, mean), std)
    assert ((sample >= 0) & (sample <= 1)).all()
    assert sample.mean() == pytest.approx(mean, abs=4 * np.sqrt(mean * (1 - mean) / n) + 1e-9)


def test_means_of_0_and_1_get_no_noise() -> None:
    sample = row(7, np.arange(100, dtype=np.int32), np.repeat([0.0, 1.0], 50), 0.01)
    assert (sample[:50] == 0).all()
    np.testing.assert_allclose(sample[50:], 1.0, atol=1e-9)


@given(keys, stds, st.lists(means, min_size=1, max_size=12), st.integers(0, 2**20))
def test_every_draw_equals_the_reference_implementation(key: int, std: float, mean: list[float], first: int) -> None:
    samples = np.arange(first, first + len(mean), dtype=np.int32)
    twin = [reference.noisy_draw(key, int(s), m, std) for s, m in zip(samples, mean, strict=True)]
    np.testing.assert_allclose(row(key, samples, np.array(mean), std), twin, rtol=0, atol=1e-9)


@pytest.mark.parametrize("std", [0.01, 0.1, 0.3])
def test_long_row_equals_the_reference_implementation(std: float) -> None:
    """Long enough for what is rare: tails of the normal, rejected proposals, far ones."""
    n = 5000
    samples, mean = np.arange(n, dtype=np.int32), np.random.default_rng(0).uniform(0, 1, n) ** 2
    twin = [reference.noisy_draw(3, int(s), m, std) for s, m in zip(samples, mean, strict=True)]
    np.testing.assert_allclose(row(3, samples, mean, std), twin, rtol=0, atol=1e-9)


@settings(max_examples=50)
@given(keys, stds, st.lists(st.tuples(means, st.booleans()), min_size=1, max_size=30), st.randoms())
def test_a_draw_depends_on_its_key_and_sample_alone(
    key: int, std: float, cells: list[tuple[float, bool]], shuffler: object
) -> None:
    mean = np.array([m for m, _ in cells])
    whole = row(key, np.arange(len(cells), dtype=np.int32), mean, std)
    some = [s for s, (_, kept) in enumerate(cells) if kept] or [0]
    shuffler.shuffle(some)  # type: ignore[attr-defined]
    samples = np.array(some, np.int32)
    np.testing.assert_array_equal(row(key, samples, mean[samples], std), whole[samples])


@given(keys)
def test_other_keys_and_samples_give_other_draws(key: int) -> None:
    drawn = row(key, np.arange(20, dtype=np.int32), np.full(20, 0.4), 0.01)
    other = row(key ^ 1, np.arange(20, dtype=np.int32), np.full(20, 0.4), 0.01)
    assert len(np.unique(np.concatenate([drawn, other]))) == 40
