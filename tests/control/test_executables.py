"""What engines make of a program is made once, kept with the program, and typed by the function that makes it."""

from __future__ import annotations

import gc
import weakref

import pytest

import wengert as wg
from tests.support.threads import in_threads
from wengert._control.call import Program
from wengert._control.executables import once_per_program


def program() -> Program:
    return Program(wg.function(lambda x: x * x).trace(2.0))


def test_a_form_is_made_once_for_each_program_and_key() -> None:
    made: list[tuple[Program, int]] = []

    @once_per_program
    def form(of: Program, key: int) -> str:
        made.append((of, key))
        return f"form {key}"

    first, second = program(), program()
    assert [form(first, 1), form(first, 1), form(first, 2), form(second, 1)] == ["form 1", "form 1", "form 2", "form 1"]
    assert made == [(first, 1), (first, 2), (second, 1)]


def test_two_functions_never_meet() -> None:
    @once_per_program
    def one(of: Program) -> str:
        return "one"

    @once_per_program
    def other(of: Program) -> str:
        return "other"

    shared = program()
    assert (one(shared), other(shared)) == ("one", "other")


def test_a_failure_is_not_kept() -> None:
    tries: list[int] = []

    @once_per_program
    def form(of: Program) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not now")
        return len(tries)

    shared = program()
    with pytest.raises(ValueError, match="not now"):
        form(shared)
    assert form(shared) == form(shared) == 2


def test_threads_wait_for_one_form() -> None:
    made: list[object] = []

    @once_per_program
    def form(of: Program) -> object:
        made.append(object())
        return made[-1]

    shared, found = program(), []

    in_threads(lambda _: found.append(form(shared)), 4)
    assert len(made) == 1
    assert found == made * 4


def test_forms_go_with_their_program() -> None:
    class Form:
        pass

    @once_per_program
    def form(of: Program) -> Form:
        return Form()

    shared = program()
    alive = weakref.ref(form(shared))
    del shared
    gc.collect()
    assert alive() is None
