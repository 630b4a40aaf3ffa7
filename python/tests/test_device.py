"""What a CUDA device does; left out where there is none, a failure where HTFM_REQUIRE_CUDA is set (script/test-gpu)."""

from __future__ import annotations

import os

import pytest
import torch

import htfm


@pytest.fixture(autouse=True)
def need_device():
    if not torch.cuda.is_available():
        (pytest.fail if os.environ.get("HTFM_REQUIRE_CUDA") else pytest.skip)("no CUDA device")


@pytest.mark.parametrize("coupling", ["independent", "pool", "radial"])
def test_pairs_on_the_device_are_those_of_the_host(coupling):
    x = torch.randn(500, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    host, device = (htfm.FlowMatcher(rows, htfm.clocks.stable(1.7), coupling) for rows in (x, x.cuda()))
    for a, b in zip(host.sample(x[:64]), device.sample(x[:64].cuda())):
        assert b.is_cuda
        assert torch.allclose(a, b.cpu(), rtol=1e-4, atol=1e-5)


def test_samples_on_the_device_are_those_of_the_host():
    x = torch.randn(500, 2, generator=torch.Generator().manual_seed(0))
    matcher = htfm.FlowMatcher(x, htfm.clocks.stable(1.7))
    matcher.sample(x[:100])  # the feature's statistics
    net = torch.nn.Linear(2, 2)
    velocity = lambda t, state, feature: net(state)  # noqa: E731
    host = htfm.solve(velocity, matcher, n=50, nfe=10, seed=1)
    net.cuda()
    device = htfm.solve(velocity, matcher, n=50, nfe=10, seed=1, device="cuda")
    assert device.is_cuda and torch.allclose(host, device.cpu(), rtol=1e-3, atol=1e-3)


def test_clocks_on_the_device():
    clock = htfm.clocks.stable(1.7)
    assert torch.allclose(clock.sample(100, seed=1, device="cuda").area.cpu(), clock.sample(100, seed=1).area, rtol=1e-9)


def test_pairs_come_in_the_order_of_the_users_stream():
    x = torch.randn(200, 64, generator=torch.Generator().manual_seed(0))
    host, device = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7), "pool") for _ in range(2))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        batch = torch.zeros(100, 64, device="cuda")
        torch.cuda._sleep(10_000_000)  # the rows are there only after it
        batch.copy_(x[:100])
        found = device.sample(batch)
    stream.synchronize()
    for a, b in zip(host.sample(x[:100]), found):
        assert torch.allclose(a, b.cpu(), rtol=1e-4, atol=1e-5)


def test_a_table_is_sampled_on_the_device(model):
    host, device = model.sample(300, nfe=8, seed=1, solver="ab2", device="cpu"), model.sample(300, nfe=8, seed=1, solver="ab2", device="cuda")
    assert abs(device - host).max() < 1e-3 * (1 + abs(host).max())


@pytest.mark.parametrize("coupling", ["independent", "pool", "ot"])
def test_values_that_are_not_finite_are_refused_where_the_host_waits_anyway(coupling):
    x = torch.randn(500, 2, generator=torch.Generator().manual_seed(0)).cuda()
    matcher = htfm.FlowMatcher(x, htfm.clocks.stable(1.7), coupling)
    batch = x[:64].clone()
    batch[37, 1] = torch.nan
    if coupling != "independent":
        with pytest.raises(ValueError, match="expected finite data, .* in row 37 "):
            matcher.sample(batch)
        return
    _, x_t, u_t, _ = matcher.sample(batch)  # in that row and no other
    assert all(torch.equal(torch.nonzero(~v.isfinite().all(1)).flatten().cpu(), torch.tensor([37])) for v in (x_t, u_t))


def test_a_state_may_lie_on_the_device():
    x = torch.randn(500, 2, generator=torch.Generator().manual_seed(0))
    one, other = (htfm.FlowMatcher(x, htfm.clocks.stable(1.7)) for _ in range(2))
    one.sample(x[:50])
    other.load_state_dict({name: value.cuda() for name, value in one.state_dict().items()})
    assert all(torch.equal(a, b) for a, b in zip(one.sample(x[:50]), other.sample(x[:50])))
