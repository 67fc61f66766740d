"""Compiled functions and what they hold: control flow, Variables and buffers, and programs kept in files."""
