"""Files and functions stay short, and kernels take few arguments; see "Style" in CONTRIBUTING.md.

Docstrings and signatures do not count: that of a command lists its options.  Constructors, which store settings, are
free.
"""

import ast
from pathlib import Path

import arbora

SOURCE = Path(arbora.__file__).parent
MOST_LINES = 400
MOST_CODE = 60
MOST_PARAMETERS = 6


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body of a function, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def long_functions(source: str) -> dict[str, int]:
    """Functions of more lines of code than they should have."""
    functions = [x for x in ast.walk(ast.parse(source)) if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {function.name: code_lines(function) for function in functions if function.name != "__init__"}
    return {name: n for name, n in found.items() if n > MOST_CODE}


def test_files_are_short() -> None:
    n_lines = {str(path.relative_to(SOURCE)): path.read_text("utf-8").count("\n") for path in SOURCE.rglob("*.py")}
    assert not {name: n for name, n in n_lines.items() if n > MOST_LINES}


def test_functions_are_short() -> None:
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{name}": n
        for path in SOURCE.rglob("*.py")
        for name, n in long_functions(path.read_text("utf-8")).items()
    }
    assert not found


def n_parameters(source: str) -> dict[str, int]:
    """Number of parameters of every kernel: of functions that are compiled."""
    return {
        x.name: len(x.args.posonlyargs) + len(x.args.args) + len(x.args.kwonlyargs)
        for x in ast.walk(ast.parse(source))
        if isinstance(x, ast.FunctionDef)
        and any(isinstance(one, ast.Name) and one.id in ("jit", "bare", "inlined") for one in x.decorator_list)
    }


def test_kernels_take_few_arguments() -> None:
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{name}": n
        for path in SOURCE.rglob("*.py")
        for name, n in n_parameters(path.read_text("utf-8")).items()
    }
    assert len(found) > 300
    assert not {name: n for name, n in found.items() if n > MOST_PARAMETERS}


def test_parameters_of_kernels_are_counted() -> None:
    assert n_parameters("@jit\ndef f(a, b, /, c, *, d): ...\ndef g(a): ...\n@inlined\ndef h(): ...\n") == {
        "f": 4,
        "h": 0,
    }


def test_a_long_function_is_found() -> None:
    body = "".join(f"    x{i} = {i}\n" for i in range(MOST_CODE))
    docstring = '    """A\n\n    docstring.\n    """\n'
    assert long_functions("def f():\n" + docstring + body + "    y = 0\n") == {"f": MOST_CODE + 1}
    assert not long_functions("def f(\n    a,\n    b,\n):\n" + docstring + body)
