-- Jobs that were cancelled while their worker handed them back, in whatever state that left them.
create index run_missed_cancellation on run (job_id) where state <> 'running' and cancel_requested;
