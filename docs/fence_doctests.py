"""For the API reference: shows the examples of docstrings as code, which Markdown would take for quotations."""

import re
from typing import Any

import griffe

# A prompt and what follows it up to an empty line.
_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)


class FenceDoctests(griffe.Extension):
    """Puts fences around doctests before the docstrings are parsed."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", obj.docstring.value)
