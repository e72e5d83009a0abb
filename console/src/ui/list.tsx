/** A list page: a table, or a replacement for an empty table. */

import type { ComponentChildren } from "preact";
import type { Resource } from "../resource.js";
import { Page } from "./page.js";
import { Loaded } from "./problem.js";
import { type Column, Table } from "./table.js";

interface ListPageProps<T> {
  title: string;
  about?: ComponentChildren;
  actions?: ComponentChildren;
  resource: Resource<T[]>;
  keyOf: (row: T) => string;
  columns: Column<T>[];
  /** The content shown instead of an empty table. */
  empty?: ComponentChildren;
  /** The content above the table. */
  children?: ComponentChildren;
}

export function ListPage<T>({ title, about, actions, resource, keyOf, columns, empty, children }: ListPageProps<T>) {
  return (
    <Page title={title} about={about} actions={actions}>
      {children}
      <Loaded resource={resource}>
        {(rows) => (rows.length === 0 && empty ? empty : <Table rows={rows} keyOf={keyOf} columns={columns} />)}
      </Loaded>
    </Page>
  );
}
