"""Golden values of the residual MLP: the same network written in PyTorch, with the gradient of every parameter by autograd.

Writes net/mlp_<case>.bin (little-endian float32, one array after the other) and net/mlp_<case>.txt, the manifest: first the
sizes of the network, then one line per array, "name offset shape...", with the offset in floats. Inputs and parameters are
rounded to float32, everything else is computed from them in float64, so that the golden values carry no error of their own.
    python make_mlp.py [--out FOLDER]
"""
import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# The film case is small so that the files stay small; "odd" has sizes that no vector length divides.
CASES = {
    "feature": dict(batch=150, dim=2, feature=2, width=64, blocks=4, groups=8, time_embedding=32, path_embedding=128, film=0),
    "plain": dict(batch=150, dim=2, feature=0, width=64, blocks=4, groups=8, time_embedding=32, path_embedding=128, film=0),
    "film": dict(batch=150, dim=2, feature=3, width=32, blocks=4, groups=4, time_embedding=32, path_embedding=64, film=1),
    "shift": dict(batch=40, dim=2, feature=2, width=16, blocks=2, groups=4, time_embedding=8, path_embedding=16, film=1, linear_path=1,
                  shift_only=1),
    "odd": dict(batch=77, dim=5, feature=1, width=48, blocks=3, groups=6, time_embedding=10, path_embedding=36, film=0),
}


class Block(nn.Module):
    def __init__(self, width, groups, embedding, shift_only):
        super().__init__()
        self.norm1, self.linear1 = nn.GroupNorm(groups, width), nn.Linear(width, width)
        self.norm2, self.linear2 = nn.GroupNorm(groups, width), nn.Linear(width, width)
        self.shift_only, self.modulation = shift_only, nn.Linear(embedding, width if shift_only else 2 * width)

    def forward(self, x, embedding):
        m = self.modulation(embedding)
        scale, shift = (0, m) if self.shift_only else m.chunk(2, dim=1)
        h = self.linear1(F.silu(self.norm1(x)))
        return x + self.linear2(F.silu((1 + scale) * self.norm2(h) + shift))


class Mlp(nn.Module):
    """Parameter names are those of htfm/net/mlp.cpp."""

    def __init__(self, dim, feature, width, blocks, groups, time_embedding, path_embedding, film, linear_path=0, shift_only=0):
        super().__init__()
        self.input = nn.Linear(dim, width)
        self.time = nn.ModuleList([nn.Linear(1, time_embedding), nn.Linear(time_embedding, time_embedding)])
        if feature:
            self.path = nn.ModuleList([nn.Linear(feature, path_embedding)])
            if not linear_path:
                self.path.append(nn.Linear(path_embedding, path_embedding))
        embedding = time_embedding + (path_embedding if feature else 0)
        self.block = nn.ModuleList(Block(width, groups, embedding, shift_only) for _ in range(blocks))
        if film:
            self.film = nn.Linear(path_embedding, 2 * width)
        self.output = nn.Linear(width, dim)

    def forward(self, x, t, feature):
        embedding = self.time[1](F.silu(self.time[0](t[:, None])))
        if feature.shape[1]:
            path = self.path[0](feature)
            if len(self.path) > 1:
                path = self.path[1](F.silu(path))
            embedding = torch.cat([embedding, path], dim=1)
        embedding = F.silu(embedding)
        h = self.input(x)
        for b, block in enumerate(self.block):
            h = block(h, embedding)
            if hasattr(self, "film") and b == len(self.block) // 2:
                scale, shift = self.film(path).chunk(2, dim=1)
                h = h * (1 + scale) + shift
        return self.output(h)


def make(name, case, folder):
    generator = torch.Generator().manual_seed(2024 + ["feature", "film", "odd", "plain", "shift"].index(name))

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    sizes = {k: v for k, v in case.items() if k != "batch"}
    n = case["batch"]
    net = Mlp(**sizes)
    with torch.no_grad():
        for key, p in net.named_parameters():
            # Norms away from their start at (1, 0), so that every term of the gradient shows.
            if "norm" in key:
                p.copy_((1 if key.endswith("weight") else 0) + 0.3 * normal(*p.shape))
            else:
                p.copy_(normal(*p.shape) / (3 * p.shape[-1]) ** 0.5)
    x, t = normal(n, case["dim"]), torch.rand(n, generator=generator)
    feature, target = normal(n, case["feature"]), normal(n, case["dim"])
    arrays = {"x": x, "t": t, "feature": feature, "target": target}
    arrays |= {f"parameter.{key}": p.detach().clone() for key, p in net.named_parameters()}

    def evaluate(dtype):
        twin = net.to(dtype)
        twin.zero_grad()
        output = twin(x.to(dtype), t.to(dtype), feature.to(dtype))
        loss = F.mse_loss(output, target.to(dtype))
        loss.backward()
        return {"output": output.detach(), "loss": loss.detach().reshape(1)} | {
            f"gradient.{key}": p.grad.clone() for key, p in twin.named_parameters()}

    single, double = evaluate(torch.float32), evaluate(torch.float64)
    arrays |= double
    offset, manifest, chunks = 0, [" ".join(f"{k} {v}" for k, v in case.items())], []
    for key, value in arrays.items():
        chunks.append(value.numpy().astype("<f4").ravel())
        manifest.append(" ".join(map(str, [key, offset, *value.shape])))
        offset += chunks[-1].size
    np.concatenate(chunks).tofile(folder / f"mlp_{name}.bin")
    (folder / f"mlp_{name}.txt").write_text("\n".join(manifest) + "\n")
    error = max(float((single[k] - double[k]).abs().max() / double[k].abs().max()) for k in double)
    print(f"mlp_{name}: {offset} floats, loss {float(double['loss']):.6g}; PyTorch in float32 differs by {error:.1e} of the largest entry")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "net")
    folder = parser.parse_args().out
    folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    for name, case in CASES.items():
        make(name, case, folder)


if __name__ == "__main__":
    main()
