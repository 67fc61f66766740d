"""What a compiled function reads beside its arguments, and how a call sees that it has changed.

`reads` says what a code object names, `reach` follows the names to values, `watch` keeps what was found and compares,
`guard` compares at the speed of compiled code, `inputs` makes the arrays among them inputs of the program,
`executed_code` notes which branches have run, and `changing` knows what changes by itself. `Captures` is all of it for
one trace, `Surroundings` a part of it for what is not traced.
"""

from .captures import Captures
from .guard import Alike, Binder, Moving, Shaped, guarded, look_here, made
from .surroundings import Surroundings
from .watch import Looks

__all__ = ["Alike", "Binder", "Captures", "Looks", "Moving", "Shaped", "Surroundings", "guarded", "look_here", "made"]
