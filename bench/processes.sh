#!/usr/bin/env bash
# What several processes cost and gain, on one machine that does nothing else:
#   bench/processes.sh          2D training at batch 4096 and sampling with 1 and 2 processes of one thread
#   bench/processes.sh bits     checkpoints and samples of 1 to 4 processes, byte for byte, over methods and couplings
#   bench/processes.sh kill     kills each of 3 processes in turn at random moments, resumes, and compares the end
#   bench/processes.sh gpu      on one GPU: NCCL of one process inside the graph against none; two processes that share the
#                               device against one over 500 steps; bf16
# HTFM names the program (default: build/htfm), BATCH the GPU's batch.
set -euo pipefail
cd "$(dirname "$0")/.."
htfm=${HTFM:-$PWD/build/htfm}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpi() { local n=$1; shift; mpirun --oversubscribe -n "$n" "$htfm" "$@"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# seconds of a log's last line
seconds() { python3 -c 'import json,sys; print(json.loads(open(sys.argv[1]).read().splitlines()[-1])["seconds"])' "$1/log.jsonl"; }
last_status() { grep -o 'processes wait.*' "$1" | tail -1; }
ratio() { python3 -c 'import sys; print(f"{float(sys.argv[1])/float(sys.argv[2]):.2f}")' "$1" "$2"; }

scaling() {
  cat >"$work/2d.toml" <<'T'
[data]
n = 40960
[clock]
family = "stable"
alpha = 1.7
[train]
batch = 4096
epochs = 40
[sample]
solver = "euler"
nfe = 10
T
  "$htfm" train "$work/2d.toml" -o "$work/one" --threads 1 --comm none 2>/dev/null >/dev/null
  mpi 2 train "$work/2d.toml" -o "$work/two" --threads 1 2>"$work/two.err" >/dev/null
  cmp "$work"/one/checkpoints/*400* "$work"/two/checkpoints/*400* || fail "checkpoints differ"
  local a b
  a=$(seconds "$work/one"); b=$(seconds "$work/two")
  echo "training, batch 4096: 1 process $a s, 2 processes $b s: $(ratio "$a" "$b") times (bar 1.8); $(last_status "$work/two.err") (bar 10 %)"
  a=$("$htfm" sample "$work/one" -n 2e6 -o "$work/one.npy" --threads 1 --comm none --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["seconds"])')
  b=$(mpi 2 sample "$work/one" -n 2e6 -o "$work/two.npy" --threads 1 --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["seconds"])')
  cmp "$work/one.npy" "$work/two.npy" || fail "samples differ"
  echo "sampling 2,000,000: 1 process $a s, 2 processes $b s: $(ratio "$a" "$b") times (bar 1.9)"
}

bits() {
  : >"$work/empty.toml"
  local n=0
  while IFS='|' read -r name settings _; do
    [[ -z $name || $name == \#* ]] && continue
    local set=()
    for s in $settings; do set+=(--set "$s"); done
    local common=(train "$work/empty.toml" --set data.n=2000 --set train.batch=1024 --set train.epochs=3 "${set[@]}" --threads 1)
    "$htfm" "${common[@]}" -o "$work/b0" --comm none >/dev/null 2>&1
    for k in 2 3 4; do
      mpi "$k" "${common[@]}" -o "$work/b$k" >/dev/null 2>&1
      cmp -s "$work"/b0/checkpoints/* "$work/b$k"/checkpoints/* || fail "$name with $k processes: another checkpoint"
    done
    rm -rf "$work"/b?
    n=$((n + 1))
  done <test/golden/bits.txt
  echo "checkpoints of 1, 2, 3 and 4 processes are equal in $n configurations"
}

kills() {
  cat >"$work/k.toml" <<'T'
[data]
n = 2048
[clock]
family = "stable"
alpha = 1.7
grid = 50
[train]
batch = 512
epochs = 200
checkpoint_steps = 1
log_steps = 1
T
  "$htfm" train "$work/k.toml" -o "$work/whole" --comm none >/dev/null 2>&1
  local rounds=${ROUNDS:-20}
  for ((i = 0; i < rounds; i++)); do
    mpirun --oversubscribe -n 3 "$htfm" train "$work/k.toml" -o "$work/killed" --resume --threads 1 >/dev/null 2>&1 &
    local job=$!
    sleep "$(python3 -c "import random; random.seed($i); print(1 + 3 * random.random())")"
    # Processes in the order of their start are the ranks.
    local pid
    pid=$(pgrep -P "$job" | sed -n "$((i % 3 + 1))p" || true)
    [[ -n $pid ]] && kill -9 "$pid"
    local start=$SECONDS
    wait "$job" && break
    ((SECONDS - start <= 30)) || fail "the others went on for $((SECONDS - start)) s"
  done
  mpi 2 train "$work/k.toml" -o "$work/killed" --resume --threads 1 >/dev/null 2>&1
  cmp "$(ls "$work"/whole/checkpoints/* | tail -1)" "$(ls "$work"/killed/checkpoints/* | tail -1)" || fail "another end"
  echo "$i kills; resumed with another number of processes to the same bytes"
}

gpu() {
  local batch=${BATCH:-128}
  python3 - "$work/images.npy" <<'P'
import struct, sys, random
random.seed(0)
n, d = 4096, 3 * 32 * 32
h = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3, 32, 32), }" % n).encode()
h += b' ' * (63 - (10 + len(h)) % 64) + b'\n'
import array
with open(sys.argv[1], 'wb') as f:
    f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(h)) + h)
    for i in range(n):
        c = random.gauss(0, 0.5)
        array.array('f', [max(-1, min(1, c + 0.2 * ((k // 32 + k % 32 + i) % 7 - 3) / 3)) for k in range(d)]).tofile(f)
P
  cat >"$work/g.toml" <<T
[data]
path = "$work/images.npy"
kind = "images"
[clock]
family = "inverse-gamma"
nu = 3
[net]
kind = "unet"
[train]
batch = $batch
epochs = $((500 * batch / 4096 + 1))
log_steps = 50
precision = "bf16"
T
  local args=(train "$work/g.toml" --device cuda)
  "$htfm" "${args[@]}" -o "$work/g1" --comm none >/dev/null
  mpi 1 "${args[@]}" -o "$work/gn" --comm nccl >/dev/null
  local a b
  a=$(seconds "$work/g1"); b=$(seconds "$work/gn")
  echo "one process: $a s; with NCCL of one process in the graph: $b s: $(ratio "$b" "$a") times (bar 1.02)"
  mpi 2 "${args[@]}" -o "$work/g2" --comm mpi --share-device >/dev/null
  python3 - "$work/g1/log.jsonl" "$work/g2/log.jsonl" <<'P'
import json, sys
a, b = ([json.loads(l)["loss"] for l in open(p) if '"loss"' in l] for p in sys.argv[1:])
print("losses of one process and of two that share the device, means of 50 steps: largest relative difference %.2g (bar 1e-3)"
      % max(abs(x - y) / abs(x) for x, y in zip(a, b)))
P
}

case ${1:-scaling} in
  scaling) scaling ;;
  bits) bits ;;
  kill) kills ;;
  gpu) gpu ;;
  *) echo "expected scaling, bits, kill or gpu" >&2; exit 2 ;;
esac
