"""Converts models of other toolkits to a Salient model folder."""


class Unsupported(ValueError):
    """The model cannot be converted; the message says what is missing."""
