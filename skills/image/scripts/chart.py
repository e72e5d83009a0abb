"""Charts in the house style: a module for your own script, based on matplotlib.

    sys.path.insert(0, "skill/scripts")
    from chart import Chart

    c = Chart("Coffee passed bread in June", "Sales in thousand euros", source="Source: ledger")
    c.lines(months, {"Coffee": coffee, "Bread": bread}, number="{:.1f}")   # names are at the ends of the lines
    c.columns(shops, {"Sales": values}, highlight=1, number="{:,.0f} €")   # or several series
    c.bars(shops, values, highlight=1)                                     # horizontal bars, for long names
    c.save("chart.png")                                                    # 1920 × 1080; or .svg, .pdf

Call one of these methods for each chart. `c.axes` and `c.figure` are matplotlib's, for everything else.
"""

import sys
import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.text import Text

sys.dont_write_bytecode = True
matplotlib.use("Agg")

COLORS = ["#1f5a7a", "#c8643c", "#7a8996", "#4f8a5b", "#b3872b", "#6f5a94"]
QUIET = "#9aa7b2"
GREY = "#566470"
# Scripts with joined, right-to-left or stacked letters, which matplotlib does not support.
UNJOINED = set("ARABIC HEBREW SYRIAC DEVANAGARI BENGALI GURMUKHI GUJARATI TAMIL TELUGU KANNADA MALAYALAM KHMER".split())
STYLE = Path(__file__).parent.parent / "assets" / "house.mplstyle"


class Chart:
    """A figure with a headline, a subtitle and a source."""

    def __init__(
        self, headline: str, subtitle: str = "", source: str = "", size: tuple[float, float] = (12, 6.75)
    ) -> None:
        plt.style.use(str(STYLE))
        self.figure, self.axes = plt.subplots(figsize=size)
        width, height = size
        self._edge = 0.55 / width
        top = 1 - 0.45 / height
        more_lines = self._headline(headline, top)
        top -= more_lines * 0.42 / height
        if subtitle:
            self.figure.text(self._edge, top - 0.52 / height, subtitle, fontsize=16, color=GREY, va="top")
        if source:
            self.figure.text(self._edge, 0.28 / height, source, fontsize=12.5, color=GREY, va="bottom")
        bottom = (0.85 if source else 0.55) / height
        box = (self._edge, bottom, 1 - 2 * self._edge, top - (1.25 if subtitle else 0.8) / height - bottom)
        self._box = box
        self.axes.set_position(box)

    def _headline(self, text: str, top: float) -> int:
        """Writes the headline, on several lines if it is long. Returns the number of additional lines."""
        written = self.figure.text(self._edge, top, text, fontsize=25, fontweight="bold", va="top", linespacing=1.15)
        renderer = self.figure.canvas.get_renderer()
        room = self.figure.bbox.width * (1 - 2 * self._edge)
        width = written.get_window_extent(renderer).width
        lines = [text]
        if width > room:
            lines = textwrap.wrap(text, max(int(len(text) * room / width) - 1, 8))
            written.set_text("\n".join(lines))
        return len(lines) - 1

    def _fit(self) -> None:
        """Moves the axes so that their labels begin at the left edge of the headline."""
        self.figure.canvas.draw()
        renderer = self.figure.canvas.get_renderer()
        around = self.axes.get_tightbbox(renderer).transformed(self.figure.transFigure.inverted())
        left, bottom, width, height = self._box
        now = self.axes.get_position()
        shift = [left - around.x0, bottom - around.y0, around.x1 - (left + width), around.y1 - (bottom + height)]
        self.axes.set_position(
            (
                now.x0 + shift[0],
                now.y0 + shift[1],
                now.width - shift[0] - max(shift[2], -0.02),
                now.height - shift[1] - max(shift[3], 0),
            )
        )

    def lines(
        self, x: Sequence[object], series: dict[str, Sequence[float]], number: str = "{:,.0f}", zero: bool = True
    ) -> None:
        """Draws lines with their names and last values at their ends."""
        axes = self.axes
        ends = []
        for index, (name, values) in enumerate(series.items()):
            color = COLORS[index % len(COLORS)]
            axes.plot(range(len(x)), values, color=color)
            axes.plot(len(x) - 1, values[-1], "o", color=color, markersize=8)
            ends.append((values[-1], f"{name}  {number.format(values[-1])}", color))
        step = (len(x) - 1) // 11 + 1
        axes.set_xticks(range(0, len(x), step), [str(one) for one in x[::step]])
        if zero and min(min(one) for one in series.values()) >= 0:
            axes.set_ylim(bottom=0)
        axes.margins(x=0.02)
        axes.yaxis.set_major_formatter(lambda value, _: number.format(value))
        low, high = axes.get_ylim()
        least, place = (high - low) * 0.055, float("-inf")
        for value, text, color in sorted(ends):
            # A name that would overlap another one moves up.
            place = max(value, place + least)
            at = (len(x) - 1 + (len(x) - 1) * 0.02, place)
            axes.annotate(text, at, color=color, fontweight="bold", va="center", annotation_clip=False)

    def columns(
        self,
        x: Sequence[object],
        series: dict[str, Sequence[float]],
        highlight: int | None = None,
        number: str = "{:,.0f}",
    ) -> None:
        """Draws columns from zero. A few columns have their values above them instead of an axis."""
        axes, count = self.axes, len(series)
        width = 0.72 / count
        labelled = len(x) * count <= 16
        for index, (name, values) in enumerate(series.items()):
            places = [at + (index - (count - 1) / 2) * width for at in range(len(x))]
            color = COLORS[index % len(COLORS)]
            colors = [QUIET if highlight is not None and at != highlight else color for at in range(len(x))]
            drawn = axes.bar(places, values, width * 0.94, color=colors, label=name)
            if labelled:
                axes.bar_label(drawn, [number.format(value) for value in values], padding=4)
        axes.set_xticks(range(len(x)), [str(one) for one in x])
        if min(min(values) for values in series.values()) < 0:
            axes.spines["bottom"].set_visible(False)
            axes.axhline(0, color=QUIET, linewidth=1)
            axes.margins(y=0.12)
        self._value_axis(labelled, number, axes.yaxis)
        if count > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=count, borderpad=0, handlelength=1)

    def bars(
        self, names: Sequence[object], values: Sequence[float], highlight: int | None = None, number: str = "{:,.0f}"
    ) -> None:
        """Draws horizontal bars, the first at the top, with their values at their ends."""
        axes = self.axes
        colors = [QUIET if highlight is not None and at != highlight else COLORS[0] for at in range(len(names))]
        drawn = axes.barh(range(len(names)), values, 0.7, color=colors)
        axes.bar_label(drawn, [number.format(value) for value in values], padding=6)
        axes.set_yticks(range(len(names)), [str(one) for one in names])
        axes.invert_yaxis()
        axes.spines["left"].set_visible(min(values) >= 0)
        if min(values) < 0:
            axes.axvline(0, color=QUIET, linewidth=1)
        axes.spines["bottom"].set_visible(False)
        axes.margins(x=0.1 if min(values) >= 0 else 0.16)
        self._value_axis(True, number, axes.xaxis)

    def _value_axis(self, labelled: bool, number: str, axis: object) -> None:
        if labelled:
            axis.set_ticks([])  # type: ignore[attr-defined]
            self.axes.grid(False)
        else:
            axis.set_major_formatter(lambda value, _: number.format(value))  # type: ignore[attr-defined]

    def save(self, path: str | Path) -> None:
        """Writes the picture. Warns about scripts that matplotlib does not support."""
        words = "".join(text.get_text() for text in self.figure.findobj(Text))
        names = {unicodedata.name(one, "").split(" ")[0] for one in words}
        if wrong := sorted(names & UNJOINED):
            found = ", ".join(name.capitalize() for name in wrong)
            print(f"warning: matplotlib does not join {found}: draw this chart as SVG on a page", file=sys.stderr)
        self._fit()
        self._fit()
        self.figure.savefig(str(path))
        plt.close(self.figure)
