"""Signatures, couplings, clocks, scores on arrays of every kind; nothing is copied that need not be."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import htfm
from htfm._arrays import share


def test_arrays_share_memory():
    x = np.arange(6.0).reshape(2, 3)
    tensor, restore = share(x)
    assert tensor.data_ptr() == x.ctypes.data
    assert restore(tensor).ctypes.data == x.ctypes.data

    class Other:  # anything that speaks DLPack
        def __dlpack__(self, *args, **kwargs):
            return x.__dlpack__(*args, **kwargs)

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    assert share(Other())[0].data_ptr() == x.ctypes.data
    frozen = x.copy()
    frozen.flags.writeable = False
    assert share(frozen)[0].data_ptr() == frozen.ctypes.data


def test_samples_come_out_without_a_copy(model):
    drawn = model.sample(1000, seed=1, solver="euler")
    assert drawn.ctypes.data == model.last.samples.data_ptr()


@pytest.mark.parametrize("convention", ["linear", "jump", "leadlag", "constant"])
@pytest.mark.parametrize("basis", [None, "words", "brackets"])
def test_gradients_are_finite_differences(convention, basis):
    paths = torch.randn(2, 5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    call = htfm.signature if basis is None else htfm.logsignature
    more = {} if basis is None else {"basis": basis}
    assert torch.autograd.gradcheck(lambda p: call(p, 3, convention=convention, augment_time=True, **more), (paths,))


def test_signature_keeps_kind_and_type():
    x = np.random.default_rng(0).normal(size=(3, 7, 2))
    a, b = htfm.signature(x, 3), htfm.signature(torch.from_numpy(x).float(), 3)
    assert isinstance(a, np.ndarray) and a.dtype == np.float64
    assert isinstance(b, torch.Tensor) and b.dtype == torch.float32
    assert np.allclose(a, b.numpy(), atol=1e-4)
    with pytest.raises(ValueError, match="depth"):
        htfm.signature(x, 99)


def test_assignment_is_the_cheapest():
    scipy = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(0)
    x0, x1 = rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
    for p in (1.0, 1.5, 2.0):
        cost = np.linalg.norm(x1[:, None] - x0[None], axis=2) ** p
        rows, columns = scipy.linear_sum_assignment(cost)
        ours = htfm.couplings.assignment(x0, x1, p)
        assert cost[rows, ours].sum() == pytest.approx(cost[rows, columns].sum(), rel=1e-12)
        assert np.array_equal(htfm.couplings.linear_sum_assignment(cost)[1], ours)
    assert htfm.couplings.assignment(torch.from_numpy(x0).float(), torch.from_numpy(x1).float()).dtype == torch.int64
    with pytest.raises(ValueError, match="as many points"):
        htfm.couplings.assignment(x0[:5], x1)


def test_every_family_has_its_function():
    for family, (_, parameters) in htfm.clocks.families().items():
        function = getattr(htfm.clocks, family.replace("-", "_"))
        clock = function(**{name: {"alpha": 1.5, "jump_tail": 0.7}.get(name, 1.0) for name in parameters})
        assert clock.family == family
        if family not in ("auto", "fitted"):
            assert clock.sample(3).paths.shape == (3, 201)
    with pytest.raises(ValueError, match="alpha"):
        htfm.clocks.stable(2.5)
    with pytest.raises(ValueError, match="none until"):
        htfm.clocks.auto().sample(1)


def test_scores_take_every_kind(table):
    pd = pytest.importorskip("pandas")
    other = table + 0.1
    want = htfm.metrics.w1(table, other)
    assert htfm.metrics.w1(pd.DataFrame(table), torch.from_numpy(other)) == want
    assert htfm.metrics.f1_knn(table, other).precision <= 1
    scores = htfm.metrics.compute(table, other, ["tails"])
    assert scores and all(isinstance(v, float) for v in scores.values())
    with pytest.raises(ValueError, match="expected one of"):
        htfm.metrics.compute(table, other, ["nothing"])
    assert htfm.metrics.tails(table, other)["hill_real"] > 0


def test_baselines_train():
    for method in htfm.baselines.methods():
        clock = {"clock.family": "inverse-gamma", "clock.nu": 3} if method.startswith("t") else {"clock.family": "stable", "clock.alpha": 1.7}
        model = htfm.baselines.train(method, config={"data.n": 200, "train.epochs": 1, **clock})
        assert model.sample(4, seed=1, nfe=6).shape == (4, 2), method
    with pytest.raises(ValueError, match="expected one of"):
        htfm.baselines.train("htfm")


def test_signatures_refuse_gradients_that_they_do_not_have():
    """Of the second order, of times and of chen's factors: torch would have taken them for constants."""
    paths = torch.randn(2, 5, 2, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(htfm.signature(paths, 2).square().sum(), paths, create_graph=True)
    plain, = torch.autograd.grad(htfm.signature(paths, 2).square().sum(), paths)
    assert torch.equal(first, plain)
    for call in (htfm.signature, htfm.logsignature):
        first, = torch.autograd.grad(call(paths, 2).sum(), paths, create_graph=True)
        with pytest.raises(ValueError, match="gradients of the first order"):
            (first.square().sum() + paths.square().sum()).backward()
    times = torch.linspace(0, 1, 5, requires_grad=True)
    with pytest.raises(ValueError, match=r"\[times\] expected values without a gradient"):
        htfm.signature(paths, 2, augment_time=True, times=times)
    with pytest.raises(ValueError, match=r"\[first\] expected values without a gradient"):
        htfm.chen(htfm.signature(paths, 2), htfm.signature(paths, 2), 2, 2)
    with torch.no_grad():
        htfm.chen(htfm.signature(paths, 2), htfm.signature(paths, 2), 2, 2)


def test_half_precision_comes_back_as_it_is():
    for dtype in (torch.float16, torch.bfloat16):
        paths = torch.randn(2, 5, 2).to(dtype).requires_grad_()
        found = htfm.signature(paths, 2)
        found.sum().backward()
        assert found.dtype == paths.grad.dtype == dtype
        assert torch.equal(found, htfm.signature(paths.float(), 2).to(dtype))


@pytest.mark.parametrize("call, named", [
    (lambda x: htfm.signature(x.reshape(1, 400, 3), "2"), "depth"), (lambda x: htfm.couplings.assignment(x, x, p="2"), "p"),
    (lambda x: htfm.clocks.stable("1.7"), "alpha"), (lambda x: htfm.clocks.stable(1.7, grid=2.5), "grid"),
    (lambda x: htfm.clocks.stable(1.7).sample(3, device="gpu"), "device"), (lambda x: htfm.clocks.stable(1.7).source([-1.0], 2), "area"),
    (lambda x: htfm.clocks.stable(1.7).source([np.nan], 2), "area"), (lambda x: htfm.metrics.f1_knn(x, x, k=2.5), "k"),
    (lambda x: htfm.metrics.compute(x, x, rounds="a"), "rounds"), (lambda x: htfm.data.synthetic(alpha="x"), "alpha"),
    (lambda x: htfm.tails(x, level="a"), "level"), (lambda x: htfm.tails(x, directions=2.5), "directions"),
    (lambda x: htfm.set_thread_count(2.5), "threads"), (lambda x: htfm.couplings.assignment(x[:0], x[:0]), "assignment")])
def test_wrong_arguments_are_named_in_one_line(table, call, named):
    with pytest.raises(ValueError, match=rf"^\[{named}\] expected [^\n]* got [^\n]*$"):
        call(table)


def test_lists_names_and_devices_are_taken_as_torch_has_them(table):
    x0, x1 = htfm.couplings.sample_plan([[0.0], [5.0]], [[6.0], [1.0]])
    assert x0.ravel().tolist() == [5.0, 0.0] and x1.shape == (2, 1)
    assert htfm.metrics.compute(table, table, "w1_pooled") == htfm.metrics.compute(table, table, ["w1_pooled"])
    assert htfm.clocks.stable(1.7).sample(3, device=torch.device("cpu")).area.shape == (3,)
    assert htfm.clocks.stable(torch.tensor(1.5)).parameters == {"alpha": 1.5}
