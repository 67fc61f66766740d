"""Makes the pages of the documentation that come from the code: examples, ops, primitives, kinks, names."""
