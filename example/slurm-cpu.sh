#!/bin/bash
# Training on the CPUs of several nodes with SLURM: 16 processes at the most have something to do (doc/scaling.md).
#   sbatch example/slurm-cpu.sh run.toml run
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=08:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
set -u
srun --mpi=pmix --kill-on-bad-exit=1 htfm train "$1" -o "$2" --resume --threads "$SLURM_CPUS_PER_TASK"
code=$?
# 75: stopped by the notice, after a checkpoint.
if [ "$code" -eq 75 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
