"""Golden values of the U-Net: the same network written in PyTorch, with the gradient of every parameter by autograd.

Files as those of make_mlp.py, without the parameters: the k-th parameter in the order of the manifest starts as
0.4 sin(0.37 + 1.7 i + 3.1 k) / sqrt(fan-in), norms' weights plus 1, so that both sides can make them. Convolutions' weights are
out x kernel x kernel x in. Computed in float64.
    python make_unet.py [--out FOLDER]
"""
import argparse
import math
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CASES = {
    "feature": dict(batch=3, channels=3, height=8, width=8, feature=2, base=8, levels=2, mult0=1, mult1=2, mult2=0, blocks=1, heads=2,
                    attention=4, groups=4, path_embedding=12, film=0),
    "plain": dict(batch=2, channels=1, height=8, width=4, feature=0, base=8, levels=3, mult0=1, mult1=1, mult2=2, blocks=2, heads=4,
                  attention=8, groups=4, path_embedding=12, film=0),
    "film": dict(batch=2, channels=2, height=4, width=4, feature=3, base=8, levels=1, mult0=1, mult1=0, mult2=0, blocks=1, heads=1,
                 attention=0, groups=2, path_embedding=6, film=1),
    "ncsnpp": dict(batch=3, channels=1, height=16, width=16, feature=2, base=8, levels=3, mult0=1, mult1=2, mult2=3, blocks=1, heads=2,
                   attention=8, groups=4, path_embedding=6, film=0, group_channels=4, filtered=1, rescale=1, progressive=1),
    "released": dict(batch=2, channels=1, height=16, width=8, feature=2, base=8, levels=3, mult0=1, mult1=2, mult2=1, blocks=2, heads=2,
                     attention=8, groups=4, path_embedding=6, film=0, group_channels=4, filtered=1, rescale=1, progressive=1,
                     linear_path=1, shift_only=1, attend_once_up=1, strided_pyramid=1),
}


def groups(case, channels):
    g = case["groups"]
    if case.get("group_channels", 0):
        g = min(max(channels // case["group_channels"], 1), g)
    while channels % g:
        g -= 1
    return g


def fir(x, up):
    """Half or twice the size by the filter (1, 3, 3, 1)."""
    k = torch.tensor([1.0, 3.0, 3.0, 1.0], dtype=x.dtype, device=x.device)
    k = (torch.outer(k, k) / (16 if up else 64)).expand(x.shape[1], 1, 4, 4)
    if up:
        return F.conv_transpose2d(x, k, stride=2, padding=1, groups=x.shape[1])
    return F.conv2d(x, k, stride=2, padding=1, groups=x.shape[1])


def filter_and_stride(x, convolution):
    """The filter at the image's own size, and a convolution with stride 2: outputs see whole filtered pixels beyond the border."""
    k = torch.tensor([1.0, 3.0, 3.0, 1.0], dtype=x.dtype, device=x.device) / 8
    x = F.conv2d(F.pad(x, (2, 2, 2, 2)), torch.outer(k, k).expand(x.shape[1], 1, 4, 4), groups=x.shape[1])
    return F.conv2d(x, convolution.weight, convolution.bias, stride=2)


class Res(nn.Module):
    def __init__(self, i, o, case, resample=None):
        super().__init__()
        self.resample, self.factor = resample, math.sqrt(0.5) if case.get("rescale", 0) else 1.0
        self.norm1, self.conv1 = nn.GroupNorm(groups(case, i), i), nn.Conv2d(i, o, 3, 1, 1)
        self.norm2, self.conv2 = nn.GroupNorm(groups(case, o), o), nn.Conv2d(o, o, 3, 1, 1)
        if i != o or resample:
            self.shortcut = nn.Conv2d(i, o, 1)

    def forward(self, x, scale, shift):
        h = F.silu(self.norm1(x))
        if self.resample:
            h, x = fir(h, self.resample == "up"), fir(x, self.resample == "up")
        h = self.norm2(self.conv1(h)) * (1 + scale[:, :, None, None]) + shift[:, :, None, None]
        return self.factor * ((self.shortcut(x) if hasattr(self, "shortcut") else x) + self.conv2(F.silu(h)))


class Attention(nn.Module):
    def __init__(self, c, case):
        super().__init__()
        self.factor = math.sqrt(0.5) if case.get("rescale", 0) else 1.0
        self.heads, self.norm, self.qkv, self.out = case["heads"], nn.GroupNorm(groups(case, c), c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        a = F.scaled_dot_product_attention(q, k, v)
        return self.factor * (x + self.out(a.transpose(-1, -2).reshape(n, c, h, w)))


class UNet(nn.Module):
    """Names are those of htfm/net/unet_layers.cpp, with '_' for '.' inside a stage's own name."""

    def __init__(self, c):
        super().__init__()
        self.c, base, mult = c, c["base"], [c[f"mult{k}"] for k in range(c["levels"])]
        wide, e = 4 * base, 4 * base + (c["path_embedding"] if c["feature"] else 0)
        self.time = nn.ModuleDict({"1": nn.Linear(base, wide), "2": nn.Linear(wide, wide)})
        if c["feature"]:
            self.path = nn.ModuleDict({"1": nn.Linear(c["feature"], c["path_embedding"])})
            if not c.get("linear_path", 0):
                self.path["2"] = nn.Linear(c["path_embedding"], c["path_embedding"])
        self.input, self.stages, self.order, self.mods = nn.Conv2d(c["channels"], base, 3, 1, 1), nn.ModuleDict(), [], {}
        total, r, ch, skips = 0, c["height"], base, [base]

        filtered, pyramid = c.get("filtered", 0), c["channels"]

        def block(name, i, o, attends, resample=None):
            nonlocal total
            self.stages[name] = Res(i, o, c, resample)
            self.mods[name] = (total, o)
            total += o if c.get("shift_only", 0) else 2 * o
            if attends:
                self.stages[name + "_attention"] = Attention(o, c)

        for level, m in enumerate(mult):
            for k in range(c["blocks"]):
                block(f"down_{level}_{k}", ch, base * m, r == c["attention"])
                self.order.append(("down", f"down_{level}_{k}"))
                ch = base * m
                skips.append(ch)
            if level + 1 < len(mult):
                if filtered:
                    block(f"down_{level}_resize", ch, ch, False, "down")
                    if c["progressive"]:
                        self.stages[f"down_{level}_image"] = nn.Conv2d(pyramid, ch, 3, 1, 1)
                        pyramid = ch
                else:
                    self.stages[f"down_{level}_resize"] = nn.Conv2d(ch, ch, 3, 2, 1)
                self.order.append(("down" if filtered else "half", f"down_{level}_resize"))
                skips.append(ch)
                r //= 2
        block("middle_1", ch, ch, False)
        self.stages["middle_attention"] = Attention(ch, c)
        block("middle_2", ch, ch, False)
        self.film_at = self.mods["middle_1"][0]
        middle = ch
        self.order.append(("middle", "middle"))
        for level in reversed(range(len(mult))):
            for k in range(c["blocks"] + 1):
                block(f"up_{level}_{k}", ch + skips.pop(), base * mult[level], r == c["attention"] and (k == c["blocks"] or not c.get("attend_once_up", 0)))
                self.order.append(("up", f"up_{level}_{k}"))
                ch = base * mult[level]
            if level:
                if filtered:
                    block(f"up_{level}_resize", ch, ch, False, "up")
                else:
                    self.stages[f"up_{level}_resize"] = nn.Conv2d(ch, ch, 3, 1, 1)
                self.order.append(("filtered up" if filtered else "double", f"up_{level}_resize"))
                r *= 2
        self.last_norm, self.output = nn.GroupNorm(groups(c, ch), ch), nn.Conv2d(ch, c["channels"], 3, 1, 1)
        self.modulation = nn.Linear(e, total)
        if c["film"]:
            self.film = nn.Linear(c["path_embedding"], 4 * middle)

    def forward(self, x, t, feature):
        c, half = self.c, self.c["base"] // 2
        angle = 1000 * t[:, None] * torch.exp(-math.log(10000) * torch.arange(half, dtype=t.dtype, device=t.device) / half)
        e = self.time["2"](F.silu(self.time["1"](torch.cat([angle.sin(), angle.cos()], 1))))
        if c["feature"]:
            path = self.path["1"](feature)
            if not c.get("linear_path", 0):
                path = self.path["2"](F.silu(path))
            e = torch.cat([e, path], 1)
        m = self.modulation(F.silu(e))
        if c["film"]:
            m = m + F.pad(self.film(F.silu(path)), (self.film_at, m.shape[1] - self.film_at - self.film.out_features))

        def block(name, h):
            at, o = self.mods[name]
            if c.get("shift_only", 0):
                h = self.stages[name](h, torch.zeros_like(m[:, at:at + o]), m[:, at:at + o])
            else:
                h = self.stages[name](h, m[:, at:at + o], m[:, at + o:at + 2 * o])
            return self.stages[name + "_attention"](h) if name + "_attention" in self.stages else h

        h = self.input(x)
        skips, image = [h], x
        for kind, name in self.order:
            if kind == "down":
                h = block(name, h)
                if name.replace("resize", "image") != name and name.replace("resize", "image") in self.stages:
                    convolution = self.stages[name.replace("resize", "image")]
                    image = filter_and_stride(image, convolution) if c.get("strided_pyramid", 0) else convolution(fir(image, False))
                    h = image = math.sqrt(0.5 if c["rescale"] else 1.0) * (h + image)
                skips.append(h)
            elif kind == "half":
                h = self.stages[name](h)
                skips.append(h)
            elif kind == "middle":
                h = block("middle_2", self.stages["middle_attention"](block("middle_1", h)))
            elif kind == "up":
                h = block(name, torch.cat([h, skips.pop()], 1))
            elif kind == "filtered up":
                h = block(name, h)
            else:
                h = self.stages[name](F.interpolate(h, scale_factor=2.0))
        return self.output(F.silu(self.last_norm(h)))


def ours(name):
    """down_0_0_attention.norm.weight -> down.0.0.attention.norm.weight"""
    if not name.startswith("stages."):
        return name
    stage, rest = name[len("stages."):].split(".", 1)
    return stage.replace("_", ".") + "." + rest


def scatter(n, k):
    """Numbers of [-1, 1) without a pattern, as test/net/unet_golden.h makes them: a hash of place and parameter. (Sines have rank 2 as a matrix, and the gradients behind such matrices
    vanish in rounding.)"""
    h = (np.arange(n, dtype=np.uint64) * 0x9E3779B1 + k * 0x85EBCA77) & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        h = ((h ^ (h >> np.uint64(shift))) * np.uint64(factor)) & 0xFFFFFFFF
    return torch.from_numpy(h.astype(np.float64) / 2**31 - 1)


def make(name, case, folder):
    generator = torch.Generator().manual_seed(7 + ["feature", "film", "plain", "ncsnpp", "released"].index(name))
    net = UNet(case).double()
    arrays = []
    names = sorted(net.named_parameters(), key=lambda p: ours(p[0]))
    for k, (key, p) in enumerate(names):
        size = math.sqrt(3 / p[0].numel()) if p.dim() > 1 else 0.2
        value = (size * scatter(p.numel(), k) + (1 if "norm" in key and key.endswith("weight") else 0)).float().double()
        with torch.no_grad():
            p.copy_(value.reshape(p.shape[0], 3, 3, p.shape[1]).permute(0, 3, 1, 2) if p.dim() == 4 and p.shape[2] == 3 else value.reshape(p.shape))
    n = case["batch"]
    draw = lambda *s: torch.randn(*s, generator=generator, dtype=torch.float64).float().double()
    x, feature, target = draw(n, case["channels"], case["height"], case["width"]), draw(n, case["feature"]), None
    target = draw(*x.shape)
    t = torch.rand(n, generator=generator, dtype=torch.float64).float().double()
    out = net(x, t, feature)
    loss = F.mse_loss(out, target)
    loss.backward()
    arrays += [("x", x), ("t", t), ("feature", feature), ("target", target), ("output", out), ("loss", loss.reshape(1))]
    for key, p in names:
        g = p.grad.permute(0, 2, 3, 1) if p.dim() == 4 and p.shape[2] == 3 else p.grad.reshape(p.shape[0], -1) if p.dim() == 4 else p.grad
        arrays.append(("gradient." + ours(key), g))
    offset, lines = 0, [" ".join(f"{k} {v}" for k, v in case.items())]
    with open(folder / f"unet_{name}.bin", "wb") as f:
        for key, value in arrays:
            value = value.detach().numpy().astype("<f4")
            f.write(np.ascontiguousarray(value).tobytes())
            lines.append(" ".join([key, str(offset), *map(str, value.shape)]))
            offset += value.size
    (folder / f"unet_{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "net")
    for name, case in CASES.items():
        make(name, case, parser.parse_args().out)
