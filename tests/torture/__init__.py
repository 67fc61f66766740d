"""Long runs under hard conditions: damaged files between guard pages, forks, kills. The suite does a few seconds of each.

`python -m tests.torture --help` lists the parts.
"""
