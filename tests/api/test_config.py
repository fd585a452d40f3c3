"""Options of the whole process."""

import pytest

import grain
from grain._src.config import Config


def test_options_have_defaults_and_are_set_by_name():
    options = Config()
    assert options.py_debug_mode is False
    options.update("py_debug_mode", True)
    assert options.py_debug_mode is options.get_or_default("py_debug_mode") is True
    assert grain.config.py_debug_mode is False


def test_unknown_options_are_refused():
    options = Config()
    assert not hasattr(options, "no_such_option")
    with pytest.raises(ValueError, match="no option 'no_such_option'"):
        options.update("no_such_option", 1)
    with pytest.raises(ValueError, match="no option 'no_such_option'"):
        options.get_or_default("no_such_option")


def test_options_are_not_set_as_attributes():
    with pytest.raises(ValueError, match=r"update\('py_debug_mode', True\)"):
        Config().py_debug_mode = True
    assert "py_debug_mode" in dir(Config())
