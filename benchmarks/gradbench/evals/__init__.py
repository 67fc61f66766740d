"""GradBench's evals: each function of an eval takes its input and gives what is timed, and how its result is told.

What is timed is a call on arrays that are ready. Programs are traced and compiled in their first run.
"""
