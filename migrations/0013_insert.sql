-- Each job that was accepted looked its tenant up and locked its row, for a tenant that the key had just been found to
-- belong to and that nothing removes.
alter table job drop constraint job_tenant_id_fkey;
