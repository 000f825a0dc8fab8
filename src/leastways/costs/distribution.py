"""The distributions that cost functions are drawn from: D_mix, D_lin, D_perc of the paper, and all between."""

from __future__ import annotations

from dataclasses import dataclass

from leastways._messages import nearest
from leastways._validation import check_number
from leastways.errors import SettingError

_NAMED_ALPHA: dict[str, float | None] = {"mix": None, "linear": 1.0, "percentile": 0.0}


@dataclass(frozen=True)
class CostDistribution:
    """How plausible cost functions are drawn.

    Parameters
    ----------
    alpha
        Weight of linear against percentile cost; None draws it uniformly for every function (D_mix). 1 is D_lin,
        0 is D_perc.
    noise_std
        Standard deviation of the Beta noise around each mean; 0 for none.
    """

    alpha: float | None = None
    noise_std: float = 0.01

    def __post_init__(self) -> None:
        if self.alpha is not None:
            check_number("alpha", self.alpha, 0, 1)
        check_number("noise_std", self.noise_std, 0, 0.5)

    @classmethod
    def of(cls, value: str | CostDistribution) -> CostDistribution:
        """Accept a distribution or its name: mix, linear, percentile."""
        if isinstance(value, CostDistribution):
            return value
        if not isinstance(value, str) or value not in _NAMED_ALPHA:
            raise SettingError(
                f"costs must be a CostDistribution or one of {', '.join(_NAMED_ALPHA)}, not {value!r}."
                + nearest(value, _NAMED_ALPHA)
            )
        return cls(alpha=_NAMED_ALPHA[value])
