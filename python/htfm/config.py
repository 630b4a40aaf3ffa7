"""Configurations: every key of doc/configuration.md, from a dictionary or a TOML file."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from htfm import _core
from htfm._core import InputError, RunConfig
from htfm._words import in_python

ConfigLike = Any  # a mapping, the path of a TOML file, a RunConfig or None


def _text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(key, v) for v in value)
    if isinstance(value, (int, float, str)):
        return repr(value) if isinstance(value, float) else str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if hasattr(value, "tolist"):  # of numpy or torch
        return _text(key, value.tolist())
    raise InputError(f"[{key}] expected a number, a text or a list, got {type(value).__name__}")


def settings_of(settings: Mapping[str, Any] | None, prefix: str = "") -> list[str]:
    """``key=value`` lines of a nested or dotted dictionary.

    >>> settings_of({"clock": {"family": "stable", "alpha": 1.7}, "train.epochs": 3})
    ['clock.family=stable', 'clock.alpha=1.7', 'train.epochs=3']
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"[settings] expected a dictionary of keys and values, got {type(settings).__name__}")
    out: list[str] = []
    for key, value in (settings or {}).items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            out += settings_of(value, name + ".")
        else:
            out.append(f"{name}={_text(name, value)}")
    names = keys_of(out)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"[{name}] expected each key once, got it nested and with a dot")
    return out


def keys_of(lines: Sequence[str]) -> list[str]:
    """The keys of such lines.

    >>> keys_of(["clock.family=stable"])
    ['clock.family']
    """
    return [line.partition("=")[0] for line in lines]


def make(config: ConfigLike = None, settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The configuration of a run. Unknown keys and values out of range are InputErrors that name the key.

    >>> entries(make({"clock.family": "stable", "clock.alpha": 1.7}))["clock.alpha"]
    '1.7'
    """
    extra = settings_of(settings)
    if config is None:
        return _core.with_settings(RunConfig(), extra)
    if isinstance(config, RunConfig):
        return _core.with_settings(config, extra)
    if isinstance(config, Mapping):
        return _core.with_settings(RunConfig(), settings_of(config) + extra)
    if isinstance(config, (str, os.PathLike)):
        return _core.load_config(os.fspath(config), extra)
    raise InputError(f"[config] expected a dictionary or the path of a TOML file, got {type(config).__name__}")


def parse(text: str, origin: str = "text", settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The same from TOML text.

    >>> entries(parse("seed = 3"))["seed"]
    '3'
    """
    return _core.parse_config(text, origin, settings_of(settings))


def entries(config: RunConfig) -> dict[str, str]:
    """Every key with its value, as text.

    >>> entries(make())["method"]
    'htfm'
    """
    return dict(_core.config_entries(config))


def toml(config: RunConfig) -> str:
    """The configuration as TOML, every key written.

    >>> "[clock]" in toml(make())
    True
    """
    return _core.format_config(config)


def differences(a: RunConfig, b: RunConfig) -> list[str]:
    """Keys in which two configurations differ.

    >>> differences(make(), make({"seed": 1}))
    ['seed']
    """
    return _core.config_differences(a, b)


def keys() -> dict[str, tuple[str, str, str]]:
    """Every key: its type, default and meaning.

    >>> keys()["clock.family"][0]
    'text'
    """
    return {name: (kind, default, in_python(meaning)) for name, kind, default, meaning in _core.config_keys()}
