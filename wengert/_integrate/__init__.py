"""What `wengert.integrate` is made of: coefficients, the right-hand side, steps, and the two ways to run them."""
