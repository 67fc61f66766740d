"""The engines: each runs primitives on one kind of array and never differentiates. They never import each other."""
