-- How a worker limits the memory of commands. Workers from before this column are taken for those that only watch it.
alter table worker
    add column memory_limit text not null default 'watched' check (memory_limit in ('enforced', 'watched'));
