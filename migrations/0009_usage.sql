-- Usage over time, and the history of the queue.

-- Jobs that have ended and are not in `usage` and `queue_minute` yet. The statement that ends a job only adds a row
-- here: a counter in that statement would make the jobs of a tenant wait for each other.
create table uncounted_end (
    job_id uuid not null
);

-- What the jobs of a tenant that ended on a day (UTC) have used. It outlives the jobs.
create table usage (
    tenant_id uuid not null references tenant on delete cascade,
    day date not null,
    -- Empty for jobs of an agent.
    skill text not null,
    -- Empty for jobs of a skill.
    agent text not null,
    model text not null,
    completed bigint not null,
    failed bigint not null,
    cancelled bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    -- In billionths of a dollar.
    cost bigint not null,
    -- From the start of each job to its end.
    duration_ms bigint not null,
    primary key (tenant_id, day, skill, agent, model)
) with (fillfactor = 80);

-- The queue of each minute. A minute in which no worker counted has no depth, and one without an end no ends.
create table queue_minute (
    minute timestamptz primary key,
    -- Jobs of each state at a moment of the minute, up to 10,000.
    ready integer,
    scheduled integer,
    blocked integer,
    running integer,
    waiting integer,
    -- For how long the job that waits longest could have started.
    oldest_seconds integer,
    -- Jobs that ended in the minute.
    completed integer not null default 0,
    failed integer not null default 0,
    cancelled integer not null default 0
) with (fillfactor = 80);
