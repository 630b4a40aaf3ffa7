# The site: Sphinx over the tree that doc/site/assemble.py lays out (the repository's own pages, and the reference pages).
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

project = "htfm"
author = "the htfm contributors"
copyright = "the htfm contributors, Apache-2.0"
version = release = re.search(r"project\(htfm VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
root_doc = "doc/index"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "doc/*.md", "fuzz/*.md", "reference/*.md"]
suppress_warnings = ["duplicate_declaration.cpp"]  # a `using Base::f` beside an override of f is listed twice by doxygen
nitpicky = True  # a name that leads nowhere is a warning, and script/docs takes warnings for errors

myst_heading_anchors = 6
myst_linkify_fuzzy_links = False

html_theme = "furo"
html_title = f"htfm {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "native"

breathe_projects = {"htfm": str(ROOT / "build-docs/xml")}
breathe_default_project = "htfm"
breathe_default_members = ("members",)
cpp_id_attributes = ["HTFM_PUBLIC"]
highlight_language = "none"

# Types of other libraries have no page here.
nitpick_ignore_regex = [
    ("cpp:.*", r"(std|at|c10|torch|nlohmann|fmt)(::.*)?|u?int\d+_t|size_t|(htfm::)?report(::\w+)?|htfm"),
    ("cpp:.*", r"MultistepPlan|Term"),  # stay inside the library; public headers only name them
    ("py:.*", r"(torch|numpy|np|pandas|polars|xarray|pathlib|os|collections|typing|matplotlib|_core|htfm\._\w+)(\..*)?"),
]

sys.path.insert(0, str(ROOT / "python"))
autodoc_mock_imports = ["htfm._core", "htfm._torch", "torch", "numpy", "pandas", "polars", "xarray", "matplotlib", "tqdm"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"


def add_tables_of_contents(app, docname, source):
    """The lists of doc/index.md, section by section, become the site's navigation; pages that no list has come last."""
    if docname != "doc/index":
        return
    folder = pathlib.Path(app.srcdir) / "doc"
    listed, out, caption = set(), [], ""
    for line in source[0].split("\n"):
        if line.startswith("## "):
            caption = line[3:]
            out.append((caption, []))
        elif out:
            for target in re.findall(r"\]\(([^)#:]+\.md)\)", line):
                name = target.removesuffix(".md")
                if name not in listed:
                    listed.add(name)
                    out[-1][1].append(name)
    rest = sorted(p.stem for p in folder.glob("*.md") if p.stem not in listed and p.stem != "index")
    out.append(("Reference", ["../reference/cpp", "../reference/python"]))
    for caption, names in merge(out + ([("More", rest)] if rest else [])):
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(f"/{resolve(n)}" for n in names) + "\n```\n"


def resolve(name):
    """A page's name from the site's root, given its name from doc/."""
    return name.removeprefix("../") if name.startswith("../") else f"doc/{name}"


def merge(sections):
    found = {}
    for caption, names in sections:
        found.setdefault(caption, []).extend(names)
    return [(caption, names) for caption, names in found.items() if names]


def write_front_page(app, exception):
    if exception is None and app.builder.name == "html":
        page = '<!doctype html><meta charset="utf-8"><title>htfm</title><meta http-equiv="refresh" content="0; url=doc/index.html">'
        (pathlib.Path(app.outdir) / "index.html").write_text(page + '<a href="doc/index.html">htfm</a>\n')


def setup(app):
    app.connect("source-read", add_tables_of_contents)
    app.connect("build-finished", write_front_page)
