"""What is hard on the package: damaged files between guard pages. `python -m tests.torture --help` lists the parts."""
