"""The differentiation core: types, tensors, ops, graphs and the one dispatch point.

Start with `apply.py` (what happens when an op runs), then `op.py` (what an op declares) and `tensor.py`.
Knows no engine, no primitive and no transform.
"""
