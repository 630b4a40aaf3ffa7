"""Random clocks: nondecreasing paths on [0, 1] that set the size of the noise.

>>> clock = stable(1.7)
>>> drawn = clock.sample(1000, seed=1)
>>> drawn.area.shape, drawn.paths.shape
(torch.Size([1000]), torch.Size([1000, 201]))
"""

from __future__ import annotations

from typing import Any

import torch

from htfm import _core
from htfm._arrays import ArrayLike, device_name, real, seed_of, share_floats, whole
from htfm._core import ClockSample, InputError

__all__ = [
    "Clock",
    "ClockSample",
    "auto",
    "compound_poisson",
    "deterministic",
    "families",
    "fitted",
    "gamma",
    "generalised_inverse_gaussian",
    "inverse_gamma",
    "inverse_gaussian",
    "make",
    "stable",
    "tempered_stable",
]


class Clock:
    """The law of a clock. Made by :func:`make` or by the function of its family.

    >>> clock = inverse_gamma(3.0)
    >>> clock.family, clock.parameters, clock.tail_exponent
    ('inverse-gamma', {'nu': 3.0}, 3.0)
    """

    def __init__(self, spec: _core.ClockSpec):
        self.spec = spec
        # auto and fitted have no law until a data set gives them one
        self._clock = None if spec.family in ("auto", "fitted") else _core.make_clock(spec)

    @property
    def family(self) -> str:
        """The family's name."""
        return self.spec.family

    @property
    def parameters(self) -> dict[str, float]:
        """Its parameters by name."""
        return dict(self.spec.parameters)

    @property
    def grid(self) -> int:
        """Steps of a path on [0, 1]."""
        return self.spec.grid

    @property
    def scale(self) -> float:
        """Factor that the source is multiplied by."""
        return self.spec.scale

    def _made(self) -> _core.Clock:
        if self._clock is None:
            raise InputError(f"[clock] expected a law, got '{self.family}', which has none until a data set gives it one")
        return self._clock

    @property
    def tail_exponent(self) -> float:
        """The polynomial tail exponent of the source, infinite for a light tail."""
        return self._made().tail_exponent

    def sample(
        self,
        n: int,
        seed: int | None = None,
        *,
        random_state: Any = None,
        first: int = 0,
        paths: bool = True,
        device: str | torch.device = "cpu",
    ) -> ClockSample:
        """n clocks: ``.area``, ``.end`` and, unless ``paths`` is False, ``.paths`` (n x (grid + 1)), float64 tensors.

        Clock i of a seed is the same whatever n, ``first`` and the number of threads.

        >>> whole, part = stable(1.5).sample(10, seed=3), stable(1.5).sample(4, seed=3, first=6)
        >>> bool((whole.area[6:] == part.area).all())
        True
        """
        key = _core.Key(seed_of(seed, random_state, 0)).child("clock")  # as the program draws them
        return self._made().sample(key, whole(n, "n"), whole(first, "first"), bool(paths), device_name(device))

    def source(self, area: ArrayLike, dim: int, seed: int | None = None, *, random_state: Any = None) -> torch.Tensor:
        """Points of the source for these areas: sqrt(2 A) z with z normal, n x dim.

        >>> clock = stable(1.7)
        >>> clock.source(clock.sample(5, paths=False).area, dim=2).shape
        torch.Size([5, 2])
        """
        areas = share_floats(area, "area")[0].to("cpu", torch.float64)
        if not bool((areas.isfinite() & (areas > 0)).all()):
            raise InputError("[area] expected positive, finite areas of clocks, got another value")
        return _core.sample_source(_core.Key(seed_of(seed, random_state, 0)).child("source"), areas, whole(dim, "dim"))

    def _parts(self) -> tuple[Any, ...]:
        return self.family, self.grid, self.scale, self.parameters

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Clock) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.family, self.grid, self.scale, *sorted(self.parameters.items())))

    def __reduce__(self) -> tuple[Any, ...]:  # for pickle and copy
        return _again, self._parts()

    def __repr__(self) -> str:
        return f"Clock({self.spec.describe()})"


def families() -> dict[str, tuple[str, dict[str, tuple[float, float, str]]]]:
    """Every family: its summary, and its parameters with their open intervals and meanings.

    >>> list(families()["stable"][1])
    ['alpha']
    """
    return {
        name: (summary, {p: (lower, upper, meaning) for p, lower, upper, meaning in parameters})
        for name, summary, parameters in _core.clock_families()
    }


def make(family: str, grid: int = 200, scale: float = 1.0, **parameters: float) -> Clock:
    """The clock of a family by its name.

    >>> make("stable", alpha=1.7)
    Clock(stable(alpha=1.7), grid 200)
    """
    return Clock(_core.ClockSpec(family, {k: real(v, k) for k, v in parameters.items()}, whole(grid, "grid"), real(scale, "scale")))


def _again(family: str, grid: int, scale: float, parameters: dict[str, float]) -> Clock:
    """A clock out of a pickle."""
    return make(family, grid, scale, **parameters)


def of(clock: Any) -> Clock:
    """A clock as users may give it: a Clock, a family's name or None for the deterministic one.

    >>> of(None).family
    'deterministic'
    """
    if clock is None:
        return deterministic()
    if isinstance(clock, Clock):
        return clock
    if isinstance(clock, str):
        return make(clock)
    raise InputError(f"[clock] expected a clock of htfm.clocks or a family's name, got {type(clock).__name__}")


def deterministic(*, grid: int = 200, scale: float = 1.0) -> Clock:
    """T_t = t: a Gaussian source.

    >>> float(deterministic().sample(1).area)
    0.5
    """
    return make("deterministic", grid, scale)


def stable(alpha: float, *, grid: int = 200, scale: float = 1.0) -> Clock:
    """An alpha-stable source, 0 < alpha < 2.

    >>> stable(1.7).tail_exponent
    1.7
    """
    return make("stable", grid, scale, alpha=alpha)


def tempered_stable(alpha: float, tempering: float, *, grid: int = 200, scale: float = 1.0) -> Clock:
    """A stable source whose far tail is tempered exponentially.

    >>> tempered_stable(1.5, 0.1).tail_exponent
    inf
    """
    return make("tempered-stable", grid, scale, alpha=alpha, tempering=tempering)


def inverse_gamma(nu: float, *, grid: int = 200, scale: float = 1.0) -> Clock:
    """A Student-t source with nu degrees of freedom.

    >>> inverse_gamma(3.0).tail_exponent
    3.0
    """
    return make("inverse-gamma", grid, scale, nu=nu)


def gamma(shape: float, *, grid: int = 200, scale: float = 1.0) -> Clock:
    """A variance-gamma source: exponential tails.

    >>> gamma(2.0).tail_exponent
    inf
    """
    return make("gamma", grid, scale, shape=shape)


def inverse_gaussian(shape: float, *, grid: int = 200, scale: float = 1.0) -> Clock:
    """A normal-inverse-Gaussian source.

    >>> inverse_gaussian(1.0).tail_exponent
    inf
    """
    return make("inverse-gaussian", grid, scale, shape=shape)


def generalised_inverse_gaussian(
    order: float, concentration: float, *, grid: int = 200, scale: float = 1.0
) -> Clock:
    """A generalised hyperbolic source.

    >>> generalised_inverse_gaussian(-1.0, 1.0).sample(2, paths=False).area.shape
    torch.Size([2])
    """
    return make("generalised-inverse-gaussian", grid, scale, order=order, concentration=concentration)


def compound_poisson(
    drift: float, rate: float, jump_tail: float, *, grid: int = 200, scale: float = 1.0
) -> Clock:
    """A drift with rare large jumps; the source's tail index is twice jump_tail.

    >>> compound_poisson(1.0, 2.0, 0.75).tail_exponent
    1.5
    """
    return make("compound-poisson", grid, scale, drift=drift, rate=rate, jump_tail=jump_tail)


def fitted(*, grid: int = 200) -> Clock:
    """The distribution of the data's own radius; it is known once a data set is given.

    >>> fitted().family
    'fitted'
    """
    return make("fitted", grid)


def auto(*, grid: int = 200) -> Clock:
    """The clock that the tails of the data speak for.

    >>> auto().family
    'auto'
    """
    return make("auto", grid)
