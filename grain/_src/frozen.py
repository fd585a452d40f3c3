"""Frozen records: dataclasses whose methods are written once here, not generated for each, so that imports are quick."""

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def frozen(cls: type[T]) -> type[T]:
    """Makes a dataclass of a subclass of `Frozen`.

    >>> @frozen
    ... class Point(Frozen):
    ...     x: int
    ...     y: int = 0
    >>> Point(3).y, dataclasses.replace(Point(3), y=5).y
    (0, 5)
    """
    return dataclasses.dataclass(init=False, repr=False, eq=False)(cls)


class Frozen:
    """What all of them have."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields = {field.name: field for field in dataclasses.fields(self)}
        values = dict(zip(fields, args, strict=False))
        if len(args) > len(fields) or any(name in values or name not in fields for name in kwargs):
            raise TypeError(
                f"{type(self).__name__} takes {', '.join(fields)}, got {len(args)} values and {list(kwargs)}"
            )
        values.update(kwargs)
        for name, field in fields.items():
            if name in values:
                continue
            if field.default is not dataclasses.MISSING:
                values[name] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                values[name] = field.default_factory()
            else:
                raise TypeError(f"{type(self).__name__} needs {name}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        shown = [f"{field.name}={value!r}" for field, value in self._parameters() if field.repr]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Frozen):
            return NotImplemented
        return self is other or all(
            a == b for (_, a), (_, b) in zip(self._parameters(), other._parameters(), strict=True)
        )

    def __hash__(self) -> int:
        return hash((type(self), *(value for _, value in self._parameters())))

    def _parameters(self) -> "Iterator[tuple[dataclasses.Field[Any], Any]]":
        for field in dataclasses.fields(self):
            yield field, getattr(self, field.name)
