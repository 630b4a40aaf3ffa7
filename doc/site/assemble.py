#!/usr/bin/env python3
"""Lays out what Sphinx reads: the repository's own pages, and the reference pages.

    assemble.py OUTPUT          OUTPUT/source and the XML that doxygen makes of the public headers, OUTPUT/xml
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "fuzz/README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("doc/*.md"))]
LINKED = ["LICENSE", "CITATION.cff", "bench", "config", "example", "results", "script"]
SPACES = ["htfm", "htfm::report"]
PYTHON = ["htfm", "htfm.baselines", "htfm.clocks", "htfm.config", "htfm.couplings", "htfm.data", "htfm.fields", "htfm.metrics"]
DOXYGEN = """
PROJECT_NAME = htfm
INPUT = {headers}
OUTPUT_DIRECTORY = {output}
STRIP_FROM_PATH = {root}
FULL_PATH_NAMES = YES
GENERATE_XML = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = HTFM_PUBLIC= DOXYGEN=1
AUTOLINK_SUPPORT = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = NO
"""


def public_headers():
    """What htfm/htfm.h includes, and what that includes in turn: public headers include only public ones."""
    todo, found = ["htfm/htfm.h"], []
    while todo:
        names = re.findall(r'#include "(htfm/[^"]+)"', (ROOT / todo.pop()).read_text())
        new = [n for n in dict.fromkeys(names) if n not in found and (ROOT / n).exists() and "HTFM_PUBLIC" in (ROOT / n).read_text()]
        found += new
        todo += new
    return sorted(h for h in found if h != "htfm/base/api.h")


def first_words(header):
    """The comment at the top of a header, as a paragraph."""
    out = []
    for line in (ROOT / header).read_text().split("\n"):
        if not line.startswith("//"):
            break
        out.append(line.removeprefix("//").strip())
    return " ".join(out)


def members(xml):
    """header -> Breathe's directives for what it declares, in the header's order."""
    found = {}

    def note(node, kind, name):
        place = node.find("location")
        header = place.get("declfile") or place.get("file")
        found.setdefault(header, []).append((int(place.get("declline") or place.get("line")), kind, name))

    index = ElementTree.parse(xml / "index.xml").getroot()
    for compound in index.findall("compound"):
        if compound.get("kind") in ("class", "struct") and compound.findtext("name").rpartition("::")[0] in SPACES:
            note(ElementTree.parse(xml / f"{compound.get('refid')}.xml").find("compounddef"), compound.get("kind"), compound.findtext("name"))
    for space in SPACES:
        file = xml / f"namespace{space.replace('::', '_1_1')}.xml"
        found_members = list(ElementTree.parse(file).iter("memberdef")) if file.exists() else []
        names = collections.Counter(m.findtext("name") for m in found_members)
        for member in found_members:
            name = f"{space}::{member.findtext('name')}"
            if member.get("kind") == "function" and names[member.findtext("name")] > 1:
                name += f"({', '.join(''.join(p.find('type').itertext()) for p in member.findall('param'))})"
            note(member, member.get("kind"), name)
    return {header: [(kind, name) for _, kind, name in sorted(list_)] for header, list_ in found.items()}


def directive(kind, name):
    options = "\n:members:\n:undoc-members:" if kind in ("class", "struct") else ""
    return f"```{{doxygen{kind}}} {name}{options}\n```\n"


def cpp_pages(headers, xml):
    declared, modules = members(xml), {}
    for header in headers:
        modules.setdefault(header.split("/")[1], []).append(header)
    names = sorted(modules)
    for module in names:
        text = [f"# {module}", ""]
        for header in modules[module]:
            text += [f"## `{header}`", "", escape(first_words(header)), "", *(directive(*d) for d in declared.get(header, []))]
        yield f"cpp-{module}.md", "\n".join(text)
    rows = "\n".join(f"| [{m}](cpp-{m}.md) | {', '.join(f'`{pathlib.Path(h).name}`' for h in modules[m])} |" for m in names)
    toc = "\n".join(f"cpp-{m}" for m in names)
    yield "cpp.md", (
        "# C++: every public header\n\nWhat `#include <htfm/htfm.h>` brings, module by module. How to begin: [the library in C++](../doc/cpp.md). Arrays are `at::Tensor`; "
        f"everything lies in `namespace htfm`.\n\n| module | headers |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n"
    )


def without_folders(page):
    """The page; links to folders of the repository, for which the site has no page, are their text."""
    def text_of(link):
        return link[1] if (page.parent / link[2]).is_dir() else link[0]
    return re.sub(r"(?<!!)\[([^\[\]]*)\]\(([^)#:]+)\)", text_of, page.read_text())


def escape(text):
    return re.sub(r"([*_<>\[\]|\\])", r"\\\1", text)


def python_page():
    text = ["# Python: every public function", "", "How to begin: [the library in Python](../doc/python.md). The examples are run by the tests.", ""]
    for module in PYTHON:
        title = module if module == "htfm" else module.removeprefix("htfm.")
        text += [f"## {title}", "", "```{eval-rst}", f".. automodule:: {module}", "   :members:", "   :inherited-members: BaseException", "   :imported-members:" if module == "htfm" else "", "```", ""]
    return "\n".join(text)


def main():
    output = pathlib.Path(sys.argv[1]).resolve()
    source, xml = output / "source", output / "xml"
    for folder in (source, xml):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for name in PAGES:
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(without_folders(ROOT / name))
    for path in [ROOT / name for name in LINKED] + [p for p in (ROOT / "doc").iterdir() if p.suffix in (".svg", ".png")]:
        (source / path.relative_to(ROOT)).symlink_to(path)
    headers = public_headers()
    settings = DOXYGEN.format(headers=" ".join(str(ROOT / h) for h in headers), output=output, root=ROOT)
    done = subprocess.run(["doxygen", "-"], input=settings, text=True, capture_output=True, check=True, cwd=ROOT)
    (output / "doxygen.log").write_text(done.stderr)
    (source / "reference").mkdir()
    for name, text in [*cpp_pages(headers, xml), ("python.md", python_page())]:
        (source / "reference" / name).write_text(text)


main()
