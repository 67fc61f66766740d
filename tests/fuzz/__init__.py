"""The fuzzer: random programs, every way to run and to differentiate them held against every other.

`python -m tests.fuzz --seed 1 --minutes 5` (or `make fuzz`) runs it. In the order in which a program passes through:

- `program`: a program as data (its text, which is a list of steps, and its inputs);
- `maker`: makes programs, of the steps in `arrays`, `vocabulary`, `regions` and `rules`; `given` is what steps may call;
- `classes`: what there is of programs, and which oracles each class is held against;
- `oracles`, `places`: what must hold; `comparing`: what counts as equal;
- `minimise`: makes a program that fails as small as can be; `writer` makes a test of it;
- `runner`: runs batches in processes of their own, so that a crash or a hang is a finding as well.
"""
