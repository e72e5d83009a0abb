-- Those that were accepted last are looked at each second: see `db::run::list_stalled`.
create index run_blocked on run (job_id) where state = 'blocked';
