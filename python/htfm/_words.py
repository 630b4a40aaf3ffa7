"""The library's messages in Python's words: where it names an option of the program, the argument of that meaning."""

from __future__ import annotations

import re

from htfm import _core

# What an option of the program is called here, where it is not its name with "_" for "-" and "=" behind it.
ARGUMENTS = {
    "beyond": "level=",
    "constraint": "constraints=",
    "kind": "kinds=",
    "set": "settings=",
    "expand-reduced": "expand_reduced=True",
    "log-returns": "log_returns=True",
    "resume": "resume=True",
}

# What no name alone can say, in the order in which it is looked for. The test of every message fails where one is missing.
PHRASES = (
    (r"^--set \[", "["),
    (r"htfm train --keys lists them", "htfm.config.keys() lists them"),
    (r"expected options of htfm prepare as keys", "expected settings of htfm.fields.prepare as keys"),
    (r"htfm prepare --help lists them", "htfm.fields.settings() lists them"),
    (r"htfm prepare --test holds some out, and --part of htfm eval takes another part",
     "holdout= of from_xarray, or test= of prepare, holds some out, and part= takes another part"),
    (r"htfm train -o (.+) makes one$", r'htfm.train(..., folder="\1") makes one'),
    (r"\bon --resume(?=,)", "with resume=True"),
    (r"htfm train --resume -o (.+) keeps all settings", r'htfm.train("\1/config.toml", folder="\1", resume=True) keeps all settings'),
    (r"htfm info shows it", "Model.describe() shows it"),
    (r"give --trust, or call htfm::trust_torchscript\(true\)", "call htfm.trust_torchscript()"),
    (r"only if --trust is given", "only after htfm.trust_torchscript()"),
    (r", or give --python to fit and tails", ""),
    (r'--kind "([^"]*)=([^"=]*)"', r'kinds={"\1": "\2"}'),
    (r"--transform none or asinh", 'transform="none" or "asinh"'),
    (r"--transform scores", 'transform="scores"'),
    (r"--(centre|offset) (LATITUDE|ROW),(LONGITUDE|COLUMN)", r"\1=(\2, \3)"),
    (r"--given (\S+=\S+?|FILE)(?=\))", r'given="\1"'),
    (r"(?<![\w-])-n(?= draws)", "n="),
    (r"-o FOLDER(?= writes)", "save(FOLDER)"),
    (r"htfm prepare (.+) --variable NAME -o given\.fields", r'htfm.fields.prepare("\1", None, "given.fields", variable="NAME")'),
    (r"^\[-o\]", "[path]"),
)

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])( (?=[-+]?\d|[A-Z]+\b)|=)?")
_TAG = re.compile(r"^\[(?:--)?([a-z][a-z-]*[a-z])\]")


def _argument(option: str) -> str:
    return ARGUMENTS.get(option, option.replace("-", "_") + "=")


def _put(option: re.Match[str]) -> str:
    own = _argument(option[1])
    return own if own.endswith("=") else own + (option[2] or "")


def _put_tag(tag: re.Match[str]) -> str:
    known = tag[0].startswith("[--") or tag[1] in ARGUMENTS or tag[1] in dict(_core.prepare_settings())
    return f"[{_argument(tag[1]).split('=')[0]}]" if known else tag[0]


def in_python(text: str, **names: str) -> str:
    """A message of the library as Python says it; ``names``: arguments that are called otherwise by the caller.

    >>> in_python("[--given] expected a number, got 'x'")
    "[given] expected a number, got 'x'"
    >>> in_python("leave the column out with --drop")
    'leave the column out with drop='
    """
    for phrase, own in PHRASES:
        text = re.sub(phrase, own, text)
    text = _OPTION.sub(_put, _TAG.sub(_put_tag, text))
    for name, own in names.items():
        text = re.sub(rf"(?<![\w-]){name.replace('_', '[-_]')}(?=[\]=])", own, text)
    return text
