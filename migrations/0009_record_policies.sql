-- Which executions of an app are recorded.

alter table apps
  add column record_executions text not null default 'all'
    constraint apps_record_executions_known check (record_executions in ('all', 'errors', 'sampled')),
  add column record_sample_rate float8 not null default 0.01
    constraint apps_record_sample_rate_range check (record_sample_rate between 0 and 1);
