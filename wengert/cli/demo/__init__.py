"""The main job on real data: a classifier of handwritten digits, trained with exact gradients.

`digits` has the data, `training` the model and the optimisation (start reading there), `figure` the picture
and `examples` a list of the documentation's pages. `wengert.cli` puts them together as ``wengert demo``.

These modules are programs that use Wengert as any user would, by its public names; nothing in the
library imports them.
"""
