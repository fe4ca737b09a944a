-- Rules of a queue that hold on all nodes together: order, how much at once, and how fast.

alter table queues
  add column fifo            boolean not null default false,
  add column max_in_flight   int
    constraint queues_max_in_flight_range check (max_in_flight between 1 and 100000),
  add column rate_per_second real
    constraint queues_rate_range check (rate_per_second > 0 and rate_per_second <= 100000);

-- what a rate allows right now; a row of its own, since it changes with every claim
create table queue_rates (
  app_id uuid not null references apps on delete cascade,
  name   text not null,
  tokens real not null,
  at     timestamptz not null,
  primary key (app_id, name)
);

-- of the messages of one key only one is claimed at a time, in the order of their ids
alter table queue_messages add column group_key text;
create index queue_messages_group on queue_messages (app_id, queue_name, group_key, id) where group_key is not null;
