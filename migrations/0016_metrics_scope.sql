-- The scope of keys that only read `/metrics` and `/v1/queue`.
alter type key_scope add value 'metrics';
