"""Do dates keep their distribution, and do other columns keep their season?

    python bench/dates_season.py --program build/htfm

Fits synthetic tables of a date (uniform over 3, 6 and 20 years), a number with a season and a trend, a size with a season,
and a uniform number, and compares 20,000 samples with the rows:
    ks          Kolmogorov-Smirnov distance of the dates
    season      slope of the monthly means of the samples against those of the rows: of the number, and of log size
    years       root mean square difference of the yearly means of the number
"""

import argparse
import os
import subprocess
import tempfile

import numpy as np

DAY = np.timedelta64(1, "D")
FIRST = np.datetime64("2000-03-10")


def table(years, rows, rng):
    days = rng.integers(0, int(365.25 * years), rows)
    dates = FIRST + days * DAY
    phase = 2 * np.pi * (dates - dates.astype("datetime64[Y]").astype(dates.dtype)).astype(float) / 365.25
    number = 10 + 3 * np.sin(phase) + 4 * days / 365.25 / years + rng.standard_normal(rows)
    size = rng.lognormal(0, 1, rows) * np.exp(0.5 * np.cos(phase))
    return dates, number, size, rng.uniform(0, 1, rows)


def write(path, columns):
    with open(path, "w") as f:
        f.write("date,number,size,other\n")
        for row in zip(*columns):
            f.write(",".join(str(v) for v in row) + "\n")


def read(path):
    rows = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=None, encoding="utf-8")
    return rows["f0"].astype("datetime64[D]"), rows["f1"].astype(float), rows["f2"].astype(float)


def ks(a, b):
    both = np.sort(np.concatenate([a, b]))
    share = [np.searchsorted(np.sort(x), both, "right") / len(x) for x in (a, b)]
    return np.max(np.abs(share[0] - share[1]))


def means(values, groups, count):
    return np.bincount(groups, values, count) / np.maximum(1, np.bincount(groups, minlength=count))


def slope(a, b):
    return np.polyfit(a - a.mean(), b, 1)[0]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", default="build/htfm")
    program = options.parse_args().program
    print(f"{'years':>5} {'rows':>6} {'ks':>7} {'season':>15} {'years':>7}")
    for years, rows in ((3, 3000), (6, 3000), (20, 6000)):
        dates, number, size, other = table(years, rows, np.random.default_rng(5))
        with tempfile.TemporaryDirectory() as folder:
            path, run, out = (os.path.join(folder, x) for x in ("x.csv", "run", "s.csv"))
            write(path, (dates, number, size, other))
            quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            fit = [program, "fit", path, "-o", run, "--no-compare", "--no-refit", "--holdout", "0", "--samples", "1000"]
            subprocess.run(fit, **quiet)
            subprocess.run([program, "sample", run, "-n", "20000", "-o", out], **quiet)
            drawn_dates, drawn_number, drawn_size = read(out)

        def months(d):
            return d.astype("datetime64[M]").astype(int) % 12

        def place(d):
            return np.clip((d - FIRST).astype(int) // 366, 0, years - 1)

        season = [slope(means(a, months(dates), 12), means(b, months(drawn_dates), 12))
                  for a, b in ((number, drawn_number), (np.log(size), np.log(drawn_size)))]
        off = means(number, place(dates), years) - means(drawn_number, place(drawn_dates), years)
        print(f"{years:>5} {rows:>6} {ks((dates - FIRST).astype(float), (drawn_dates - FIRST).astype(float)):>7.3f} "
              f"{season[0]:>7.2f} {season[1]:>7.2f} {np.sqrt(np.mean(off**2)):>7.2f}")


if __name__ == "__main__":
    main()
