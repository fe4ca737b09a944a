"""Line charts as SVG: four axes and a line each need no library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 800, 180, 70, 26, 24


@dataclass(frozen=True, slots=True)
class Chart:
    """One line over time."""

    title: str
    seconds: Sequence[float]
    values: Sequence[float]


def draw(charts: Sequence[Chart]) -> str:
    """Return one SVG with the charts below each other; every vertical axis begins at 0."""
    parts = [_draw(chart, at * HEIGHT) for at, chart in enumerate(charts)]
    height = HEIGHT * len(charts)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', *parts, "</svg>", ""])


def _draw(chart: Chart, top: int) -> str:
    right, bottom = WIDTH - 10, top + HEIGHT - BOTTOM
    span = (chart.seconds[-1] if chart.seconds else 0.0) or 1.0
    highest = max([*chart.values, 0.0]) * 1.1 or 1.0
    points = " ".join(
        f"{LEFT + (right - LEFT) * at / span:.1f},{bottom - (bottom - top - TOP) * value / highest:.1f}"
        for at, value in zip(chart.seconds, chart.values, strict=True)
    )
    return "\n".join(
        [
            f'<text x="{LEFT}" y="{top + 16}" font-weight="bold">{escape(chart.title)}</text>',
            f'<path d="M{LEFT} {top + TOP}V{bottom}H{right}" fill="none" stroke="#888"/>',
            f'<text x="{LEFT - 6}" y="{top + TOP + 8}" text-anchor="end">{highest:.4g}</text>',
            f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end">0</text>',
            f'<text x="{right}" y="{bottom + 16}" text-anchor="end">{span:.0f} s</text>',
            f'<polyline points="{points}" fill="none" stroke="#06c" stroke-width="1.5"/>',
        ]
    )
