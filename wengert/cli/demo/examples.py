"""The examples and notebooks of the documentation, for `wengert demo --list`."""

# pyright: strict

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """One page of the documentation that does a whole task.

    Attributes:
        page: within the documentation, without its ending.
        title: what the page is called.
    """

    page: str
    title: str


EXAMPLES = (
    Example("notebooks/sir", "An epidemic: fitting SIR by its solution"),
    Example("notebooks/gaussian_process", "A Gaussian process and its marginal likelihood"),
    Example("notebooks/kalman", "Kalman filter and smoother: the Nile"),
    Example("notebooks/heat_source", "Where was the heat? An inverse problem with in-place stencils"),
    Example("notebooks/options", "Option prices and their Greeks"),
    Example("notebooks/eight_schools", "Hamiltonian Monte Carlo on a hierarchical model"),
    Example("notebooks/physics_informed", "A physics-informed network"),
    Example("notebooks/optimal_control", "Optimal control: swinging a pendulum up"),
    Example("notebooks/robot_arm", "A robot arm: reach, and do not strain"),
    Example("notebooks/deconvolution", "Sharpening a picture: deconvolution with total variation"),
    Example("notebooks/everywhere", "One custom gradient from torch, JAX and Keras"),
    Example("notebooks/training", "A training loop: handwritten digits"),
    Example("examples/newton", "Newton's method through its stopping test"),
    Example("examples/fixed_point", "A fixed-point layer"),
    Example("examples/kalman", "A Kalman filter by scan"),
    Example("examples/ode_fit", "Parameters of an ODE"),
    Example("examples/train", "Training without a framework"),
    Example("examples/cart_pole", "Optimal control"),
    Example("examples/pendulum", "A controller in C"),
)
