-- Previews of office documents that jobs made: a PDF, and its first pages as images.

create type preview_status as enum ('pending', 'ready', 'failed');

-- One row for each document, made when its job has ended.
create table preview (
    asset_id uuid primary key references asset on delete cascade,
    status preview_status not null default 'pending',
    -- The renderings that were begun. A result names its number, so that a superseded worker stores none.
    attempt smallint not null default 0,
    -- When a worker may begin, or begin again after one that died with it.
    due_at timestamptz not null default now(),
    -- Why there is none.
    reason text,
    -- Pages of the document, which may be more than the images.
    total_pages integer,
    constraint preview_failed check ((status = 'failed') = (reason is not null)),
    constraint preview_ready check ((status = 'ready') = (total_pages is not null))
);

create index preview_due on preview (due_at) where status = 'pending';

-- The asset store has the bytes, under their SHA-256.
create table preview_file (
    asset_id uuid not null references preview on delete cascade,
    -- The number of the page that the image shows. The PDF has 0.
    page integer not null check (page >= 0),
    size bigint not null check (size >= 0),
    sha256 bytea not null check (octet_length(sha256) = 32),
    -- Of an image, in pixels.
    width integer not null,
    height integer not null,
    primary key (asset_id, page)
);

create index preview_file_sha256 on preview_file (sha256);

-- Whether it renders previews: it has the programs, and a preview would not see the files of a job.
alter table worker add column renders_previews boolean not null default false;
