"""Rules that users give: gradients of functions, primitives of their own, and functions of other frameworks."""
