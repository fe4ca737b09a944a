-- The id of a request goes with all that the request causes.

-- null: nothing that a request caused, so that what is sent otherwise costs nothing
alter table queue_messages add column request_id text;
alter table outbox add column request_id text;
alter table dead_letters add column request_id text;

-- What hears of a dead letter was caused by the request, too.
create or replace function fan_out_dead_letters() returns trigger language plpgsql as $$
begin
  insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts, trigger_depth,
                      root_execution_id, parent_execution_id, request_id)
  select make_uuid7(), d.app_id, 'dead_letter', t.id, t.script_id,
         jsonb_build_object('dead_letter_id', d.id, 'original', d.event, 'error', d.error, 'attempts', d.attempts),
         t.retry_max_attempts, d.trigger_depth + 1,
         coalesce(d.root_execution_id, (d.error ->> 'execution_id')::uuid),
         nullif((d.error ->> 'execution_id')::uuid,
                coalesce(d.root_execution_id, (d.error ->> 'execution_id')::uuid)), d.request_id
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
