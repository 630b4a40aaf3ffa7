"""script/check-pages passes on the repository and finds each kind of broken page."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOOD = "# A page\n\nOne line, [a link](other.md#a-heading) and [itself](#a-page).\n\n- an item\n- another\n\n| a | b |\n|---|---|\n| 1 | `x \\| y` |\n\n    code that\n    goes on\n\n```sh\n| no table\n```\n"
OTHER = "# Other\n\n## A heading\n\nText, and ![a figure](figure.svg).\n"


def check(files, *options):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "doc").mkdir()
        for name, text in {"README.md": "# Read\n\n[pages](doc/index.md)\n", "doc/index.md": GOOD, "doc/other.md": OTHER, "doc/figure.svg": "", **files}.items():
            (root / name).write_text(text)
        done = subprocess.run([sys.executable, ROOT / "script/check-pages", *options, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr, (root / "doc/index.md").read_text()


class CheckPages(unittest.TestCase):
    def test_the_repository(self):
        done = subprocess.run([sys.executable, ROOT / "script/check-pages"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_good_page(self):
        self.assertEqual(check({})[:2], (0, ""))

    def test_broken_pages(self):
        for text, message in [
            (GOOD + "\n[gone](gone.md)\n", "doc/index.md:19: link to gone.md: there is no such file"),
            (GOOD + "\n[gone](other.md#gone)\n", "has no such heading"),
            (GOOD + "\n[out](../../no-such-file)\n", "there is no such file"),
            (GOOD + "\nThis paragraph\nis wrapped.\n", "doc/index.md:20: a paragraph is one line"),
            (GOOD + "\n- an item\n  that is wrapped\n", "doc/index.md:20: a paragraph is one line"),
            (GOOD.replace("|---|---|\n", "|---|---|\n\n"), "doc/index.md:11: a table without a line"),
            (GOOD.replace("|---|---|\n", ""), "a table without a line"),
            (GOOD.replace("`x \\| y`", "`x | y`"), "expected 2 cells as in the table's first row, got 3"),
            (GOOD.replace("- another\n\n|", "- another\n|"), "a table begins right after text"),
            (GOOD + "\n| c |\n|---|\n| 2 |\ntext\n", "text right after a table"),
            (GOOD + "\nSee `doc/gone.md`.\n", "doc/gone.md: there is no such file"),
        ]:
            with self.subTest(message):
                code, found, _ = check({"doc/index.md": text})
                self.assertEqual(code, 1)
                self.assertIn(message, found)

    def test_pages_and_figures_that_nothing_leads_to(self):
        code, found, _ = check({"doc/lost.md": "# Lost\n", "doc/lost.png": ""})
        self.assertEqual(code, 1)
        self.assertIn("doc/lost.md: no link from README.md or doc/index.md leads here", found)
        self.assertIn("doc/lost.png: no link", found)

    def test_unwrap(self):
        code, found, text = check({"doc/index.md": GOOD + "\nThis paragraph\nis wrapped.\n\n- so is\n  this\n"}, "--unwrap")
        self.assertEqual((code, found), (0, ""))
        self.assertEqual(text, GOOD + "\nThis paragraph is wrapped.\n\n- so is this\n")


if __name__ == "__main__":
    unittest.main()
