"""From Python functions to graphs and executables: arguments, signatures, tracing, caching.

A function is traced (the eager path, on symbols), verified, led through `_passes`, and given to an engine. Unknown
extents are `Dim`s; what the trace assumed of them are guards, and a guard that fails means a new trace for those
shapes. Variables read are inputs, Variables written are outputs, committed together on success.

What f reads beside its arguments (`captures/`) is looked up before a trace: from f's byte code (`reads`) by way of
names to values (`reach`), each `watch`ed. Arrays among them that ops take are captures of the graph (`inputs`,
which also gathers the evidence that nothing else reads their contents); everything is compared before a later call
by one compiled expression (`guard`), and by value where that fails. `saved` holds traces as data, `bridge` calls on
frameworks' tracers.
"""
