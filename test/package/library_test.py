#!/usr/bin/env python3
"""What the library links, and what of it a user can link: library_test.py LIBHTFM HTFM_PROGRAM SAMPLING_ALONE"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIBRARY, PROGRAM, SAMPLING = sys.argv[1:4]

# LibTorch, libpng with its zlib, and what every C++ program has.
CORE = re.compile(r"lib(torch\w*|c10\w*|png16|z|stdc\+\+|m|gcc_s|c|pthread|dl|rt)\.so|ld-linux")
# Where an instance of a template of another library may come from: each program that includes its headers has it too.
FOREIGN = re.compile(r"\b(std|__gnu_cxx|at|c10|torch|fmt)::")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(file: str) -> list[str]:
    """The libraries that a file names itself."""
    return re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", file))


def symbols(file: str) -> list[tuple[str, str]]:
    """Kind and name of what a file shows."""
    lines = output("nm", "-DC", "--defined-only", file).splitlines()
    return [(kind, name) for _, kind, name in (line.split(" ", 2) for line in lines)]


def public_words() -> set[str]:
    """Every name in the public headers."""
    headers = [p for p in SOURCE.glob("htfm/**/*.h") if "\nnamespace htfm HTFM_PUBLIC {" in p.read_text()]
    return {word for header in headers for word in re.findall(r"\w+", header.read_text())}


def own_names(symbol: str) -> list[str]:
    """The parts of a function's name: `Model`, `load` of `htfm::Model::load(std::string const&)`."""
    symbol = re.sub(r"\[abi:\w+\]", "", symbol)
    while re.search(r"<[^<>]*>", symbol):
        symbol = re.sub(r"<[^<>]*>", "", symbol)
    return re.findall(r"\w+", symbol.split("(")[0].split()[-1])[1:]


class Library(unittest.TestCase):
    def test_links_the_core_alone(self) -> None:
        for file in (LIBRARY, PROGRAM):
            others = [name for name in needed(file) if not CORE.match(name) and not name.startswith("libhtfm.so")]
            self.assertEqual(others, [], file)

    def test_loads_no_field_library(self) -> None:
        loaded = output("ldd", PROGRAM)
        self.assertIn("libtorch_cpu", loaded)
        self.assertNotRegex(loaded, "eccodes|netcdf|hdf5|curl|ldap|mpi")

    def test_shows_what_public_headers_declare(self) -> None:
        shown = symbols(LIBRARY)
        words = public_words()
        ours = [(kind, name) for kind, name in shown if re.search(r"\bhtfm::", name)]
        self.assertGreater(len(ours), 500)
        hidden = sorted(name for kind, name in ours if kind == "T" and not words.issuperset(own_names(name)))
        self.assertEqual(hidden, [])
        strangers = sorted(name for kind, name in shown if (kind, name) not in ours and (kind not in "VWu" or not FOREIGN.search(name)))
        self.assertEqual(strangers, [])

    def test_sampling_is_whole_without_training(self) -> None:
        shown = {name for _, name in symbols(SAMPLING)}
        self.assertTrue(any(name.startswith("htfm::sample(") for name in shown))
        self.assertFalse(any(name.startswith("htfm::train(") for name in shown))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
