-- Attempts that ended because the worker's release could not read the job. Counted apart from failures: while workers are
-- updated one by one, a job of the newer release waits for a worker that can read it.
alter table run add column unreadable smallint not null default 0;
