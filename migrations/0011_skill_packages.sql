-- What came of installing the packages that a version of an uploaded skill names, on each machine with workers.
create table skill_packages (
    -- Host and data directory: the workers of a data directory share their layers.
    place text not null,
    digest bytea not null check (octet_length(digest) = 32),
    -- Null if they are installed.
    trouble text check (octet_length(trouble) <= 4000),
    at timestamptz not null default now(),
    primary key (place, digest)
);
create index skill_packages_digest on skill_packages (digest);
