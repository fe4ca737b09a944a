-- Defaults and retention of a queue.

alter table queues
  -- wins over the trigger's retry_max_attempts
  add column default_max_attempts   int
    constraint queues_default_max_attempts_range check (default_max_attempts between 1 and 100),
  -- how long a message may wait once it is due; then it is a dead letter, never just gone
  add column message_retention_secs int
    constraint queues_message_retention_range check (message_retention_secs between 1 and 31622400),
  -- how long its dead letters are kept, resolved or not
  add column dead_retention_secs    int
    constraint queues_dead_retention_range check (dead_retention_secs between 1 and 31622400);

-- what the janitor drops
create index dead_letters_resolved on dead_letters (resolved_at) where resolved_at is not null;
