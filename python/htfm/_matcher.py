"""Training pairs for a loop of one's own, and samples with a network of one's own."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch

from htfm import _core, clocks
from htfm import config as _config
from htfm._arrays import ArrayLike, device_name, flag, seed_of, share_floats, text, whole
from htfm._core import InputError
from htfm._progress import Progress, Reporter
from htfm._sampling import doubts, set_solver_numbers

Velocity = Callable[..., torch.Tensor]


def _conditions(condition: Any) -> tuple[list[list[str]], torch.Tensor | None]:
    """The categories of each column of a condition, none where it holds numbers; and its values, codes for categories."""
    if condition is None:
        return [], None
    if hasattr(condition, "columns"):
        columns = [condition[name].to_numpy() for name in condition.columns]
    else:
        if isinstance(condition, torch.Tensor):
            condition = condition.detach().cpu()
            condition = (condition.float() if condition.dtype == torch.bfloat16 else condition).numpy()
        cells = np.asarray(condition)
        if cells.ndim not in (1, 2):
            raise InputError(f"[condition] expected one value or a row of values for each row, got {cells.ndim} dimensions")
        columns = [cells] if cells.ndim == 1 else list(cells.T)
    if not columns:
        raise InputError("[condition] expected at least one column, got none")
    categories: list[list[str]] = []
    values = []
    for column in columns:
        if np.issubdtype(column.dtype, np.complexfloating):
            raise InputError("[condition] expected real numbers or categories, got complex numbers")
        if np.issubdtype(column.dtype, np.floating):
            if not np.isfinite(column).all():
                raise InputError(f"[condition] expected finite numbers, got {column[~np.isfinite(column)][0]}")
            categories.append([])
            values.append(column.astype(np.float64))
        else:
            names, codes = np.unique(column.astype(str), return_inverse=True)
            categories.append(names.tolist())
            values.append(codes.astype(np.float64))
    return categories, torch.from_numpy(np.stack(values, 1))


def _places(index: Any) -> list[int]:
    """Places in the training set, as the library takes them."""
    if index is None:
        return []
    places = index.detach().cpu() if isinstance(index, torch.Tensor) else torch.as_tensor(np.asarray(index))
    if places.dim() != 1 or places.is_floating_point() or places.is_complex() or places.dtype == torch.bool:
        raise InputError(f"[index] expected one whole number for each row, got {places.dtype} of shape {tuple(places.shape)}")
    return places.tolist()


_TAKEN = "clock.*, coupling.*, data.tail, feature.*, net.kind, path.*, precondition.*, seed, source.*, train.times*"


def _check_settings(keys: Sequence[str], arguments: Mapping[str, bool]) -> None:
    """Refuses keys that change no pairs, and those of which an argument that was given (true) says something else."""
    known = _config.keys()
    for key in keys:
        if key in known and not _core.FlowMatcher.takes(key):
            where = " (solve() has arguments for these)" if key.startswith("sample.") else ""
            raise InputError(f"[{key}] expected a key that a FlowMatcher uses ({_TAKEN}), got one that changes no pairs{where}")
        for own, given in arguments.items():
            if given and (key.startswith(own) if own.endswith(".") else key == own):
                raise InputError(f"[{key}] expected the argument {own.partition('.')[0]}= or this key, got both")


class FlowMatcher:
    """Flow matching under a clock: says what a network of yours sees and what it should give.

    ``x_train``: the training set, n x (any shape), to which scales and coupling are fitted. ``clock``: of
    :mod:`htfm.clocks`, or a family's name; None is Gaussian flow matching. ``coupling``: how clocks and noise meet the
    data (:func:`htfm.couplings.kinds`). ``precondition``: the network works in units in which every clock is of order
    one; :func:`solve` knows. ``feature``: whether the network is told of the clock; where not, ``t`` is the clock's time
    (``precondition.time``), at which an ordinary clock has as much noise, and where large clocks meet large data the
    units grow with them (``precondition.scale``), so that the samples' tails are the data's. ``settings``: further keys of a configuration;
    those that change no pairs (``sample``, most of ``train`` and ``data``) are refused.
    ``condition``: what your network is told of each training row beside its pair, an array or a data frame of as many
    rows; numbers with a point are near each other, everything else is a category. Clocks and noise then keep their law
    given the condition, and :meth:`sample` wants the rows' places (``index``).

    The batch is used as it is: pairs have the type and the device of ``x1`` (whole numbers become float64). They are a
    function of the seed and of the number of the call.

    >>> import torch
    >>> x = torch.randn(256, 2, generator=torch.Generator().manual_seed(0))
    >>> matcher = FlowMatcher(x, clock=clocks.stable(1.7), coupling="pool")
    >>> t, x_t, u_t, feature = matcher.sample(x[:64])
    >>> t.shape, x_t.shape, u_t.shape, feature.shape[0]
    (torch.Size([64]), torch.Size([64, 2]), torch.Size([64, 2]), 64)
    """

    def __init__(
        self,
        x_train: ArrayLike,
        clock: clocks.Clock | str | None = None,
        coupling: str = "independent",
        precondition: bool = True,
        *,
        feature: bool = True,
        seed: int | None = None,
        random_state: Any = None,
        condition: Any = None,
        settings: Mapping[str, Any] | None = None,
    ):
        precondition, feature = flag(precondition, "precondition"), flag(feature, "feature")
        rows, _ = share_floats(x_train, "x_train")
        law = clocks.of(clock)
        base = _core.RunConfig()
        base.clock = law.spec
        own: dict[str, Any] = {
            "coupling.kind": coupling,
            "precondition.enabled": precondition,
            "seed": seed_of(seed, random_state, 0),
        }
        if not feature:
            own |= {"feature.order": 0, "feature.area": "off"}
        if not feature and precondition:  # the time then says how much of the state is noise, whatever the clock
            own["precondition.time"] = "clock"
            if coupling in ("pool", "radial", "clock"):  # and the units say how large the data are that a clock meets
                own["precondition.scale"] = "clock"
        further = _config.settings_of(settings)
        keys = _config.keys_of(further)
        arguments = {"clock.": clock is not None, "coupling.kind": coupling != "independent", "precondition.enabled": not precondition,
                     "precondition": not precondition, "feature.": not feature, "seed": seed is not None or random_state is not None}
        _check_settings(keys, arguments)
        config = _core.with_settings(base, _config.settings_of(own) + further)
        used = _config.entries(config)
        for key in keys:
            if key.startswith("clock.") and key not in used:
                raise InputError(f"[{key}] expected a parameter of the clock '{used['clock.family']}', got one of another family")
        self._matcher = _core.FlowMatcher(config, rows, *_conditions(condition))

    def sample(self, x1: ArrayLike, index: Sequence[int] | torch.Tensor | None = None) -> tuple[Any, Any, Any, Any]:
        """Times, states, velocities and features for a batch: what the network sees is ``t``, ``x_t`` and ``feature``,
        what it should give is ``u_t``: torch tensors, or numpy arrays where ``x1`` is one. ``feature`` is None where the
        network is told nothing of the clock. ``index``: the rows' places in the training set, where a condition was given.

        >>> import torch
        >>> matcher = FlowMatcher(torch.randn(100, 2), precondition=False)
        >>> t, x_t, u_t, feature = matcher.sample(torch.randn(8, 2))
        >>> feature is None
        True
        """
        if torch.utils.data.get_worker_info() is not None:
            raise InputError(
                "[FlowMatcher] expected sample() in the process that trains, got a call in a worker of a DataLoader: every "
                "worker and every epoch would draw the same times, clocks and noise (let workers return x1 alone)")
        batch, restore = share_floats(x1, "x1")
        t, x, target, feature = self._matcher.sample(batch, _places(index))
        if batch is x1:
            return t, x, target, feature
        return restore(t), restore(x), restore(target), None if feature is None else restore(feature)

    @property
    def clock(self) -> clocks.Clock:
        """The clock; where the data chose it, the chosen one.

        >>> import torch
        >>> FlowMatcher(torch.randn(100, 2), "deterministic").clock.family
        'deterministic'
        """
        return clocks.Clock(self._matcher.clock)

    @property
    def feature_size(self) -> int:
        """Columns of the feature; 0: there is none.

        >>> import torch
        >>> FlowMatcher(torch.randn(100, 2)).feature_size
        0
        """
        return self._matcher.feature_size

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row.

        >>> import torch
        >>> FlowMatcher(torch.randn(100, 3, 4, 4)).row_shape
        (3, 4, 4)
        """
        return tuple(self._matcher.row_shape)

    def __repr__(self) -> str:
        return f"FlowMatcher({self.clock!r}, rows of shape {self.row_shape}, {self.feature_size} feature columns)"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a FlowMatcher is not copied or pickled: make it anew from the same x_train, and load_state_dict() of "
                        "this one's state_dict()")

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What training has changed, for a checkpoint: with it a run goes on with the same pairs.

        >>> import torch
        >>> matcher = FlowMatcher(torch.randn(100, 2))
        >>> _ = matcher.sample(torch.randn(8, 2))
        >>> int(matcher.state_dict()["step"])
        1
        """
        return dict(self._matcher.state())

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Takes up such a state.

        >>> import torch
        >>> matcher = FlowMatcher(torch.randn(100, 2))
        >>> matcher.load_state_dict(matcher.state_dict())
        """
        if not isinstance(state, Mapping):
            raise InputError(f"[state] expected what state_dict() gives, got {type(state).__name__}")
        wanted = self._matcher.state()
        if state.keys() != wanted.keys() or not all(isinstance(v, torch.Tensor) for v in state.values()):
            got = ", ".join(f"{key} ({type(value).__name__})" for key, value in state.items()) or "nothing"
            raise InputError(f"[state] expected tensors named {', '.join(wanted)}; got {got}")
        for name in ("step", "position"):
            if state[name].numel() != 1 or state[name].is_floating_point() or int(state[name]) < 0:
                raise InputError(f"[state] expected a whole number from 0 as {name}, got {state[name].tolist()}")
        self._matcher.load_state(dict(state))


def solve(
    velocity: Velocity,
    matcher: FlowMatcher,
    n: int = 1000,
    nfe: int | None = None,
    solver: str | None = None,
    *,
    seed: int | None = None,
    random_state: Any = None,
    device: str | torch.device | None = None,
    time_grid: str | None = None,
    time_power: float = 1.0,
    time_centre: float = 0.0,
    time_spread: float = 1.0,
    rtol: float | None = None,
    atol: float | None = None,
    eta: float | None = None,
    eta_from: float | None = None,
    batch: int | None = None,
    first: int = 0,
    progress: Progress = False,
) -> torch.Tensor:
    """n samples by a velocity that was trained on the matcher's pairs, n x (the shape of a row), float64.

    ``velocity``: any function of (t, x, feature), or of (t, x) where the matcher has no feature; a torch module is one,
    and runs where its parameters are unless ``device`` says otherwise. It is called without gradients, and in the mode it is
    in (``module.eval()`` is yours to call). ``solver``: one of :func:`solvers`; by default ab2. ``nfe``: evaluations per
    sample, by default 20; of dopri5 the most that it may spend, by default 2000. ``batch``: samples at a time; by default all. ``time_grid``: angle, clock
    or uniform (doc/configuration.md, sample.time_grid). ``rtol``, ``atol``: the error of dopri5, by default 1e-5. ``eta``, ``eta_from``:
    the noise of the solver stochastic (sample.eta). The velocity is asked with ``t``, ``x`` and ``feature`` of the type of ``x_train``.

    >>> import torch
    >>> matcher = FlowMatcher(torch.randn(200, 2))
    >>> solve(lambda t, x: torch.zeros_like(x), matcher, n=5, nfe=4).shape
    torch.Size([5, 2])
    """
    if not callable(velocity):
        raise InputError(f"[velocity] expected a function or a torch module, got {type(velocity).__name__}")
    if device is None and isinstance(velocity, torch.nn.Module):
        device = next((p.device for p in velocity.parameters()), torch.device("cpu"))
    if not isinstance(matcher, FlowMatcher):
        raise InputError(f"[matcher] expected a FlowMatcher, got {type(matcher).__name__}")
    core = matcher._matcher
    n = whole(n, "n")
    if batch is not None and whole(batch, "batch") < 1:
        raise InputError(f"[batch] expected at least one sample at a time, got {batch}")
    options = _core.sample_options(core.config)
    options.solver = "ab2" if solver is None else text(solver, "solver")
    options.n, options.first = n, whole(first, "first")
    options.nfe = whole(nfe, "nfe") if nfe is not None else 2000 if options.solver == "dopri5" else 20
    options.seed = seed_of(seed, random_state, 0)
    options.device_rows = n if batch is None else whole(batch, "batch")
    set_solver_numbers(options, time_power=time_power, time_centre=time_centre, time_spread=time_spread, rtol=rtol, atol=atol, eta=eta,
                       eta_from=eta_from)
    if time_grid is not None:
        options.set_time_grid(time_grid)
    options.set_device(device_name(device))
    told = matcher.feature_size > 0

    def network(t: torch.Tensor, x: torch.Tensor, feature: torch.Tensor | None) -> torch.Tensor:
        with torch.no_grad():
            out = velocity(t, x, feature) if told else velocity(t, x)
        if not isinstance(out, torch.Tensor) or not out.is_floating_point():
            got = f"one of {out.dtype}" if isinstance(out, torch.Tensor) else type(out).__name__
            raise InputError(f"[velocity] expected a torch tensor of the shape {list(x.shape)} and a type of real numbers, got {got}")
        return out

    with Reporter(progress) as reporter:
        options.set_report((lambda done, total: reporter.sampling("sampling", done, total)) if reporter.active else None)
        drawn = _core.solve(core, network, options)
    for warning in doubts(drawn, n, options):
        warnings.warn(warning, stacklevel=2)
    return drawn.samples


def solvers() -> dict[str, str]:
    """The solvers by name, with a line each.

    >>> "ab2" in solvers()
    True
    """
    return dict(_core.solvers())
