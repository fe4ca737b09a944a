-- The outbox is drained in batches, app by app in turn, as queues are.

drop index outbox_dispatch;
create index outbox_dispatch on outbox (app_id, deliver_after, id) where claim_token is null;

alter table outbox set (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 50000
);

-- ids that the database makes are in the order of time, too: lists are paged by them
create function make_uuid7() returns uuid language sql volatile as $$
  -- a random id whose first 48 bits are the time in milliseconds, and whose version says so
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
              placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
              from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

create or replace function fan_out_dead_letters() returns trigger language plpgsql as $$
begin
  insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts, trigger_depth,
                      root_execution_id)
  select make_uuid7(), d.app_id, 'dead_letter', t.id, t.script_id,
         jsonb_build_object('dead_letter_id', d.id, 'original', d.event, 'error', d.error, 'attempts', d.attempts),
         t.retry_max_attempts, d.trigger_depth + 1, d.root_execution_id
    from fresh d
    join triggers t on t.app_id = d.app_id and t.kind = 'dead_letter' and t.enabled
    join dead_letter_trigger_details w on w.trigger_id = t.id
   -- what a dead-letter handler failed at is recorded and never fans out again
   where d.source <> 'dead_letter'
     -- somebody decided already: nobody needs to hear of it
     and d.resolved_at is null
     and (w.source is null or w.source = d.source)
     and (w.queue_name is null or w.queue_name = d.queue_name);
  return null;
end $$;
