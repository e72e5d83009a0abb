-- How a worker confines what models write. Workers from before this column did not confine it.
alter table worker
    add column isolation text not null default 'off' check (isolation in ('namespaced', 'landlocked', 'off'));
