"""Writes to tensors (`a[i] = v`, `a += b`): one `Memory` stands behind an array and all views of it.

Nodes and tapes hold values, never the objects that users hold. So a write does not change a value: it gives the
memory a new version (`_prims/buffer.py`), and the tensors that lie in the memory stand for what they see of the newest
one. They become `Written` at the first write to any of them; until then reading them costs nothing.

Where a view lies is told by NumPy itself: a `Family` has a blank array of the root's shape, on which NumPy's own
functions make the views (`layouts.py` reads places off them). Where shapes or positions are known at run time only, a
view is read and written by way of what it was taken from.

From what is held to what tensors call: `versions`, `families`, `place`, then `sharing` (views) and `writes`.
"""
