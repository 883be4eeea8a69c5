"""Tuples whose length kernels cannot know beforehand: what plain Python does with them, they do with lists.

A type of Numba's is told by what it has: a tuple `types`, an array a `layout`, a list neither.
"""

from typing import Any

import numpy as np

from azero._jit import for_types, generated


def in_list(values: Any) -> Any:
    """A new list of what is in a tuple, a list, a range; an array stays as it is."""
    return values if isinstance(values, np.ndarray) else list(values)


@for_types(in_list)
def _in_list_compiled(values: Any) -> Any:
    if hasattr(values, "layout"):
        return lambda values: values
    if not hasattr(values, "types"):
        return lambda values: [value for value in values]  # noqa: C416  # list(values) takes no range
    are_numbers = [hasattr(kind, "bitwidth") or "bool" in str(kind).partition("(")[0] for kind in values.types]
    fields = (f"values[{i}]{' + 0' * is_number}" for i, is_number in enumerate(are_numbers))  # of one type in the sum
    return generated(f"def implementation(values): return [{', '.join(fields)}]")


def joined(first: Any, second: Any) -> Any:
    """The sum of two arrays, numbers or sequences, also of a tuple and what `in_list` makes of one."""
    return [*first, *second] if {type(first), type(second)} == {list, tuple} else first + second


@for_types(joined)
def _joined_compiled(first: Any, second: Any) -> Any:
    if hasattr(first, "types") != hasattr(second, "types"):  # one of them is a list
        return lambda first, second: in_list(first) + in_list(second)
    return lambda first, second: first + second


def making(maker: Any, values: Any) -> Any:
    """`maker(*values)`, where the values of a NamedTuple may be in a list."""
    return maker(*values)


@for_types(making)
def _making_compiled(maker: Any, values: Any) -> Any:
    made_class: Any = getattr(maker, "instance_class", tuple)
    if not hasattr(made_class, "_fields"):
        return lambda maker, values: maker(*values)
    fields = ", ".join(f"values[{i}]" for i in range(len(made_class._fields)))
    return generated(f"def implementation(maker, values): return make({fields})", make=made_class)
