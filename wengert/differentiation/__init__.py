"""Derivatives of functions, graphs and tapes: what users call to differentiate, and to map over batches."""
