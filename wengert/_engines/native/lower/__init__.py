"""Lowerings: from the nodes of a graph to loops. `blocks.py` walks a graph; the other files hold its rules."""
