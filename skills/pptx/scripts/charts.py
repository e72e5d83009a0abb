"""Native charts in the house style."""

from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION, XL_MARKER_STYLE, XL_TICK_MARK
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.util import Pt

KINDS = {
    "column": XL_CHART_TYPE.COLUMN_CLUSTERED,
    "stacked": XL_CHART_TYPE.COLUMN_STACKED,
    "bar": XL_CHART_TYPE.BAR_CLUSTERED,
    "line": XL_CHART_TYPE.LINE,
    "area": XL_CHART_TYPE.AREA_STACKED,
    "doughnut": XL_CHART_TYPE.DOUGHNUT,
}
ACCENTS = [MSO_THEME_COLOR.ACCENT_1, MSO_THEME_COLOR.ACCENT_2, MSO_THEME_COLOR.ACCENT_3, MSO_THEME_COLOR.ACCENT_4]
ACCENTS += [MSO_THEME_COLOR.ACCENT_5, MSO_THEME_COLOR.ACCENT_6]


def style_chart(chart: Any, kind: str, number_format: str, highlight: int | None, points: int) -> None:
    """Sets colours, labels and axes. A chart with few values has labels instead of an axis."""
    chart.has_title = False
    chart.font.size = Pt(14)
    chart.font.color.theme_color = MSO_THEME_COLOR.TEXT_1
    plot = chart.plots[0]
    several = len(plot.series) > 1 or kind == "doughnut"
    chart.has_legend = several
    if several:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
        chart.legend.font.size = Pt(14)
    if kind == "doughnut":
        plot.has_data_labels = True
        plot.data_labels.show_value = True
        plot.data_labels.number_format, plot.data_labels.number_format_is_linked = number_format, False
        plot.data_labels.font.size, plot.data_labels.font.bold = Pt(14), True
        plot.data_labels.font.color.theme_color = MSO_THEME_COLOR.BACKGROUND_1
        for index, _ in enumerate(plot.categories):
            fill = plot.series[0].points[index].format.fill
            fill.solid()
            fill.fore_color.theme_color = ACCENTS[index % len(ACCENTS)]
        return
    is_labelled = kind in ("column", "bar") and points <= 12
    axis = chart.value_axis
    axis.minimum_scale = 0 if all(value is None or value >= 0 for one in plot.series for value in one.values) else None
    axis.tick_labels.number_format, axis.tick_labels.number_format_is_linked = number_format, False
    axis.has_major_gridlines, axis.visible = not is_labelled, not is_labelled
    axis.format.line.fill.background()
    axis.major_tick_mark = chart.category_axis.major_tick_mark = XL_TICK_MARK.NONE
    if not is_labelled:
        axis.major_gridlines.format.line.color.rgb = RGBColor.from_string("D8DEE4")
    chart.category_axis.format.line.color.rgb = RGBColor.from_string("A9B4BE")
    chart.category_axis.has_major_gridlines = False
    if kind == "bar":
        chart.category_axis.reverse_order = True
    if kind in ("column", "bar", "stacked"):
        plot.gap_width = 55
        plot.overlap = 100 if kind == "stacked" else -5
    if is_labelled:
        plot.has_data_labels = True
        labels = plot.data_labels
        labels.number_format, labels.number_format_is_linked = number_format, False
        labels.font.size, labels.position = Pt(14), XL_LABEL_POSITION.OUTSIDE_END
    for index, series in enumerate(plot.series):
        shade = ACCENTS[index % len(ACCENTS)]
        if kind == "line":
            series.smooth = False
            series.format.line.width = Pt(3)
            series.format.line.color.theme_color = shade
            series.marker.style = XL_MARKER_STYLE.NONE
            continue
        series.format.fill.solid()
        series.format.fill.fore_color.theme_color = ACCENTS[2] if highlight is not None else shade
        if highlight is not None:
            fill = series.points[highlight].format.fill
            fill.solid()
            fill.fore_color.theme_color = ACCENTS[0]
