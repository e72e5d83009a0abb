-- Jobs that are followed from their creation. Their first followers need no row in `followed_job`, which is a transaction
-- and two index entries for each job.

-- Until then writers notify of the job's events, as they do of those of a row in `followed_job`.
alter table run add column followed_until timestamptz;
