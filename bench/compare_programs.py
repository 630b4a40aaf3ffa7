#!/usr/bin/env python3
"""The benchmarks of two programs side by side, by turns on one machine: is one slower than the other?

    bench/compare_programs.py OLD/build/htfm build/htfm --only stable,signature --rounds 3

Prints a table in Markdown: the median of each program's rounds, and their ratio with the least and the largest of the
rounds. `--keep FILE` adds the rounds to a file, so that several calls (one for each group) make one table; without
programs that table is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess


def run(program: str, only: str) -> dict[str, float]:
    """Seconds of each case, without peers."""
    alone = {name: value for name, value in os.environ.items() if name != "HTFM_PEERS_PYTHON"}
    out = subprocess.run([program, "bench", "--only", only, "--json"], capture_output=True, text=True, check=True, env=alone)
    return {f"{row['bench']}: {row['case']}": row["seconds"] for row in json.loads(out.stdout)["results"]}


def table(rounds: list[dict[str, dict[str, float]]]) -> None:
    """Rows of the cases that both programs know."""
    print("| row | before | now | ratio | of the rounds |\n|---|---|---|---|---|")
    cases = dict.fromkeys(case for r in rounds for case in r["before"] if case in r["now"])
    for case in cases:
        own = [r for r in rounds if case in r["before"] and case in r["now"]]
        before, now = ([r[side][case] for r in own] for side in ("before", "now"))
        ratios = sorted(b / a for a, b in zip(before, now))
        first, second = statistics.median(before), statistics.median(now)
        print(f"| {case} | {1e3 * first:.3g} ms | {1e3 * second:.3g} ms | {second / first:.3f} | {ratios[0]:.3f} to {ratios[-1]:.3f} |")


def main() -> None:
    """Takes turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="the one before, and the one now")
    parser.add_argument("--only", default="stable", help="groups of htfm bench, comma-separated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path, help="file that the rounds are added to")
    o = parser.parse_args()
    rounds = json.loads(o.keep.read_text()) if o.keep and o.keep.exists() else []
    for _ in range(o.rounds if o.programs else 0):
        before, now = o.programs
        rounds.append({"before": run(before, o.only), "now": run(now, o.only)})
        if o.keep:
            o.keep.write_text(json.dumps(rounds))
    table(rounds)


if __name__ == "__main__":
    main()
