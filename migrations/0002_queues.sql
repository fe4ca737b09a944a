-- Durable queues: messages, their settings, their consumers, and where failed messages end.

alter table triggers drop constraint triggers_kind_known;
alter table triggers add constraint triggers_kind_known
  check (kind in ('http', 'queue', 'cron', 'dead_letter', 'email'));

alter table outbox drop constraint outbox_source_kind_known;
alter table outbox add constraint outbox_source_kind_known
  check (source_kind in ('invoke', 'dead_letter', 'cron', 'email'));

create table queue_trigger_details (
  trigger_id              uuid primary key references triggers on delete cascade,
  queue_name              text not null,
  visibility_timeout_secs int not null default 30
    constraint queue_trigger_visibility_timeout_range check (visibility_timeout_secs between 1 and 43200),
  batch_size              int not null default 500
    constraint queue_trigger_batch_size_range check (batch_size between 1 and 10000),
  concurrency             int not null default 1
    constraint queue_trigger_concurrency_range check (concurrency between 1 and 64),
  last_fired_at           timestamptz
);
create index queue_trigger_details_queue on queue_trigger_details (queue_name);

create table queues (
  app_id     uuid not null references apps on delete cascade,
  name       text not null,
  paused_at  timestamptz,
  created_at timestamptz not null default now(),
  primary key (app_id, name)
);

create table queue_messages (
  id                uuid primary key,
  app_id            uuid not null references apps on delete cascade,
  queue_name        text not null,
  payload           jsonb not null,
  priority          smallint not null default 0
    constraint queue_messages_priority_range check (priority between 0 and 9),
  enqueued_at       timestamptz not null default now(),
  -- never null: the claim index can then range over it
  deliver_after     timestamptz not null default now(),
  attempt           int not null default 0,
  max_attempts      int not null default 3
    constraint queue_messages_max_attempts_range check (max_attempts between 1 and 100),
  claim_token       uuid,
  claimed_at        timestamptz,
  dedup_key         text,
  trigger_depth     int not null default 0,
  root_execution_id uuid
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 50000
);
-- ready order: higher priority first, then due time
create index queue_messages_dispatch on queue_messages (app_id, queue_name, priority desc, deliver_after, id)
  where claim_token is null;
create index queue_messages_claimed on queue_messages (claimed_at) where claim_token is not null;
create unique index queue_messages_dedup on queue_messages (app_id, queue_name, dedup_key) where dedup_key is not null;

create table dead_letters (
  id                uuid primary key,
  app_id            uuid not null references apps on delete cascade,
  source            text not null,
  op                text not null,
  queue_name        text,
  trigger_id        uuid references triggers on delete set null,
  script_name       text,
  -- what the handler saw, the original payload inside
  event             jsonb not null,
  reason            text not null
    constraint dead_letters_reason_known check (reason in ('attempts_exhausted', 'lease_expired')),
  error             jsonb,
  attempts          int not null,
  enqueued_at       timestamptz not null,
  died_at           timestamptz not null default now(),
  trigger_depth     int not null default 0,
  root_execution_id uuid,
  resolved_at       timestamptz,
  resolution        text,
  replay_message_id uuid,
  constraint dead_letters_resolution_known check (resolution in ('replayed', 'discarded')),
  constraint dead_letters_resolved_whole check ((resolved_at is null) = (resolution is null))
);
create index dead_letters_open on dead_letters (app_id, queue_name, id) where resolved_at is null;
create index dead_letters_by_app on dead_letters (app_id, id);
