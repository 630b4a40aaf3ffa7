#!/bin/bash
# Training on 16 nodes of 8 GPUs with SLURM, one process a GPU; --nodes=1 for one node. train.batch is that of all GPUs.
#   sbatch example/slurm-gpu.sh config/cifar10lt.toml run
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
set -u
srun --mpi=pmix --kill-on-bad-exit=1 htfm train "$1" -o "$2" --resume --device cuda --comm nccl
code=$?
# 75: stopped by the notice, after a checkpoint.
if [ "$code" -eq 75 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
