"""Custom gradients, ops and functions that users bring."""
