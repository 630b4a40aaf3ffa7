"""FlowMatcher and solve."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
import torch

import htfm
from htfm import _core


def rows(n: int = 500, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(htfm.data.synthetic("student", n, nu=3.0, seed=seed)).float()


class Mlp(torch.nn.Module):
    """A user's own network."""

    def __init__(self, dim: int, feature: int):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(dim + 1 + feature, 64), torch.nn.SiLU(), torch.nn.Linear(64, 64), torch.nn.SiLU(), torch.nn.Linear(64, dim))

    def forward(self, t, x, feature=None):
        parts = [x, t[:, None]] + ([] if feature is None else [feature])
        return self.net(torch.cat(parts, 1))


@pytest.mark.parametrize("coupling", list(htfm.couplings.kinds()))
def test_every_coupling_gives_pairs(coupling):
    x = rows()
    t, x_t, u_t, feature = htfm.FlowMatcher(x, htfm.clocks.stable(1.7), coupling).sample(x[:128])
    assert x_t.shape == u_t.shape == (128, 2) and t.shape == (128,) and feature.shape[0] == 128
    assert torch.isfinite(x_t).all() and torch.isfinite(u_t).all()


def test_plain_pairs_are_those_of_the_straight_path():
    """Without a clock, coupling and preconditioning: x_t = t x_1 + (1 - t) x_0, u_t = x_1 - x_0, x_0 normal."""
    x = rows(20000)
    matcher = htfm.FlowMatcher(x, precondition=False, seed=3)
    t, x_t, u_t, feature = matcher.sample(x)
    assert feature is None
    x0 = x - u_t
    assert torch.allclose(x_t, t[:, None] * x + (1 - t[:, None]) * x0, atol=1e-4)
    bound = 5 / np.sqrt(x0.numel())
    assert abs(float(x0.mean())) < bound and abs(float(x0.std()) - 1) < bound
    assert abs(float(t.mean()) - 0.5) < 5 / np.sqrt(12 * 20000)


def test_type_shape_and_seed():
    images = torch.randn(64, 3, 4, 4, dtype=torch.float64)
    make = lambda seed: htfm.FlowMatcher(images, "deterministic", seed=seed)  # noqa: E731
    t, x_t, u_t, _ = make(1).sample(images[:8])
    assert x_t.shape == (8, 3, 4, 4) and x_t.dtype == t.dtype == u_t.dtype == torch.float64
    assert torch.equal(x_t, make(1).sample(images[:8])[1])
    assert not torch.equal(x_t, make(2).sample(images[:8])[1])
    with pytest.raises(ValueError, match="shape"):
        make(1).sample(images[:8, :1])
    with pytest.raises(ValueError):
        make(1).sample(torch.zeros(3, dtype=torch.int64))


def test_state_goes_on_with_the_same_pairs():
    x = rows()
    one, other = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool") for _ in range(2))
    one.sample(x[:50])
    other.load_state_dict(one.state_dict())
    for a, b in zip(one.sample(x[:50]), other.sample(x[:50])):
        assert torch.equal(a, b)


def test_a_users_loop_learns_heavy_tails():
    """Network, loss and loop are the user's; only the matcher and the sampling are ours."""
    torch.manual_seed(0)
    x = rows(4000)
    matcher = htfm.FlowMatcher(x, clock=htfm.clocks.inverse_gamma(3.0), coupling="pool")
    net = Mlp(2, matcher.feature_size)
    optimiser = torch.optim.Adam(net.parameters(), 3e-3)
    losses = []
    for _ in range(300):
        x1 = x[torch.randint(len(x), (256,))]
        t, x_t, u_t, feature = matcher.sample(x1)
        loss = ((net(t, x_t, feature) - u_t) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert np.mean(losses[-50:]) < 0.8 * np.mean(losses[:10])
    drawn = htfm.solve(net, matcher, n=4000, nfe=20, solver="ab2", seed=1)
    assert drawn.shape == (4000, 2) and torch.isfinite(drawn).all()
    real, fake = (torch.linalg.norm(v.double(), dim=1).quantile(0.99) for v in (x, drawn))
    assert 0.6 < float(fake / real) < 1.7
    for solver in ("euler", "fitted"):
        assert htfm.solve(net, matcher, n=50, nfe=10, solver=solver).shape == (50, 2)
    # torch's matrix products round differently by batch
    assert torch.allclose(htfm.solve(net, matcher, n=20, seed=1), htfm.solve(net, matcher, n=20, seed=1, batch=7), rtol=1e-3)


@pytest.mark.parametrize("coupling", ["pool", "ot"])
def test_couplings_keep_the_clocks_law_given_a_condition(coupling):
    """Rows of one class are ten times as large; among them the share of large clocks is that of all."""
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(4000) % 2
    x = torch.randn(4000, 2, generator=generator) * torch.where(label == 1, 10.0, 1.0)[:, None]
    places = torch.arange(0, 4000, 4 if coupling == "pool" else 8)
    places = torch.cat([places, places + 1])

    def share(**more):  # of the rows of the large class, those with a clock above the median
        matcher = htfm.FlowMatcher(x, htfm.clocks.stable(1.7), coupling, **more)
        feature = matcher.sample(x[places], index=places)[3][:, -1]  # it grows with the area
        return float((feature[label[places] == 1] > feature.median()).float().mean())

    error = 0.5 / np.sqrt(len(places) / 2)
    assert abs(share(condition=label) - 0.5) < 4 * error
    assert share() > 0.5 + 4 * error
    matcher = htfm.FlowMatcher(x, htfm.clocks.stable(1.7), coupling, condition=x[:, 0])
    with pytest.raises(ValueError, match="places in the training set"):
        matcher.sample(x[places])
    with pytest.raises(ValueError, match="from 0 to 3999"):
        matcher.sample(x[:1], index=[4000])
    with pytest.raises(ValueError, match="a row for each of 4000"):
        htfm.FlowMatcher(x, coupling=coupling, condition=label[:10])


def test_solve_of_a_known_velocity():
    """The velocity of Gaussian data of deviation 2 carries the source to deviation 2."""
    x = 2 * torch.randn(1000, 1, generator=torch.Generator().manual_seed(0))
    matcher = htfm.FlowMatcher(x, precondition=False)

    def velocity(t, state):
        a, b = t[:, None], 1 - t[:, None]
        return (4 * a - b) / (4 * a**2 + b**2) * state

    drawn = htfm.solve(velocity, matcher, n=4000, nfe=40, solver="ab2", time_grid="uniform")
    assert abs(float(drawn.std()) / 2 - 1) < 0.06


def test_bad_velocities_are_refused():
    matcher = htfm.FlowMatcher(rows())
    with pytest.raises(ValueError, match="shape"):
        htfm.solve(lambda t, x: t, matcher, n=4)
    with pytest.raises(ValueError, match="function or a torch module"):
        htfm.solve(3, matcher, n=4)
    with pytest.raises(ZeroDivisionError):
        htfm.solve(lambda t, x: 1 / 0, matcher, n=4)
    with pytest.raises(ValueError, match="solver"):
        htfm.solve(lambda t, x: x, matcher, n=4, solver="magic")


def noise_of(matcher, x):
    """Where the noise of the pairs comes from shows in their times alone."""
    return matcher.sample(x)[0]


def test_a_worker_of_a_loader_cannot_draw_pairs():
    """Every worker, and every epoch, would begin with the same pairs."""
    x = rows()
    matcher = htfm.FlowMatcher(x)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), 50, num_workers=1,
                                         collate_fn=lambda batch: noise_of(matcher, torch.stack([row for row, in batch])))
    with pytest.raises(ValueError, match="in the process that trains"):
        next(iter(loader))
    assert int(matcher.state_dict()["step"]) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_pairs_have_the_type_of_half_precision(dtype):
    x = rows()
    one, other = htfm.FlowMatcher(x, htfm.clocks.stable(1.7)), htfm.FlowMatcher(x, htfm.clocks.stable(1.7))
    for a, b in zip(one.sample(x[:9].to(dtype)), other.sample(x[:9].to(dtype).float())):
        assert a.dtype == dtype and torch.equal(a, b.to(dtype))


def test_threads_share_a_matcher():
    x = rows()
    alone, shared = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool") for _ in range(2))
    expected = sorted(float(noise_of(alone, x[:8])[0]) for _ in range(400))
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.extend(float(noise_of(shared, x[:8])[0]) for _ in range(100)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == expected


def test_bad_batches_and_places_are_refused_in_one_line():
    x = rows()
    matcher = htfm.FlowMatcher(x)
    with pytest.raises(ValueError, match=r"at least one row .* got float32 of shape \(0, 2\)"):
        matcher.sample(x[:0])
    for index in (torch.tensor([0.0, 1.0]), torch.zeros(2, 1, dtype=torch.long), np.array([True, False])):
        with pytest.raises(ValueError, match="one whole number for each row"):
            matcher.sample(x[:2], index=index)
    matcher.sample(x[:2], index=range(2))
    with pytest.raises(RuntimeError) as error:
        matcher.sample(torch.empty(4, 2, device="meta"))
    assert "\n" not in str(error.value) and "frame #" not in str(error.value)


def test_dopri5_has_evaluations_enough_and_says_so_where_not():
    matcher = htfm.FlowMatcher(rows(), precondition=False)
    velocity = lambda t, x: 30 * torch.cos(30 * t[:, None]) * torch.ones_like(x)  # noqa: E731
    fine = htfm.solve(velocity, matcher, n=50, nfe=5000, solver="dopri5", seed=1)
    assert torch.allclose(htfm.solve(velocity, matcher, n=50, solver="dopri5", seed=1), fine)
    with pytest.warns(UserWarning, match="50 of 50 samples are unfinished"):
        htfm.solve(velocity, matcher, n=50, nfe=20, solver="dopri5", seed=1)
    with pytest.warns(UserWarning, match="5 of 5 samples are not finite"):
        htfm.solve(lambda t, x: x * torch.nan, matcher, n=5)


@pytest.mark.parametrize("option", [
    {"time_power": -1.0}, {"time_spread": 0.0}, {"rtol": -1.0}, {"atol": float("nan")}, {"batch": 0}, {"n": 2.5},
    {"nfe": "many"}, {"first": -1}, {"device": "nowhere"}, {"device": "cuda:99"}])
def test_numbers_that_make_no_sense_are_refused(option):
    matcher = htfm.FlowMatcher(rows())
    with pytest.raises(ValueError, match=next(iter(option)).replace("first", "first sample")):
        htfm.solve(lambda t, x: torch.zeros_like(x), matcher, **{"n": 5, **option})
    assert htfm.solve(lambda t, x: torch.zeros_like(x), matcher, n=1e1).shape == (10, 2)


def test_what_is_no_tensor_or_matcher_is_named():
    matcher = htfm.FlowMatcher(rows())
    with pytest.raises(ValueError, match="torch tensor of the shape .* got ndarray"):
        htfm.solve(lambda t, x: x.numpy(), matcher, n=4)
    with pytest.raises(ValueError, match="expected a FlowMatcher, got Tensor"):
        htfm.solve(lambda t, x: x, rows(), n=4)


def other_values(kind: str, default: str) -> list[str]:
    """Values of a key that are not its default."""
    if kind == "true or false":
        return ["false" if default == "true" else "true"]
    if kind == "whole number":
        return [str(int(default) + 1), str(max(int(default) - 1, 0))]
    return [str(float(default) * 0.9), "0.5"] if kind == "number" and default else []


def test_settings_that_change_no_pairs_are_refused_and_no_others():
    x = rows()
    tried = 0
    plain = _core.RunConfig()
    expected = _core.FlowMatcher(plain, x).sample(x[:20])
    for key, (kind, default, _) in htfm.config.keys().items():
        if _core.FlowMatcher.takes(key):
            continue
        with pytest.raises(ValueError, match=rf"^\[{key}\] expected a key that a FlowMatcher uses \(clock"):
            htfm.FlowMatcher(x, settings={key: default})
        for value in other_values(kind, default):
            try:
                config = _core.with_settings(plain, [f"{key}={value}"])
                found = _core.FlowMatcher(config, x).sample(x[:20])
            except ValueError:
                continue
            assert all(torch.equal(a, b) for a, b in zip(found[:3], expected[:3])), f"{key} changes the pairs"
            tried += 1
    assert tried > 80  # most keys that are refused were shown to change nothing


@pytest.mark.parametrize("setting", [
    {"train.times": "normal"}, {"train": {"times": "normal", "times_centre": 1.0}}, {"seed": 1}, {"coupling.noise": 0.5},
    {"precondition.time": "clock"}, {"precondition.scale": "clock"}, {"precondition.data_scale": 3.0}, {"path.schedule": "vp"},
    {"source.skew": 0.5}, {"data.tail": "pareto"}, {"net.kind": "unet", "coupling.noise": "auto"}, {"feature.order": 2}])
def test_settings_that_are_taken_change_the_pairs(setting):
    x = rows()
    one, other = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool", settings={"feature.order": 1, "coupling.noise": "auto", "coupling.pool": 2048} | s) for s in ({}, setting))
    differ = [a.shape != b.shape or not torch.equal(a, b) for a, b in zip(one.sample(x[:50]), other.sample(x[:50]))]
    assert any(differ)


def test_an_argument_and_its_key_do_not_contradict():
    x = rows()
    for call in ({"clock": "deterministic", "settings": {"clock.family": "stable"}}, {"coupling": "pool", "settings": {"coupling.kind": "radial"}},
                 {"precondition": False, "settings": {"precondition": True}}, {"feature": False, "settings": {"feature.order": 2}},
                 {"seed": 0, "settings": {"seed": 1}}):
        with pytest.raises(ValueError, match="expected the argument .* or this key, got both"):
            htfm.FlowMatcher(x, **call)
    stable = {"clock.family": "stable", "clock.alpha": 1.7}
    assert htfm.FlowMatcher(x, settings=stable).clock == htfm.clocks.stable(1.7)
    with pytest.raises(ValueError, match=r"\[clock.nu\] expected a parameter of the clock 'stable'"):
        htfm.FlowMatcher(x, settings={**stable, "clock.nu": 3.0})
    for name in ("precondition", "feature"):
        with pytest.raises(ValueError, match=rf"\[{name}\] expected True or False, got 'off'"):
            htfm.FlowMatcher(x, **{name: "off"})


@pytest.mark.parametrize("coupling", ["independent", "pool", "ot"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e39])
def test_values_that_are_not_finite_are_refused(coupling, value):
    x = rows().double()
    bad = x[:64].clone()
    bad[37, 1] = value
    matcher, other = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7), coupling) for _ in range(2))
    for batch in (bad, bad.numpy(), bad[30:40].T.contiguous().T):
        row = 37 if len(batch) == 64 else 7
        with pytest.raises(ValueError, match=rf"expected finite data, .* in row {row} "):
            matcher.sample(batch)
    with pytest.raises(ValueError, match="expected finite training rows, .* in row 37 "):
        htfm.FlowMatcher(bad)
    for a, b in zip(matcher.sample(x[:50]), other.sample(x[:50])):  # a batch that was refused counts for nothing
        assert torch.equal(a, b)


def test_rows_of_any_layout_give_the_same_pairs():
    x = rows()
    images = torch.randn(64, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    for train, batch, other in (
            (x, x[:60], x[:60].T.contiguous().T), (x, x[:60], x.repeat_interleave(2, 0)[:120:2]), (x, x[:1].repeat(9, 1), x[:1].expand(9, 2)),
            (images, images[:8], images[:8].to(memory_format=torch.channels_last)), (x, x[:8], x[:8].clone().requires_grad_())):
        one, two = htfm.FlowMatcher(train).sample(batch), htfm.FlowMatcher(train).sample(other)
        assert all(torch.equal(a, b) and not b.requires_grad for a, b in zip(one[:3], two[:3]))


def test_tensors_that_are_not_dense_are_refused_in_one_line():
    x = rows()
    matcher = htfm.FlowMatcher(x)
    with pytest.warns(UserWarning, match="nested"):
        nested = torch.nested.nested_tensor([x[0], x[1]])
    for batch, kind in ((x[:4].to_sparse(), "sparse_coo"), (nested, "nested"), (torch.quantize_per_tensor(x[:4], 0.1, 0, torch.qint8), "quantised")):
        with pytest.raises(ValueError, match=rf"^\[x1\] expected a dense tensor, got a {kind} one$"):
            matcher.sample(batch)


def test_frames_of_several_number_types():
    pd = pytest.importorskip("pandas")
    x = rows().numpy()
    frame = pd.DataFrame({"a": x[:, 0].astype(np.float64), "b": pd.array(np.arange(500), dtype="Int64"), "c": x[:, 0] > 0})
    t, x_t, _, _ = htfm.FlowMatcher(frame).sample(frame.iloc[:5])
    assert isinstance(x_t, np.ndarray) and x_t.shape == (5, 3) and t.dtype == np.float64
    frame.loc[3, "b"] = pd.NA
    with pytest.raises(ValueError, match="nan in row 3 "):
        htfm.FlowMatcher(frame)
    with pytest.raises(ValueError, match="array of numbers, got DataFrame"):
        htfm.FlowMatcher(frame.assign(b="text"))


def test_states_are_saved_by_torch_and_wrong_ones_refused():
    x = rows()
    make = lambda: htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool")  # noqa: E731
    one, other = make(), make()
    one.sample(x[:50])
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert all(torch.equal(a, b) for a, b in zip(one.sample(x[:50]), other.sample(x[:50])))
    good = one.state_dict()
    for bad, found in ((None, "NoneType"), ({}, "nothing"), ({**good, "step": 7}, r"step \(int\)"), ({**good, "more": good["step"]}, "more"),
                       ({**good, "step": torch.tensor(-5)}, "as step, got -5"), ({**good, "step": torch.tensor(1.5)}, "as step, got 1.5"),
                       ({**good, "position": torch.tensor([1, 2])}, r"as position, got \[1, 2\]")):
        with pytest.raises(ValueError, match=rf"^\[state\] expected .*{found}"):
            other.load_state_dict(bad)
    assert all(torch.equal(a, b) for a, b in zip(one.sample(x[:50]), other.sample(x[:50])))


def test_conditions_of_other_types():
    x = rows()
    label = torch.arange(500) % 2
    same = [htfm.FlowMatcher(x, coupling="pool", condition=c).sample(x[:9], index=range(9)) for c in (label, label.numpy(), label.tolist())]
    assert all(torch.equal(pairs[1], same[0][1]) for pairs in same)
    assert htfm.FlowMatcher(x, coupling="pool", condition=x[:, 0].bfloat16()).sample(x[:9], index=range(9))[1].shape == (9, 2)
    for bad, found in ((torch.zeros(500, 0), "at least one column"), (torch.zeros(500, dtype=torch.complex64), "complex")):
        with pytest.raises(ValueError, match=rf"\[condition\] .*{found}"):
            htfm.FlowMatcher(x, condition=bad)


def test_velocities_may_write_to_what_they_are_given():
    """Solvers keep earlier velocities: neither a buffer that is used again nor an input that is changed disturbs them."""
    matcher = htfm.FlowMatcher(rows(), precondition=False)
    buffers: dict[tuple[int, ...], torch.Tensor] = {}
    in_buffer = lambda t, x: torch.mul(x, t[:, None], out=buffers.setdefault(tuple(x.shape), torch.empty_like(x)))  # noqa: E731
    for solver, nfe in (("euler", 6), ("heun", 6), ("ab2", 6), ("dopri5", 500)):
        expected = htfm.solve(lambda t, x: x * t[:, None], matcher, n=9, nfe=nfe, solver=solver, seed=1)
        for velocity in (in_buffer, lambda t, x: x.mul_(t[:, None]), lambda t, x: x * t[:, None].clone().requires_grad_()):
            assert torch.equal(htfm.solve(velocity, matcher, n=9, nfe=nfe, solver=solver, seed=1), expected)


def test_solve_refuses_what_its_solver_does_not_use():
    matcher = htfm.FlowMatcher(rows(), htfm.clocks.stable(1.7), feature=False)
    zero = lambda t, x: torch.zeros_like(x)  # noqa: E731
    for name, solver in (("rtol", "dopri5"), ("atol", "dopri5"), ("eta", "stochastic"), ("eta_from", "stochastic")):
        with pytest.raises(ValueError, match=rf"\[{name}\] expected the solver {solver} with it, got ab2"):
            htfm.solve(zero, matcher, n=3, **{name: 0.5})
        with pytest.raises(ValueError, match=rf"\[{name}\] expected a number, got 'x'"):
            htfm.solve(zero, matcher, n=3, solver=solver, **{name: "x"})
    some, all_ = (htfm.solve(zero, matcher, n=50, solver="stochastic", eta=eta) for eta in (0.0, 1.0))
    assert not torch.equal(some, all_)
    with pytest.raises(ValueError, match=r"\[solver\] expected a text, got 3"):
        htfm.solve(zero, matcher, n=3, solver=3)
    for dtype in (torch.int32, torch.complex64):
        with pytest.raises(ValueError, match=rf"type of real numbers, got one of {dtype}"):
            htfm.solve(lambda t, x, own=dtype: x.to(own), matcher, n=3)


def test_the_velocity_is_asked_in_the_type_of_the_training_rows():
    seen = set()

    def velocity(t, x):
        seen.add((t.dtype, x.dtype))
        return torch.zeros_like(x)

    for given, used in ((torch.float32, torch.float32), (torch.float64, torch.float64), (torch.bfloat16, torch.float32)):
        seen.clear()
        htfm.solve(velocity, htfm.FlowMatcher(rows().to(given)), n=3, nfe=2)
        assert seen == {(used, used)}


@pytest.mark.slow
def test_torch_compile_around_a_step_and_a_velocity():
    """compile leaves the matcher out of its graph: the same numbers, and new noise in every call."""
    x = rows()
    one, other = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool") for _ in range(2))

    def loss(matcher, batch):
        t, x_t, u_t, feature = matcher.sample(batch)
        return (t[:, None] * x_t + feature.sum(1, keepdim=True) - u_t).square().mean()

    compiled = torch.compile(loss, backend="eager")
    found = [float(compiled(one, x[:64])) for _ in range(3)]
    assert found == pytest.approx([float(loss(other, x[:64])) for _ in range(3)]) and len(set(found)) == 3
    velocity = lambda t, x, feature: torch.tanh(x) * t[:, None] - feature.sum(1, keepdim=True)  # noqa: E731
    assert torch.allclose(htfm.solve(torch.compile(velocity, backend="eager"), one, n=20, seed=1), htfm.solve(velocity, other, n=20, seed=1))
