"""The loop language between graphs and LLVM: instructions (`loops`), what emits and improves them.

`lower/` makes functions of it; `llvm/` reads them. Nothing here knows graphs or LLVM. Functions are printed,
verified, and run one by one in tests (`tests/support/naive_loops.py`).

- `strips`: long loops that run in one piece are cut into strips, between which signals are looked for; `signal_checks`
  says how often.
- `tuning`: in loops of small steps, additions of zeros whose sign nobody sees are removed (`signs`), steps whose slopes
  are moderate numbers get a version without selections (`finite_slopes`), and `slp` says whether LLVM should make
  vectors of their straight-line code.
- `sharing`: long functions are cut into functions of their own, and loops that are alike share one, so that LLVM's
  time is linear in what is new.
- `accesses`: where `WENGERT_CHECK_ACCESS` is 1, code compares each access with the extent of its array; `reaches`
  says what elements called functions reach.
"""
