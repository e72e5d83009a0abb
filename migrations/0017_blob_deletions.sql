-- Blobs that a process deletes from the asset store. The deletion happens outside of a transaction.
--
-- The row is committed before the store is asked, and deleted when the store has answered. While it exists, no row can
-- name the blob, so a new upload of the same content never relies on bytes that are about to be deleted.
create table blob_deletion (
    sha256 bytea primary key check (octet_length(sha256) = 32),
    -- A process that was superseded leaves the row of its successor.
    id uuid not null,
    -- From then on another process may repeat the deletion.
    expires_at timestamptz not null
);

create index blob_deletion_expires_at on blob_deletion (expires_at);

-- Refuses a row whose blob is being deleted. The code is that of a lock that was not available, after which all releases
-- try again. The row of a new version of a skill needs no check: it is inserted while an asset has the same content.
--
-- The inserting transaction holds the advisory lock of the blob, shared; the one that inserts into `blob_deletion` holds
-- it exclusively. Volatile, so that it sees what was committed before the lock was granted.
create function refuse_deleted_blob() returns trigger
language plpgsql
as $$
begin
    if exists (select from blob_deletion where sha256 = new.sha256) then
        raise exception 'the blob % is being deleted', encode(new.sha256, 'hex')
            using errcode = 'lock_not_available', constraint = 'blob_deletion';
    end if;
    return new;
end $$;

create trigger refuse_deleted_blob before insert on asset
for each row execute function refuse_deleted_blob();

create trigger refuse_deleted_blob before insert on preview_file
for each row execute function refuse_deleted_blob();
