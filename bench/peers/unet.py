"""The image network in PyTorch, for `htfm bench unet`: the network of test/golden/make_unet.py at the paper's size, trained and evaluated the
ways a PyTorch user would. Prints one line a mode: milliseconds a training step (batch 100, of ncsnpp 128: forward, backward, clipping, AdamW,
EMA, source drawn on the GPU), its peak memory, and milliseconds an evaluation (batch 500, of ncsnpp 128).
    python unet.py [unet | ncsnpp] [tf32,bf16,compile,graphs,max]
"""
import copy
import pathlib
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "golden"))
from make_unet import UNet  # noqa: E402

PAPER = dict(channels=3, height=32, width=32, feature=2, base=128, levels=4, mult0=1, mult1=2, mult2=2, mult3=2, blocks=2, heads=4,
             attention=16, groups=32, path_embedding=128, film=0)
FIELDS = dict(channels=1, height=128, width=128, feature=2, base=32, levels=5, mult0=1, mult1=2, mult2=2, mult3=4, mult4=4, blocks=4, heads=4,
              attention=16, groups=32, path_embedding=128, film=0, group_channels=4, filtered=1, rescale=1, progressive=1)
NETS = {"unet": (PAPER, 100, 500), "ncsnpp": (FIELDS, 128, 128)}
MODES = {"tf32": (False, False, None), "bf16": (True, True, None), "compile": (True, True, "default"), "graphs": (True, True, "reduce-overhead"),
         "max": (True, True, "max-autotune")}


def median(call, rounds):
    times = []
    for _ in range(rounds):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        call()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b))
    return sorted(times)[rounds // 2]


def measure(net_name, name):
    case, batch, sample_batch = NETS[net_name]
    shape = (case["channels"], case["height"], case["width"])
    half, last, mode = MODES[name]
    torch.manual_seed(0)
    torch.cuda.reset_peak_memory_stats()
    net = UNet(case).cuda()
    if last:
        net = net.to(memory_format=torch.channels_last)
    average = [p.detach().clone() for p in net.parameters()]
    weights = list(net.parameters())
    optimiser = torch.optim.AdamW(weights, 2e-4, fused=True)
    run = torch.compile(net, mode=None if mode == "default" else mode) if mode else net
    images = torch.rand(batch, *shape, device="cuda") * 2 - 1
    layout = torch.channels_last if last else torch.contiguous_format

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        clock = 1 / torch.rand(batch, 1, 1, 1, device="cuda").clamp_min(0.05)
        x1 = images.contiguous(memory_format=layout)
        x0, t = torch.randn_like(x1) * clock.sqrt(), torch.rand(batch, device="cuda")
        at = t[:, None, None, None]
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            out = run(at * x1 + (1 - at) * x0, t, clock.log().reshape(batch, 1).expand(batch, 2))
        loss = F.mse_loss(out.float(), x1 - x0)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        torch._foreach_lerp_(average, weights, 1e-4)

    for _ in range(10):
        step()
    train = median(step, 40)
    memory = torch.cuda.max_memory_allocated() / 2**30
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=half):
        x = torch.randn(sample_batch, *shape, device="cuda").contiguous(memory_format=layout)
        t, feature = torch.full((sample_batch,), 0.5, device="cuda"), torch.zeros(sample_batch, 2, device="cuda")
        for _ in range(5):
            run(x, t, feature)
        evaluation = median(lambda: run(x, t, feature), 20)
    print(f"PyTorch {torch.__version__} {net_name}, {name}: training {train:.2f} ms a step, peak {memory:.2f} GiB; sampling {evaluation:.2f} ms an evaluation", flush=True)


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    arguments = sys.argv[1:]
    network = arguments.pop(0) if arguments and arguments[0] in NETS else "unet"
    for mode in ",".join(arguments or ["graphs"]).split(","):
        measure(network, mode)
