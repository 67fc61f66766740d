"""Long runs under hard conditions: each part has `run(seed, seconds)`, of which the suite does a few seconds."""
