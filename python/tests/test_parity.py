"""Every public function of the C++ face (the headers that htfm/htfm.h names) has its Python one, or a reason."""

from __future__ import annotations

import importlib
import pathlib
import re

import htfm

# C++ function -> what a user of Python calls.
PYTHON = {
    "thread_count": "htfm.thread_count",
    "set_thread_count": "htfm.set_thread_count",
    "philox": "htfm._core.philox",
    "fill_uniform": "htfm._core.fill_uniform",
    "fill_normal": "htfm._core.fill_normal",
    "fill_positive_stable": "htfm._core.fill_positive_stable",
    "fill_log_gamma_draw": "htfm._core.fill_log_gamma_draw",
    "fill_permutation": "htfm._core.fill_permutation",
    "clock_families": "htfm.clocks.families",
    "make_clock": "htfm.clocks.make",
    "sample_source": "htfm.clocks.Clock.source",
    "assign": "htfm.couplings.assignment",
    "assign_points": "htfm.couplings.assignment",
    "assign_costs": "htfm.couplings.linear_sum_assignment",
    "couplings": "htfm.couplings.kinds",
    "find_given": "htfm.Model.sample",
    "parse_given": "htfm.Model.sample",
    "read_given": "htfm.Model.sample",
    "read_given_fields": "htfm.Model.sample",
    "sample_conditions": "htfm._core.sample_conditions",
    "with_conditions": "htfm._core.with_conditions",
    "column_name": "htfm._core.column_name",
    "field_dataset": "htfm._core.field_dataset",
    "file_dataset": "htfm._core.file_dataset",
    "rows_dataset": "htfm._core.rows_dataset",
    "split_rows": "htfm._core.split_rows",
    "some_rows": "htfm._core.some_rows",
    "synthetic_dataset": "htfm._core.synthetic_dataset",
    "draw_synthetic": "htfm.data.synthetic",
    "synthetic_sets": "htfm.data.names",
    "evaluate_fields": "htfm.fields.evaluate",
    "field_values": "htfm.fields.evaluate",
    "evaluate_images": "htfm.metrics.images",
    "make_image_reference": "htfm.metrics.images",
    "sampled_images": "htfm.metrics.images",
    "make_run_reference": "htfm.Model.report",
    "score_run": "htfm.Model.report",
    "run_page": "htfm.Model.report",
    "is_field_set": "htfm._core.is_field_set",
    "open_field_set": "htfm.fields.open",
    "write_field_set": "htfm.fields.from_xarray",
    "prepare_fields": "htfm.fields.prepare",
    "make_prepare_spec": "htfm.fields.prepare",
    "prepare_settings": "htfm.fields.settings",
    "recipes": "htfm.fields.recipes",
    "comparison_sentences": "htfm.Model.comparison",
    "fit_json": "htfm.Model.scores",
    "fit_table": "htfm.fit",
    "fit_page": "htfm.Model.report",
    "make_method": "htfm.baselines.train",
    "methods": "htfm.baselines.methods",
    "compute_metrics": "htfm.metrics.compute",
    "metric_infos": "htfm.metrics.names",
    "register_metric": "htfm.metrics.register",
    "config_differences": "htfm.config.differences",
    "config_entries": "htfm.config.entries",
    "config_keys": "htfm.config.keys",
    "format_config": "htfm.config.toml",
    "load_config": "htfm.config.make",
    "with_settings": "htfm.config.make",
    "parse_config": "htfm.config.parse",
    "parse_saved_config": "htfm._core.parse_saved_config",
    "may_change_on_resume": "htfm._core.may_change_on_resume",
    "held_out": "htfm._core.held_out",
    "load_dataset": "htfm._core.load_dataset",
    "load_split": "htfm._core.load_split",
    "split_dataset": "htfm._core.split_dataset",
    "chosen_rows": "htfm._core.chosen_rows",
    "resolve_checkpoint": "htfm.load",
    "networks": "htfm._core.networks",
    "torchscript_trusted": "htfm._core.torchscript_trusted",
    "trust_torchscript": "htfm.trust_torchscript",
    "field_page": "htfm._core.field_page",
    "tail_page": "htfm.Tails.to_html",
    "risk": "htfm.risk",
    "scenarios": "htfm.Risk.scenarios",
    "risk_text": "htfm.Risk.__str__",
    "risk_json": "htfm.Risk.to_json",
    "risk_page": "htfm.Risk.to_html",
    "write_risk": "htfm.Risk.save",
    "risk_measures": "htfm.Tails.riskmeasures",
    "return_levels": "htfm.Tails.return_level",
    "level_of_period": "htfm._core.level_of_period",
    "sample": "htfm.Model.sample",
    "event_probability": "htfm.Model.event_probability",
    "rare_quantile": "htfm.Model.rare_quantile",
    "sample_event": "htfm.Model.sample_event",
    "sample_beyond": "htfm.Model.sample_beyond",
    "sample_options": "htfm._core.sample_options",
    "schedules": "htfm._core.schedules",
    "make_schedule": "htfm._core.schedule_at",
    "chen": "htfm.chen",
    "signature": "htfm.signature",
    "logsignature": "htfm.logsignature",
    "signature_gradient": "htfm.signature",
    "logsignature_gradient": "htfm.logsignature",
    "diagnose": "htfm.tails",
    "diagnose_tail": "htfm._core.diagnose_tail",
    "total_steps": "htfm._core.total_steps",
    "train": "htfm.train",
}

# C++ function -> why Python has none of its own.
REASONS = {
    "read_prepare_values": "`htfm prepare --config`; in Python a dict holds settings",
    "run_demo": "`htfm demo`",
    "with_condition_file": "done by train, by splits and by with_conditions, for `condition.file`",
    "scores_text": "`htfm compare`; Model.scores has them as values",
    "write_field_run_page": "`htfm report`; in Python Model.sample, then fields.evaluate",
    "takes_long": "whether the program says that it reads",
    "diagnose_field_tail": "htfm info of a prepared set",
    "header_of_samples": "a helper of the program's .nc and .grib2 files; in Python samples are an xarray array",
    "coarse_field_set": "`htfm coarsen`; in Python xarray's coarsen(...).mean(), then fields.from_xarray",
    "coarse_transform": "`htfm coarsen`; in Python xarray's coarsen(...).mean(), then fields.from_xarray",
    "export_fields": "in Python fields are an xarray array, which writes files itself",
    "is_field_file": "whether `htfm info` lists a file of fields",
    "check_known_file": "what `htfm info` says of a file of another kind",
    "check_comparable": "`htfm compare`; in Python each Model.report stands alone",
    "config_key_table": "`htfm train --keys`; config.keys has them as values",
    "parse_statistic_level": "Model.sample_beyond takes statistic and level",
    "list_fields": "htfm info; in Python xarray lists what a file holds",
    "parallel_for": "a loop over C++ tasks; Python code would hold the lock",
    "parallel_ranges": "a loop over C++ tasks; Python code would hold the lock",
    "register_clock": "a part written in C++: its loop draws millions of numbers",
    "register_coupling": "a part written in C++",
    "register_network": "a part written in C++; a network of Python's goes through FlowMatcher and solve",
    "register_schedule": "a part written in C++",
    "make_coupling": "a part of a method; FlowMatcher makes it by its name",
    "make_network": "a part of a model; train makes it by its name",
    "make_torchscript": "a network of a configuration: net.kind = torchscript",
    "ascending_order": "numpy.argsort",
    "exchangeable_rows": "a helper of couplings",
    "tail_slope": "a helper of couplings",
    "file_spec": "the arguments of fit and tails",
    "image_dataset": "a configuration's data.path names images",
    "verdict_name": "Tails.verdict is the name",
    "log_basis_by_name": "the argument basis is the name",
    "time_grid_by_name": "the argument time_grid is the name",
    "discrete_key": "Model.sample takes the seed",
    "numbers_of": "a helper of the comparison",
    "run_training": "train, with the optimiser's state; a run folder keeps it",
    "evaluate_classes": "scores of classes, which `htfm eval` takes from the file beside the samples",
    "labels_of_classes": "a helper of `htfm eval`",
    "read_class_numbers": "a helper of `htfm eval`: the file beside the samples",
    "nearest_images": "figures of the program's report",
    "read_sampled_images": "numpy.load, then metrics.images",
    "field_example_maps": "figures of the program's report",
    "score_field_run": "Model.sample and fields.evaluate",
    "add_risk_section": "a part of Risk.to_html",
    "period_of_level": "Risk.measures has the periods",
    "figures_of": "a walk over the C++ struct; Risk has tables",
    "uncertainty_name": "Risk.uncertainty is the name",
    "add_tail_sections": "a part of Tails.to_html",
}


def free_functions(source: pathlib.Path) -> dict[str, str]:
    """Names of the functions that the public headers declare outside of classes, with their header."""
    out: dict[str, str] = {}
    for header in re.findall(r'#include "(htfm/[^"]+)"', (source / "htfm/htfm.h").read_text()):
        if header == "htfm/version.h":
            continue
        text = re.sub(r"//.*|^#.*", "", (source / header).read_text(), flags=re.M)
        text = text[text.index("HTFM_PUBLIC {") + len("HTFM_PUBLIC {") :]
        outside, depth = [], 0
        for letter in text:
            depth += letter == "{"
            if depth == 0:
                outside.append(letter)
            if letter == "}":
                depth -= 1
                if depth == 0:
                    outside.append(";")
        declarations = re.sub(r"std::function<[^;]*?\)>", "Function", "".join(outside)).split(";")
        for declaration in declarations:
            if re.match(r"\s*(using|template|class|struct|enum|inline constexpr)\b", declaration):
                continue
            if found := re.search(r"(?<!::)\b([a-z_]\w*)\s*\(", declaration):
                out[found[1]] = header
    return out


def resolve(name: str) -> object:
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for part in parts[k:]:
            found = getattr(found, part)
        return found
    raise ImportError(name)


def test_every_public_function_is_there(source):
    functions = free_functions(source)
    assert len(functions) > 60  # the reading works
    missing = {name: header for name, header in functions.items() if name not in PYTHON and name not in REASONS}
    assert not missing, f"public functions without a Python one or a reason: {missing}"
    gone = [name for name in {**PYTHON, **REASONS} if name not in functions]
    assert not gone, f"no longer in the public headers: {gone}"


def test_the_python_ones_exist():
    for name in PYTHON.values():
        assert resolve(name) is not None


def test_what_is_public_has_a_docstring():
    for name in htfm.__all__:
        if name != "__version__":
            assert getattr(htfm, name).__doc__, name
