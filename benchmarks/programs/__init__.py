"""One program a file: its cases, the arrays that it starts from, the program itself, and how to call it written in C.

A file has:
    TITLE: a line for the table.
    CASES: label -> parameters.
    TOLERANCE: how far results may be apart, relative to the largest entry.
    arguments(parameters): the arrays that are differentiated, as a tuple of ndarrays.
    program(library, parameters): the function of those arrays that a library differentiates, or None where it cannot.
    c_call(parameters, arguments): the name of the file in c/, the function, its arguments, and which of these are
        results; None where no C stands beside (its limit would be oneDNN or MKL, which some peers call).
    differentiated(library, parameters): optional; what is timed instead of value and gradients.
    LEFT_OUT: optional; library -> why it is not measured.
"""
