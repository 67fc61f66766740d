"""Compiled functions, what they capture, and what they hold."""
