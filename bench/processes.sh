#!/usr/bin/env bash
# What several processes cost and gain, on one machine that does nothing else:
#   bench/processes.sh          2D training at batch 4096 and sampling with 1 and 2 processes of one thread, medians of three; sums of gradients
#                               (about 3 minutes; `training`, `sampling` or `sums` for one of them)
#   bench/processes.sh bits     checkpoints and samples of 1 to 4 processes, byte for byte: an MLP in every configuration of the golden bits, a small U-Net
#                               with every method (ONLY='pool|lim': some)
#   bench/processes.sh kill     kills each of 3 processes at 20 random moments, resumes, and compares the end (build/app_test)
#   bench/processes.sh stream   a field set larger than memory beside the same set in memory (root: it makes a control group)
#   bench/processes.sh gpu      on one GPU: NCCL of one process inside the graph against none (`gpu nccl`), the losses of two processes that share
#                               the device against those of one over 500 steps (`gpu losses`), sums of gradients (`gpu sums`); bf16
#                               (about 2.5 minutes). CIFAR10=FOLDER trains on CIFAR10-LT instead of stripes
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
middle() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }
# Seconds from one step of a run to another, by its log.
between() {
  python3 - "$1/log.jsonl" "$2" "$3" <<'P'
import json, sys
at = {j["step"]: j["seconds"] for j in map(json.loads, open(sys.argv[1])) if "seconds" in j}
print(round(at[int(sys.argv[3])] - at[int(sys.argv[2])], 4))
P
}
seconds_of() { python3 -c 'import json, sys; print(json.load(sys.stdin)["seconds"])'; }

# The 2D job, for one process in the folder "one".
two_dimensions() {
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
  [[ -e $work/one ]] || "$htfm" train "$work/2d.toml" -o "$work/one" --threads 1 --comm none "$@" >/dev/null 2>&1
}

training() {
  local one=() two=() a b wait
  for _ in 1 2 3; do
    rm -rf "$work"/one "$work"/two
    two_dimensions
    mpi 2 train "$work/2d.toml" -o "$work/two" --threads 1 2>"$work/two.err" >/dev/null
    cmp "$work"/one/checkpoints/*220* "$work"/two/checkpoints/*220* || fail "checkpoints differ"
    one+=("$(between "$work/one" 20 220)") two+=("$(between "$work/two" 20 220)")
    wait=$(grep -o 'processes wait.*' "$work/two.err" | tail -1)
  done
  a=$(middle "${one[@]}") b=$(middle "${two[@]}")
  echo "training, batch 4096, 200 steps: 1 process $a s, 2 processes $b s: $(ratio "$a" "$b") times (bar 1.8); 2 $wait of their time (bar 10)"
}

sampling() {
  local one=() two=() a b
  two_dimensions --set train.epochs=2
  for _ in 1 2 3; do
    one+=("$("$htfm" sample "$work/one" -n 2e6 -o "$work/one.npy" --threads 1 --comm none --json 2>/dev/null | seconds_of)")
    two+=("$(mpi 2 sample "$work/one" -n 2e6 -o "$work/two.npy" --threads 1 --json 2>/dev/null | seconds_of)")
    cmp "$work/one.npy" "$work/two.npy" || fail "samples differ"
  done
  a=$(middle "${one[@]}") b=$(middle "${two[@]}")
  echo "sampling 2,000,000: 1 process $a s, 2 processes $b s: $(ratio "$a" "$b") times (bar 1.9)"
}

sums() {
  need_mpi
  mpi 2 bench sums --threads 1 2>&1
}

# The checkpoint of a configuration with 1 to 4 processes, and so many samples of it: NAME SAMPLES SETTINGS.
same_bits() {
  local name=$1 n=$2 k s set=()
  shift 2
  for s in "$@"; do set+=(--set "$s"); done
  for k in 1 2 3 4; do
    local run=("$htfm") comm=none
    if ((k > 1)); then run=(mpi "$k") comm=mpi; fi
    "${run[@]}" train "$work/empty.toml" "${set[@]}" --threads 1 -o "$work/b$k" --comm $comm >/dev/null 2>"$work/err" || fail "$name with $k processes: $(grep htfm "$work/err")"
    "${run[@]}" sample "$work/b$k" -n "$n" -o "$work/b$k.npy" --threads 1 --comm $comm >/dev/null 2>"$work/err" || fail "$name with $k processes: $(grep htfm "$work/err")"
    cmp -s "$work"/b1/checkpoints/* "$work/b$k"/checkpoints/* || fail "$name with $k processes: another checkpoint"
    cmp -s "$work/b1.npy" "$work/b$k.npy" || fail "$name with $k processes: other samples"
  done
  rm -rf "$work"/b[1-4]*
  echo "$name: the same with 1, 2, 3 and 4 processes"
}

# Small networks and few steps: a step that differs stays different.
bits() {
  need_mpi
  : >"$work/empty.toml"
  local count=0 name settings set
  local mlp=(net.width=32 net.blocks=2 data.n=2400 train.batch=1200 train.epochs=2 coupling.pool=4096 sample.nfe=8)
  while IFS='|' read -r name settings _; do
    [[ -z $name || $name == \#* || ! $name =~ ${ONLY:-.} ]] && continue
    read -ra set <<<"$settings"
    [[ $settings == *sample.solver=* || $settings == *method=* ]] || set+=(sample.solver=ab2)
    same_bits "MLP, ${name% }" 35000 "${mlp[@]}" "${set[@]}"
    count=$((count + 1))
  done <test/golden/bits.txt
  stripes "$work/images.npy" 64 8
  local unet=("data.path=$work/images.npy" data.kind=images net.kind=unet unet.base=8 unet.groups=4 unet.multipliers=1,2 unet.blocks=1 unet.attention=4
    unet.heads=2 train.batch=32 train.epochs=2 coupling.pool=4096 sample.nfe=4)
  while read -r name settings; do
    [[ U-Net-$name =~ ${ONLY:-.} ]] || continue
    read -ra set <<<"$settings"
    same_bits "U-Net, $name" 600 "${unet[@]}" "${set[@]}"
    count=$((count + 1))
  done <<'T'
independent clock.family=inverse-gamma clock.nu=3
pool clock.family=inverse-gamma clock.nu=3 coupling.kind=pool
lim method=lim clock.family=stable clock.alpha=1.7
dlpm method=dlpm clock.family=stable clock.alpha=1.7
dlim method=dlim clock.family=stable clock.alpha=1.7
tflow method=tflow clock.family=inverse-gamma clock.nu=3
tedm method=tedm clock.family=inverse-gamma clock.nu=3
clock-diffusion method=clock-diffusion clock.family=stable clock.alpha=1.7
T
  echo "checkpoints and samples of 1, 2, 3 and 4 processes are equal in $count configurations"
}

kills() {
  need_mpi
  HTFM_KILL_ALL=1 "$modules/app_test" --gtest_filter='KilledRank*'
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
  local limit=${LIMIT:-500} # MiB of memory for the process and the file's pages
  "$htfm" bench fields "$work/noise.fields" -n "${FIELDS:-24000}" --side "${SIDE:-64}"
  cat >"$work/f.toml" <<T
[data]
kind = "fields"
path = "$work/noise.fields"
[net]
kind = "unet"
[unet]
base = 8
groups = 4
multipliers = "1,2"
blocks = 1
attention = "4"
[clock]
family = "inverse-gamma"
nu = 3.0
[train]
batch = 8
epochs = 1
log_steps = 10
T
  local steps=${STEPS:-110} run
  group=/sys/fs/cgroup/memory/htfm-stream.$$ # known to the trap
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
    while kill -0 "$job" 2>/dev/null && ! grep -q "\"step\":$steps[,}]" "$work/$run/log.jsonl" 2>/dev/null; do sleep 0.2; done
    if [[ $run == streamed ]]; then
      grep -m 1 'more than may be in memory' "$work/err" || true
      echo "peak of memory with the limit of $limit MiB: $(($(cat "$group"/memory.max_usage_in_bytes "$group"/memory.peak 2>/dev/null | head -1) >> 20)) MiB"
    fi
    kill -9 "$job" 2>/dev/null || true
    wait "$job" 2>/dev/null || true
    grep -q "\"step\":$steps[,}]" "$work/$run/log.jsonl" || fail "$run: $(tail -1 "$work/err")"
  done
  local a b
  a=$(between "$work/resident" 10 "$steps") b=$(between "$work/streamed" 10 "$steps")
  echo "training on $(($(stat -c %s "$work/noise.fields") >> 20)) MiB of fields, $((steps - 10)) steps: in memory $a s, streamed within $limit MiB $b s: $(ratio "$b" "$a") times"
}

# Where the processes of a device talk through their hosts: MPI, or the store of torchrun.
device_runs() {
  start=torchrun host=store batch=${BATCH:-100}
  [[ ! -e $modules/libhtfm_mpi.so ]] || ! command -v mpirun >/dev/null || start=mpi host=mpi
  local data=(--set "data.path=$work/images.npy" --set data.kind=images --set train.epochs=10)
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
  args=(train "$work/g.toml" "${data[@]}" --device cuda)
}
# A training by one process alone: FOLDER SETTINGS.
alone() { local to=$1; shift; "$htfm" "${args[@]}" "$@" -o "$work/$to" --comm none >/dev/null 2>"$work/err" || fail "one process: $(tail -1 "$work/err")"; }

nccl_in_graph() {
  local round a b
  for round in 1 2; do
    alone "none$round"
    $start 1 "${args[@]}" -o "$work/nccl$round" --comm nccl >/dev/null 2>"$work/err" || fail "NCCL: $(grep -a htfm "$work/err" | head -3)"
  done
  a=$(least "$(between "$work/none1" 100 500)" "$(between "$work/none2" 100 500)")
  b=$(least "$(between "$work/nccl1" 100 500)" "$(between "$work/nccl2" 100 500)")
  echo "400 steps at batch $batch, bf16: one process $a s; with NCCL of one process in the graph $b s: $(python3 -c "print(f'{$b/$a:.4f}')") times (bar 1.02)"
}

# Rounding moves trainings apart, whoever adds: faster the higher the rate. The rate is one at which two trainings by one process (cuDNN's
# order of additions differs from run to run) are nearer to each other than the bar; the second line shows that.
shared_device() {
  local set=(--set train.log_steps=1 --set "train.lr=${LR:-2e-5}")
  alone one "${set[@]}"
  alone again "${set[@]}"
  $start 2 "${args[@]}" "${set[@]}" -o "$work/two" --comm $host --share-device >/dev/null 2>"$work/err" || fail "two processes: $(grep -a htfm "$work/err" | head -3)"
  python3 - "$work" <<'P'
import json, sys
def log(run):
    return [j for j in map(json.loads, open(f"{sys.argv[1]}/{run}/log.jsonl")) if "loss" in j][:500]
def loss(lines, first, last):
    return sum(j["loss"] for j in lines[first:last]) / (last - first)
one = log("one")
for name, run, bar in (("two processes that share the device", "two", " (bar 1e-3)"), ("one process, again", "again", "")):
    other = log(run)
    apart = [abs(loss(other, k, k + 50) / loss(one, k, k + 50) - 1) for k in range(0, 500, 50)]
    print("losses of %s against one process over %d steps, bf16: their mean differs by %.1e%s, means of 50 steps by at most %.1e; "
          "the first gradient's norm by %.1e" % (name, len(other), abs(loss(other, 0, 500) / loss(one, 0, 500) - 1), bar, max(apart),
          abs(other[0]["grad_norm"] / one[0]["grad_norm"] - 1)))
print("the loss falls from %.4f (steps 1 to 50) to %.4f (451 to 500)" % (loss(one, 0, 50), loss(one, 450, 500)))
P
  echo "450 steps of two processes that add up through the host: $(between "$work/two" 50 500) s, of one process $(between "$work/one" 50 500) s"
}

device_sums() {
  $start 1 bench sums --device cuda --comm nccl 2>&1 | grep -a ' ms'
  $start 2 bench sums --device cuda --comm $host --share-device 2>&1 | grep -a ' ms'
}

gpu() {
  local start host batch args part
  device_runs
  for part in ${1:-nccl losses sums}; do
    case $part in
      nccl) nccl_in_graph ;;
      losses) shared_device ;;
      sums) device_sums ;;
      *) echo "expected nccl, losses or sums" >&2; exit 2 ;;
    esac
  done
}

case ${1:-scaling} in
  scaling) training && sampling && sums ;;
  training | sampling | sums) "$1" ;;
  bits) bits ;;
  kill) kills ;;
  stream) stream ;;
  gpu) gpu "${2:-}" ;;
  *) echo "expected training, sampling, sums, bits, kill, stream or gpu" >&2; exit 2 ;;
esac
