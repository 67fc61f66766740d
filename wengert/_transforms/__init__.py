"""Program transformations on what the ops declare: reverse and forward sweeps, batching, replay."""
