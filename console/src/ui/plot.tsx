/** A plot over time with lines or stacked bars. Pointing at a time shows its values. */

import { useState } from "preact/hooks";

export interface Series {
  name: string;
  /** The colour, which is a class in `plot.css`. */
  colour: "blue" | "green" | "red" | "amber" | "grey" | "violet";
  values: number[];
}

interface Ends {
  completed: number | null;
  failed: number | null;
  cancelled: number | null;
}

/** Returns the series of completed, failed and cancelled jobs. */
export function endSeries(values: (of: (ends: Ends) => number | null) => number[]): Series[] {
  return [
    { name: "Completed", colour: "green", values: values((it) => it.completed) },
    { name: "Failed", colour: "red", values: values((it) => it.failed) },
    { name: "Cancelled", colour: "grey", values: values((it) => it.cancelled) },
  ];
}

interface PlotProps {
  title: string;
  shape: "lines" | "bars";
  series: Series[];
  /** The label of each time. */
  times: string[];
  format: (value: number) => string;
}

const HEIGHT = 100;

export function Plot({ title, shape, series, times, format }: PlotProps) {
  const [at, setAt] = useState<number>();
  const totals = times.map((_, index) => {
    const values = series.map(({ values: all }) => all[index] ?? 0);
    return shape === "bars" ? sumOf(values) : Math.max(...values);
  });
  const top = Math.max(...totals, 0);
  const scale = top > 0 ? HEIGHT / top : 0;
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    setAt(Math.max(0, Math.min(times.length - 1, Math.floor(((event.clientX - left) / width) * times.length))));
  };
  const shown = (values: number[]) => {
    if (at !== undefined) return values[at] ?? 0;
    return shape === "bars" ? sumOf(values) : (values.at(-1) ?? 0);
  };
  return (
    <figure class="plot">
      <figcaption>
        <span>
          {title} <span class="fine">{at === undefined ? (shape === "bars" ? "in total" : "now") : times[at]}</span>
        </span>
        <b class="plot-value">{format(sumOf(series.map(({ values }) => shown(values))))}</b>
        {series.length > 1 && (
          <span class="plot-legend">
            {series.map(({ name, colour, values }) => (
              <span key={name}>
                <i class={`swatch is-${colour}`} /> {name} <b>{format(shown(values))}</b>
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div class="plot-body" onPointerMove={point} onPointerLeave={() => setAt(undefined)}>
        <span class="plot-top">{top > 0 && format(top)}</span>
        <svg viewBox={`0 0 ${times.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={title}>
          {at !== undefined && <rect class="plot-at" x={at} y={0} width={1} height={HEIGHT} />}
          {shape === "bars"
            ? times.flatMap((_, index) => bars(series, index, scale))
            : series.map(({ name, colour, values }) => (
                <polyline
                  key={name}
                  class={`line is-${colour}`}
                  points={values.map((value, index) => `${index + 0.5},${HEIGHT - value * scale}`).join(" ")}
                />
              ))}
        </svg>
      </div>
      <div class="plot-times" aria-hidden="true">
        <span>{times[0]}</span>
        <span>{times[Math.floor(times.length / 2)]}</span>
        <span>{times.at(-1)}</span>
      </div>
    </figure>
  );
}

function sumOf(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function bars(series: Series[], index: number, scale: number) {
  let y = HEIGHT;
  return series.flatMap(({ name, colour, values }) => {
    const height = (values[index] ?? 0) * scale;
    if (height === 0) return [];
    y -= height;
    return [
      <rect key={`${name}${index}`} class={`bars is-${colour}`} x={index + 0.12} y={y} width={0.76} height={height} />,
    ];
  });
}
