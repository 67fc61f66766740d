"""Ops that hold programs: custom gradients and recomputation, and the regions of control flow."""
