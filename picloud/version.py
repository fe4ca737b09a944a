"""The package's version, in one place."""

__version__ = "1.1.9.dev0"
