#!/usr/bin/env bash
# What several processes cost and gain, on one machine that does nothing else:
#   bench/processes.sh          2D training at batch 4096 and sampling with 1 and 2 processes of one thread; sums of gradients (about 2 minutes)
#   bench/processes.sh bits     checkpoints and samples of 1 to 4 processes, byte for byte, over methods and couplings (ONLY='pool|lim': some), and a small U-Net
#   bench/processes.sh kill     kills each of 3 processes at 20 random moments, resumes, and compares the end (build/app_test)
#   bench/processes.sh stream   a field set larger than memory beside the same set in memory (root: it makes a control group)
#   bench/processes.sh gpu      on one GPU: NCCL of one process inside the graph against none, two processes that share the device against one over
#                               500 steps, sums of gradients; bf16 (about 2.5 minutes). CIFAR10=FOLDER trains on CIFAR10-LT instead of stripes
# HTFM names the program (default: build/htfm), PYTHON the one with torch, for torchrun where there is no mpirun.
set -euo pipefail
cd "$(dirname "$0")/.."
htfm=${HTFM:-$PWD/build/htfm}
modules=$(dirname "$(realpath "$htfm")")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
need_mpi() { [[ -e $modules/libhtfm_mpi.so ]] && command -v mpirun >/dev/null || fail "mpirun and libhtfm_mpi.so are needed"; }
mpi() { local n=$1; shift; mpirun --oversubscribe -n "$n" "$htfm" "$@" </dev/null; }
# By torchrun, which is where torch is.
torchrun() {
  local n=$1 python=${PYTHON:-$(script/venv --path torch 2>/dev/null || echo /usr)/bin/python3}
  shift
  "$python" -m torch.distributed.run --master-addr 127.0.0.1 --master-port $((20000 + RANDOM % 20000)) --no-python --nproc-per-node "$n" "$htfm" "$@"
}
ratio() { python3 -c 'import sys; print(f"{float(sys.argv[1])/float(sys.argv[2]):.2f}")' "$1" "$2"; }
least() { printf '%s\n' "$@" | sort -g | head -1; }
# Seconds from one step of a run to another, by its log.
between() {
  python3 - "$1/log.jsonl" "$2" "$3" <<'P'
import json, sys
at = {j["step"]: j["seconds"] for j in map(json.loads, open(sys.argv[1])) if "seconds" in j}
print(round(at[int(sys.argv[3])] - at[int(sys.argv[2])], 4))
P
}
seconds_of() { python3 -c 'import json, sys; print(json.load(sys.stdin)["seconds"])'; }

scaling() {
  need_mpi
  cat >"$work/2d.toml" <<'T'
[data]
n = 40960
[clock]
family = "stable"
alpha = 1.7
[train]
batch = 4096
epochs = 22
log_steps = 20
[sample]
solver = "euler"
nfe = 10
T
  local one=() two=() wait
  for round in 1 2; do
    rm -rf "$work"/one "$work"/two
    "$htfm" train "$work/2d.toml" -o "$work/one" --threads 1 --comm none >/dev/null 2>&1
    mpi 2 train "$work/2d.toml" -o "$work/two" --threads 1 2>"$work/two.err" >/dev/null
    cmp "$work"/one/checkpoints/*220* "$work"/two/checkpoints/*220* || fail "checkpoints differ"
    one+=("$(between "$work/one" 20 220)") two+=("$(between "$work/two" 20 220)")
    wait=$(grep -o 'processes wait.*' "$work/two.err" | tail -1)
  done
  local a b
  a=$(least "${one[@]}") b=$(least "${two[@]}")
  echo "training, batch 4096, 200 steps: 1 process $a s, 2 processes $b s: $(ratio "$a" "$b") times (bar 1.8); 2 $wait of their time (bar 10)"
  one=() two=()
  for round in 1 2; do
    one+=("$("$htfm" sample "$work/one" -n 2e6 -o "$work/one.npy" --threads 1 --comm none --json 2>/dev/null | seconds_of)")
    two+=("$(mpi 2 sample "$work/one" -n 2e6 -o "$work/two.npy" --threads 1 --json 2>/dev/null | seconds_of)")
    cmp "$work/one.npy" "$work/two.npy" || fail "samples differ"
  done
  a=$(least "${one[@]}") b=$(least "${two[@]}")
  echo "sampling 2,000,000: 1 process $a s, 2 processes $b s: $(ratio "$a" "$b") times (bar 1.9)"
  mpi 2 bench sums --threads 1 2>&1
}

# The checkpoint of a configuration with 1 to 4 processes, and so many samples of it.
same_bits() {
  local name=$1 n=$2 k
  shift 2
  "$htfm" train "$@" --threads 1 -o "$work/b1" --comm none >/dev/null 2>"$work/err" || fail "$name: $(tail -1 "$work/err")"
  "$htfm" sample "$work/b1" -n "$n" -o "$work/b1.npy" --threads 1 --comm none >/dev/null 2>"$work/err" || fail "$name: $(tail -1 "$work/err")"
  for k in 1 2 3 4; do
    mpi "$k" train "$@" --threads 1 -o "$work/k" --comm mpi >/dev/null 2>"$work/err" || fail "$name with $k processes: $(grep htfm "$work/err")"
    cmp -s "$work"/b1/checkpoints/* "$work"/k/checkpoints/* || fail "$name with $k processes: another checkpoint"
    mpi "$k" sample "$work/k" -n "$n" -o "$work/k.npy" --threads 1 --comm mpi >/dev/null 2>"$work/err" || fail "$name with $k processes: $(grep htfm "$work/err")"
    cmp -s "$work/b1.npy" "$work/k.npy" || fail "$name with $k processes: other samples"
    rm -rf "$work/k" "$work/k.npy"
  done
  rm -rf "$work"/b1*
  echo "$name: the same with 1, 2, 3 and 4 processes"
}

bits() {
  need_mpi
  : >"$work/empty.toml"
  local n=0 name settings set s
  while IFS='|' read -r name settings _; do
    [[ -z $name || $name == \#* || ! $name =~ ${ONLY:-.} ]] && continue
    set=()
    for s in $settings; do set+=(--set "$s"); done
    [[ $settings == *sample.solver=* || $settings == *method=* ]] || set+=(--set sample.solver=ab2)
    same_bits "$name" 70000 "$work/empty.toml" --set data.n=2000 --set train.batch=1024 --set train.epochs=2 --set sample.nfe=8 "${set[@]}"
    n=$((n + 1))
  done <test/golden/bits.txt
  stripes "$work/images.npy" 64 8
  local unet=("$work/empty.toml" --set "data.path=$work/images.npy" --set data.kind=images --set net.kind=unet --set unet.base=8 --set unet.groups=4
    --set unet.multipliers=1,2 --set unet.blocks=1 --set unet.attention=4 --set unet.heads=2 --set train.batch=32 --set train.epochs=2 --set clock.family=inverse-gamma
    --set clock.nu=3 --set sample.nfe=4)
  same_bits "U-Net, independent" 2500 "${unet[@]}"
  same_bits "U-Net, pool" 2500 "${unet[@]}" --set coupling.kind=pool
  echo "checkpoints and samples of 1, 2, 3 and 4 processes are equal in $((n + 2)) configurations"
}

kills() {
  need_mpi
  HTFM_KILL_ALL=1 "$modules/app_test" --gtest_filter='KilledRank.*'
}

# Images of slanted stripes: FILE, how many, of which side; bytes, three channels.
stripes() {
  python3 - "$@" <<'P'
import random, struct, sys
path, n, side = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
head = ("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 3, %d, %d), }" % (n, side, side)).encode()
head += b' ' * (63 - (10 + len(head)) % 64) + b'\n'
random.seed(0)
with open(path, 'wb') as f:
    f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head)
    for i in range(n):
        slope, shift, size = random.randrange(7), random.randrange(97), random.choice([1, 1, 1, 1, 2, 5])
        ramp = bytes(max(0, min(255, 128 + size * ((k % 48) - 24))) for k in range(8 * side + 200))
        f.write(b''.join(ramp[c * 11 + shift + slope * y:][:side] for c in range(3) for y in range(side)))
P
}

stream() {
  local limit=${LIMIT:-1500} # MiB of memory for the process and the file's pages
  "$htfm" bench fields "$work/noise.fields" -n "${FIELDS:-40000}" --side 128
  cat >"$work/f.toml" <<T
[data]
kind = "fields"
path = "$work/noise.fields"
[net]
kind = "unet"
[unet]
base = 8
groups = 4
multipliers = "1,2,2"
blocks = 1
attention = "4"
[clock]
family = "inverse-gamma"
nu = 3.0
[train]
batch = 32
epochs = 1
log_steps = 10
T
  local steps=${STEPS:-60} group=/sys/fs/cgroup/memory/htfm-stream.$$ run
  [[ -d /sys/fs/cgroup/memory ]] || group=/sys/fs/cgroup/htfm-stream.$$
  mkdir "$group"
  trap 'rm -rf "$work"; rmdir "$group" 2>/dev/null || true' EXIT
  echo "$((limit << 20))" >"$group/$([[ -e $group/memory.max ]] && echo memory.max || echo memory.limit_in_bytes)"
  for run in resident streamed; do
    (
      if [[ $run == resident ]]; then export HTFM_ROW_MEMORY=1000000; else echo "$BASHPID" >"$group/cgroup.procs"; fi
      exec "$htfm" train "$work/f.toml" --threads "${THREADS:-1}" -o "$work/$run"
    ) >/dev/null 2>"$work/err" &
    local job=$!
    while kill -0 "$job" 2>/dev/null && ! grep -q "\"step\":$steps," "$work/$run/log.jsonl" 2>/dev/null; do sleep 0.2; done
    if [[ $run == streamed ]]; then
      grep -m 1 'more than may be in memory' "$work/err" || true
      echo "peak of memory with the limit of $limit MiB: $(($(cat "$group"/memory.max_usage_in_bytes "$group"/memory.peak 2>/dev/null | head -1) >> 20)) MiB"
    fi
    kill -9 "$job" 2>/dev/null || true
    wait "$job" 2>/dev/null || true
    grep -q "\"step\":$steps," "$work/$run/log.jsonl" || fail "$run: $(tail -1 "$work/err")"
  done
  local a b
  a=$(between "$work/resident" 10 "$steps") b=$(between "$work/streamed" 10 "$steps")
  echo "training on $(($(stat -c %s "$work/noise.fields") >> 20)) MiB of fields, $((steps - 10)) steps: in memory $a s, streamed within $limit MiB $b s: $(ratio "$b" "$a") times"
}

gpu() {
  local batch=${BATCH:-100} start=torchrun data=(--set "data.path=$work/images.npy" --set data.kind=images --set train.epochs=10)
  [[ ! -e $modules/libhtfm_mpi.so ]] || ! command -v mpirun >/dev/null || start=mpi
  if [[ -n ${CIFAR10:-} ]]; then
    data=(--set "data.path=$CIFAR10" --set data.kind=cifar10 --set data.subset=long-tail --set "train.epochs=$((500 * batch / 12406 + 1))")
  else
    stripes "$work/images.npy" $((50 * batch)) 32
  fi
  cat >"$work/g.toml" <<T
[clock]
family = "inverse-gamma"
nu = 3.0
[net]
kind = "unet"
[train]
batch = $batch
log_steps = 50
checkpoint_steps = 1000000
precision = "bf16"
lr = 2e-4
warmup = 100
T
  local args=(train "$work/g.toml" "${data[@]}" --device cuda) round
  for round in 1 2; do
    "$htfm" "${args[@]}" -o "$work/none$round" --comm none >/dev/null 2>"$work/err" || fail "one process: $(tail -1 "$work/err")"
    $start 1 "${args[@]}" -o "$work/nccl$round" --comm nccl >/dev/null 2>"$work/err" || fail "NCCL: $(grep -a htfm "$work/err" | head -3)"
  done
  local a b host=store
  [[ $start == torchrun ]] || host=mpi
  a=$(least "$(between "$work/none1" 100 500)" "$(between "$work/none2" 100 500)")
  b=$(least "$(between "$work/nccl1" 100 500)" "$(between "$work/nccl2" 100 500)")
  echo "400 steps at batch $batch: one process $a s; with NCCL of one process in the graph $b s: $(python3 -c "print(f'{$b/$a:.4f}')") times (bar 1.02)"
  # Two runs of one process differ in their bits, and after 500 steps by more than 1e-3: losses are compared between deterministic ones.
  local exact=("${args[@]}" --set train.deterministic=true)
  "$htfm" "${exact[@]}" -o "$work/exact" --comm none >/dev/null 2>"$work/err" || fail "one process: $(tail -1 "$work/err")"
  $start 2 "${exact[@]}" -o "$work/two" --comm $host --share-device >/dev/null 2>"$work/err" || fail "two processes: $(grep -a htfm "$work/err" | head -3)"
  python3 - "$work" <<'P'
import json, sys
def losses(run):
    return [j["loss"] for j in map(json.loads, open(f"{sys.argv[1]}/{run}/log.jsonl")) if "loss" in j][:10]
def difference(a, b):
    return abs(sum(a) - sum(b)) / sum(a), max(abs(x - y) / x for x, y in zip(a, b))
for name, run, other in (("two processes that share the device", "two", "exact"), ("NCCL of one process", "nccl1", "none1"), ("one process, again", "none2", "none1")):
    one = losses(other)
    print("losses of %s against one process, bf16: the mean of 500 steps differs by %.1e, means of 50 steps by at most %.1e%s"
          % ((name,) + difference(one, losses(run)) + (" (bar 1e-3)" if run == "two" else "",)))
P
  echo "500 steps of two processes that add up through the host: $(between "$work/two" 50 500) s for 450"
  $start 1 bench sums --device cuda --comm nccl 2>&1 | grep -a ' ms'
  $start 2 bench sums --device cuda --comm $host --share-device 2>&1 | grep -a ' ms'
}

case ${1:-scaling} in
  scaling) scaling ;;
  bits) bits ;;
  kill) kills ;;
  stream) stream ;;
  gpu) gpu ;;
  *) echo "expected scaling, bits, kill, stream or gpu" >&2; exit 2 ;;
esac
