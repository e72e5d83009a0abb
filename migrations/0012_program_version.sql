-- What programs say of themselves, by name. A worker finds out when it has begun to work.
alter table worker add column program_versions jsonb not null default '{}';
