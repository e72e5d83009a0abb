-- When the service disabled a webhook. `updated_at` says less: its owner may change a disabled webhook.
alter table webhook add column disabled_at timestamptz;

update webhook set disabled_at = updated_at where status = 'disabled';

alter table webhook
    drop constraint webhook_disabled,
    add constraint webhook_disabled check (num_nulls(disabled_reason, disabled_at) = case status when 'disabled' then 0 else 2 end);
