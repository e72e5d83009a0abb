-- The scope of keys that read metrics and the queue, for scrapers and autoscalers.

alter type key_scope add value 'metrics';
