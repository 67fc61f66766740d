"""From Python functions to graphs and executables: arguments, signatures, tracing, caching."""
