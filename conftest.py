"""What pytest collects for doctests: an engine's folder only where its framework is installed."""

from __future__ import annotations

import importlib.util

# the top package of a framework is the name of its engine's folder, and each of its files imports it
FRAMEWORKS = ("jax", "torch", "tensorflow")
collect_ignore = [f"wengert/_engines/{name}" for name in FRAMEWORKS if importlib.util.find_spec(name) is None]
collect_ignore.append("wengert/_engines/keras.py")  # loads only where Keras is in use
