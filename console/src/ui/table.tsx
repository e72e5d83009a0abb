/** A table with typed rows. */

import type { ComponentChildren } from "preact";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  isNumber?: boolean;
  /** Whether the column is hidden on a narrow screen. */
  isOptional?: boolean;
  isWrapping?: boolean;
  /** Whether the column takes the remaining width and truncates its content. */
  isMain?: boolean;
}

interface TableProps<T> {
  rows: T[];
  columns: Column<T>[];
  keyOf: (row: T) => string;
}

export function Table<T>({ rows, columns, keyOf }: TableProps<T>) {
  const classes = ({ isNumber, isOptional, isWrapping, isMain }: Column<T>) =>
    [isNumber && "is-number", isOptional && "is-optional", isWrapping && "is-wrapping", isMain && "is-main"]
      .filter(Boolean)
      .join(" ");
  return (
    <div class="table-frame">
      <table class="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} class={classes(column)}>
                {column.name === "Actions" ? <span class="offscreen">Actions</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
