"""Kinds of command groups."""

from __future__ import annotations

import click


class ListByDefault(click.Group):
    """A group where `picloud dead APP` means `picloud dead list APP`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if (not args or args[0] not in self.commands) and not {"-h", "--help"} & set(args[:1]):
            args = ["list", *args]
        return super().parse_args(ctx, args)
