"""Settings that models had in files of earlier versions, and what takes their place."""

from typing import Any

#: Settings that are gone, by model: a fitted model does not need them.
GONE = {"PatternMixture": ("n_sweeps",)}
#: Values that are gone, by model and setting, and the value of today.
REPLACED: dict[tuple[str, str], dict[Any, Any]] = {
    ("PatternMixture", "power"): {"auto": 1.0},
    ("TreeGrammarMixture", "start"): {"kmeans": "communities"},
}


def current_settings(model: str, settings: Any) -> Any:
    """Settings of a model file in the terms of this version; what is not known stays, and is refused later."""
    if not isinstance(settings, dict):
        return settings
    kept = {name: value for name, value in settings.items() if name not in GONE.get(model, ())}
    return {
        name: REPLACED.get((model, name), {}).get(value, value) if isinstance(value, str) else value
        for name, value in kept.items()
    }
