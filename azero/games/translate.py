"""From methods of plain Python to functions that kernels can call, by way of their source.

`self.method(...)` becomes a call of the method's function, whose first argument is whatever stands for `self`. A method
that returns actions writes them into an array instead. What plain Python likes and Numba does not know is put in other
words: `state._replace(...)`, `bits.bit_count()`, generators, `any` and `all`, and tuples made of lists,
slices and other tuples.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from functools import reduce
from types import CodeType, FunctionType
from typing import Any, NamedTuple, cast

from azero._jit import count_bits, in_whole_numbers, replacing, user_function
from azero.games.sequences import in_list, joined, making


class Source(NamedTuple):
    """A function of the user's, as it is to be compiled."""

    original: Any  # the function
    name: str  # what it is called
    tree: ast.Module
    attributes: set[str]  # what it reads of `self`
    calls: set[str]  # the methods of `self` that it calls
    replaced: set[tuple[str, ...]]  # the fields that it replaces in states

    @property
    def file(self) -> str:
        """Where it stands."""
        return str(self.original.__code__.co_filename)


def read_methods(owner: type, names: Iterable[str], writer: str) -> list[Source]:
    """These methods of a class, the one called `writer` as a function that writes what it returns, and all they call.

    The functions are called `self_<name>`, and `write_<writer>`, which takes an array more. Raises ValueError for what
    is no method in plain Python.
    """
    sources = {"": _read_method(owner, writer, writes=True)}
    waiting = {*names, *sources[""].calls}
    while waiting:
        name = waiting.pop()
        sources[name] = _read_method(owner, name)
        waiting |= sources[name].calls - sources.keys()
    return list(sources.values())


def functions_of(sources: Iterable[Source]) -> dict[str, FunctionType]:
    """What was read, as functions that kernels can call; the functions of modules that they call become such too."""
    methods = list(sources)
    others: dict[FunctionType, Source] = {}
    for source in methods:
        others |= _read_called(source.original, others.keys())
    made: dict[Any, Any] = {}
    for source in (*methods, *others.values()):
        names = source.original.__globals__ | inspect.getclosurevars(source.original).nonlocals | _WORDS
        names |= {_replace_name(fields): replacing(fields) for fields in source.replaced}
        exec(compile(source.tree, source.file, "exec"), names)
        made[source.name if source in methods else source.original] = user_function(names[source.name])
    functions = {name: function for name, function in made.items() if isinstance(name, str)}
    for function in made.values():
        names = function.__globals__
        names |= {
            name: made[value] for name, value in names.items() if isinstance(value, FunctionType) and value in made
        }
        names |= functions
    return functions


def _read_method(owner: type, name: str, writes: bool = False) -> Source:
    static = inspect.getattr_static(owner, name)
    original = static.__func__ if isinstance(static, staticmethod) else static
    if not isinstance(original, FunctionType):
        raise ValueError(
            f"{owner.__name__}.{name} must be a plain method to be compiled, not a {type(static).__name__}"
        )
    self_name = original.__code__.co_varnames[0] if static is original else ""
    return _read(original, f"{'write' if writes else 'self'}_{name}", _Reader(owner, self_name), writes)


def _read_called(caller: FunctionType, known: Iterable[FunctionType]) -> dict[FunctionType, Source]:
    """The functions that a function calls by the name of a global, and those that they call."""
    found: dict[FunctionType, Source] = {}
    for name in _names(caller.__code__):
        other = caller.__globals__.get(name)
        if isinstance(other, FunctionType) and other not in (*known, *found) and not _is_known_to_kernels(other):
            found[other] = _read(other, other.__name__, _Reader(object, ""))
            found |= _read_called(other, (*known, *found))
    return found


def _is_known_to_kernels(function: FunctionType) -> bool:
    return function.__module__.partition(".")[0] in ("azero", "numba", "numpy")


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a piece of code."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _read(original: FunctionType, name: str, reader: "_Reader", writes: bool = False) -> Source:
    try:
        lines, first = inspect.getsourcelines(original)
    except OSError:
        raise ValueError(f"{original.__qualname__} cannot be compiled without its source: save it in a file") from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    function = cast(ast.FunctionDef, tree.body[0])
    function.name, function.decorator_list, function.returns = name, [], None
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    reader.generic_visit(function)
    if writes:
        function.args.args.append(ast.arg("_out"))
        _Returns(_returning_number).generic_visit(function)
    elif name == "self_step":
        _Returns(_returning_state).generic_visit(function)
        state = original.__code__.co_varnames[bool(reader.self_name)]
        function.body[:0] = ast.parse(f"_before = {state}").body
    ast.increment_lineno(ast.fix_missing_locations(tree), first - 1)
    return Source(original, name, tree, reader.attributes, reader.calls, reader.replaced)


class _Reader(ast.NodeTransformer):
    """Writes what it reads in words that Numba knows, and notes what is done with `self`."""

    def __init__(self, owner: type, self_name: str) -> None:
        self.attributes: set[str] = set()
        self.calls: set[str] = set()
        self.replaced: set[tuple[str, ...]] = set()
        self._owner, self.self_name = owner, self_name

    def visit(self, node: ast.AST) -> Any:
        """Overrides the visitor's dispatch."""
        return self.generic_visit(ast.copy_location(self._in_other_words(node), node))

    def _in_other_words(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=self.self_name), attr=name)) if self._is_method(name):
                self.calls.add(name)
                is_static = isinstance(inspect.getattr_static(self._owner, name), staticmethod)
                receiver = [] if is_static else [_name(self.self_name)]
                return ast.Call(_name(f"self_{name}"), [*receiver, *node.args], node.keywords)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if self._is_own(name, attribute):
                self.attributes.add(node.attr)
                return ast.Attribute(_name(self.self_name), node.attr, node.ctx)
            case ast.Call(func=ast.Attribute(value=state, attr="_replace"), args=[]):
                fields = tuple(str(keyword.arg) for keyword in node.keywords)
                self.replaced.add(fields)
                return ast.Call(
                    _name(_replace_name(fields)), [state, *(keyword.value for keyword in node.keywords)], []
                )
            case ast.Call(func=ast.Attribute(value=bits, attr="bit_count"), args=[], keywords=[]):
                return ast.Call(_name("_bit_count"), [bits], [])
            case ast.GeneratorExp():
                return ast.ListComp(node.elt, node.generators)
            case _:
                return _in_lists(node)

    def _is_own(self, name: str, attribute: str) -> bool:
        """Whether `name.attribute` is one of `self`, directly or by the name of its class or of a class above it."""
        above = {known.__name__: known for known in self._owner.__mro__}
        found, own = (getattr(place, attribute, None) for place in (above.get(name), self._owner))
        return name == self.self_name or (name in above and found is own)

    def _is_method(self, name: str) -> bool:
        return isinstance(inspect.getattr_static(self._owner, name, None), FunctionType | staticmethod)


def _in_lists(node: ast.AST) -> ast.AST:
    """What makes tuples of a length that Numba cannot know, in words that make lists; `step` makes states of them."""
    match node:
        case ast.Call(func=ast.Name(id="tuple"), args=[values], keywords=[]):
            return ast.Call(_name("_in_list"), [values], [])
        case ast.Call(func=ast.Attribute(value=maker, attr="_make"), args=[values]):
            return ast.Call(_name("_making"), [maker, values], [])
        case ast.Call(args=values, keywords=[]) if _is_starred(values):
            return ast.Call(_name("_making"), [node.func, ast.Tuple(values, ast.Load())], [])
        case ast.List(elts=values, ctx=ast.Load()) if _is_starred(values):
            return ast.Call(_name("list"), [ast.Tuple(values, ast.Load())], [])
        case ast.Tuple(elts=values, ctx=ast.Load()) if _is_starred(values):
            parts = (v.value if isinstance(v, ast.Starred) else ast.Tuple([v], ast.Load()) for v in values)
            return reduce(lambda first, second: ast.Call(_name("_joined"), [first, second], []), parts)
        case ast.BinOp(op=ast.Add()) if _makes_tuple(node):
            return ast.Call(_name("_joined"), [node.left, node.right], [])
        case ast.Assign(targets=[ast.Tuple(elts=names)]) if _is_starred(names):
            return ast.If(ast.Constant(True), _unpacking(names, node), [])
        case ast.Subscript(slice=ast.Slice() as bounds, ctx=ast.Load()) if not _is_constant(bounds):
            return ast.Subscript(ast.Call(_name("_in_list"), [node.value], []), bounds, node.ctx)
    return node


def _unpacking(names: list[ast.expr], node: ast.Assign) -> list[ast.stmt]:
    """The statements that do what `*these, that = values` does."""
    star = next(i for i, name in enumerate(names) if isinstance(name, ast.Starred))
    after = star + 1 - len(names)
    parts = [f"_values[{i}]" for i in (*range(star), *range(after, 0))]
    parts.insert(star, f"_in_list(_values)[{star}:{after or ''}]")
    bare = ", ".join(ast.unparse(name).removeprefix("*") for name in names)
    assign, unpack = ast.parse(f"_values = 0\n{bare}, = {', '.join(parts)},").body
    cast(ast.Assign, assign).value = node.value
    return _located([assign, unpack], node)


def _located(statements: list[ast.stmt], place: ast.AST) -> list[ast.stmt]:
    for statement in statements:
        for part in ast.walk(statement):
            ast.copy_location(part, place)
    return statements


def _is_starred(values: list[ast.expr]) -> bool:
    return any(isinstance(value, ast.Starred) for value in values)


def _makes_tuple(node: ast.expr) -> bool:
    """Whether it looks like a tuple; what looks like one and is none comes to no harm."""
    match node:
        case ast.BinOp(op=ast.Add()):
            return _makes_tuple(node.left) or _makes_tuple(node.right)
        case ast.Tuple() | ast.Subscript(slice=ast.Slice()) | ast.Call(func=ast.Name(id="tuple")):
            return True
    return False


def _is_constant(bounds: ast.Slice) -> bool:
    return not any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(bounds))


class _Returns(ast.NodeTransformer):
    """Puts in place of what a function returns other statements."""

    def __init__(self, write: Callable[[ast.expr], list[ast.stmt]]) -> None:
        self._write = write

    def visit(self, node: ast.AST) -> Any:
        """Overrides the visitor's dispatch."""
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            return node
        if not isinstance(node, ast.Return) or node.value is None:
            return self.generic_visit(node)
        return _located(self._write(node.value), node)


def _returning_state(state: ast.expr) -> list[ast.stmt]:
    """The statement that returns it as one of the class of the state before, with truth values as numbers."""
    return [ast.Return(ast.Call(_name("_in_whole_numbers"), [_name("_before"), state], []))]


def _returning_number(actions: ast.expr) -> list[ast.stmt]:
    """The statements that write the actions into `_out`, and return how many they are."""
    return [*ast.parse("_num = 0").body, *_writing(actions), *ast.parse("return _num").body]


def _writing(actions: ast.expr) -> list[ast.stmt]:
    """The statements that write these actions."""
    match actions:
        case ast.IfExp():
            return [ast.If(actions.test, _writing(actions.body), _writing(actions.orelse))]
        case ast.List(elts=[]) | ast.Tuple(elts=[]):  # to which Numba can give no type
            return [ast.Pass()]
        case ast.ListComp():
            body = _writing_one(actions.elt)
            for loop in reversed(actions.generators):
                for condition in reversed(loop.ifs):
                    body = [ast.If(condition, body, [])]
                body = [ast.For(loop.target, loop.iter, body, [])]
            return body
    return [ast.For(ast.Name("_action", ast.Store()), actions, _writing_one(_name("_action")), [])]


def _writing_one(action: ast.expr) -> list[ast.stmt]:
    assign, count = ast.parse("_out[_num] = 0\n_num += 1").body
    cast(ast.Assign, assign).value = action
    return [assign, count]


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _replace_name(fields: tuple[str, ...]) -> str:
    return f"_replace_{'_'.join(fields)}"


@user_function
def _num_true(values: Any) -> int:
    num = 0
    for value in values:
        num += 1 if value else 0
    return num


@user_function
def _any(values: Any) -> bool:
    return _num_true(values) > 0


@user_function
def _all(values: Any) -> bool:
    return _num_true(values) == len(values)


_WORDS: dict[str, Any] = {"_bit_count": count_bits, "any": _any, "all": _all}
_WORDS |= {"_in_list": in_list, "_joined": joined, "_making": making, "_in_whole_numbers": in_whole_numbers}
