"""Converts models of other toolkits to a Salient model folder."""


class Unsupported(ValueError):
    """A model that cannot be converted, and what is missing for it."""
