"""Ops that hold programs: custom gradients, recomputation, and region ops, which hold inner graphs; one file each."""
