"""A small U-Net on the CPU in PyTorch, for `htfm bench --only images`: the network of test/golden/make_unet.py, its gradient at batch 32 and its
evaluation of 64 images of 32 x 32, eager in both memory orders, and with --compile also compiled (minutes).
    python images.py [--threads N] [--compile]
"""
import argparse
import json
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "golden"))
from make_unet import UNet  # noqa: E402

CASE = dict(channels=3, height=32, width=32, feature=2, base=32, levels=3, mult0=1, mult1=2, mult2=2, blocks=2, heads=4, attention=16, groups=32,
            path_embedding=128, film=0)


def median(call, rounds=7):
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[rounds // 2]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    ways = [("torch", torch.contiguous_format, False), ("torch channels-last", torch.channels_last, False)]
    if arguments.compile:
        ways += [("torch compiled", torch.contiguous_format, True), ("torch channels-last compiled", torch.channels_last, True)]
    for name, layout, compiled in ways:
        net = UNet(CASE).to(memory_format=layout)
        run = torch.compile(net) if compiled else net
        x, t, feature = torch.randn(64, 3, 32, 32).contiguous(memory_format=layout), torch.rand(64), torch.randn(64, 2)

        def gradient():
            net.zero_grad(set_to_none=True)
            (run(x[:32], t[:32], feature[:32]) - x[:32]).square().sum().backward()

        def evaluation():
            with torch.inference_mode():
                run(x, t, feature)

        for case, call in (("gradient", gradient), ("evaluation", evaluation)):
            print(json.dumps({"bench": "images", "case": case, "peer": name, "seconds": median(call)}), flush=True)
