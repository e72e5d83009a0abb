-- What a tenant's skills may know. The value is nowhere but in the ciphertext, whose key is in no database.
create table secret (
    tenant_id uuid not null references tenant,
    name text not null,
    -- AES-256-GCM with its tag. Tenant, name and key are authenticated with it: a row copied elsewhere
    -- does not open.
    ciphertext bytea not null,
    nonce bytea not null check (octet_length(nonce) = 12),
    -- Which of the configured master keys opens it: the first bytes of that key's SHA-256, in hexadecimal.
    key_id text not null,
    created_at timestamptz not null default now(),
    -- When the value was last set; another key for the same value does not count.
    updated_at timestamptz not null default now(),
    primary key (tenant_id, name)
);
