"""The loop language between graphs and LLVM: instructions (`loops`), what emits and improves them.

`lower/` makes functions of it; `llvm/` reads them. Nothing here knows graphs or LLVM. Functions are printed,
verified, and run one by one in tests (`tests/support/naive_loops.py`).

- `strips`: long loops that run in one piece go in strips, with a look at signals between them; `signal_checks` says
  how often.
- `tuning`: of loops of small steps, zeros that nobody sees go (`signs`), steps whose slopes are moderate numbers
  get a version without selections (`finite_slopes`), and `slp` says whether their straight code gains by vectors.
- `sharing`: long functions go in pieces, functions of their own, and loops that are alike are one piece, so that LLVM's
  time is linear in what is new.
- `accesses`: where `WENGERT_CHECK_ACCESS` is 1, code compares each access with the extent of its array; `reaches`
  says what elements called functions reach.
"""
