-- Schedules: when a script is run or a message sent, and which of the times were fired for.

-- a schedule may send a message instead of running a script
alter table triggers alter column script_id drop not null;
alter table triggers add constraint triggers_script_present check (script_id is not null or kind = 'cron');

create table cron_trigger_details (
  trigger_id     uuid primary key references triggers on delete cascade,
  schedule       text not null,
  -- IANA name
  timezone       text not null,
  payload        jsonb not null,
  -- null: the trigger's script is run
  queue_name     text,
  catch_up       text not null default 'one'
    constraint cron_trigger_catch_up_known check (catch_up in ('skip', 'one', 'all')),
  catch_up_limit int not null default 100
    constraint cron_trigger_catch_up_limit_range check (catch_up_limit between 1 and 1000),
  -- null: disabled, or it never comes again
  next_fire_at   timestamptz,
  last_fired_at  timestamptz
);
-- what is due is found here: the triggers that are not due cost nothing
create index cron_trigger_details_due on cron_trigger_details (next_fire_at) where next_fire_at is not null;

-- one row per time fired for, whichever node did it
create table cron_fires (
  trigger_id    uuid not null references triggers on delete cascade,
  scheduled_for timestamptz not null,
  fired_at      timestamptz not null default clock_timestamp(),
  -- of the outbox's row or of the message
  delivery_id   uuid not null,
  constraint cron_fires_once unique (trigger_id, scheduled_for)
);
create index cron_fires_fired on cron_fires (fired_at);
