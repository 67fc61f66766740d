"""Flattening, optimisers, fixed points, and graphs that are run again."""

from . import fixed_points, optimizers, tracers
from .flatten import flatten
from .tracers import const_graph, full_graph

__all__ = ["const_graph", "fixed_points", "flatten", "full_graph", "optimizers", "tracers"]
