-- Calls of tools that wait for a person. What is asked and answered stands in the job's log; this finds it.
create type approval_status as enum ('pending', 'approved', 'denied', 'expired', 'cancelled');

create table approval (
    id uuid primary key,
    tenant_id uuid not null,
    job_id uuid not null,
    -- The entries of the job's log that ask, and answer.
    requested_seq bigint not null,
    resolved_seq bigint,
    status approval_status not null default 'pending',
    -- When it counts as denied unless someone answers.
    expires_at timestamptz not null,
    constraint approval_resolved check ((status = 'pending') = (resolved_seq is null))
);

create index approval_job on approval (job_id, requested_seq);
create index approval_tenant on approval (tenant_id, id desc);
create index approval_pending on approval (tenant_id, id desc) where status = 'pending';
create index approval_expiry on approval (expires_at) where status = 'pending';

create index run_waiting on run (job_id) where state = 'waiting';
-- Asked to end in the very moment in which they began to wait.
create index run_waiting_cancelled on run (job_id) where state = 'waiting' and cancel_requested;
