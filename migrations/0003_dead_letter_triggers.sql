-- Dead letters fire triggers: each new one becomes an outbox row per trigger that wants it, in the same transaction.

create table dead_letter_trigger_details (
  trigger_id uuid primary key references triggers on delete cascade,
  -- null: any
  source     text,
  queue_name text
);

create function fan_out_dead_letters() returns trigger language plpgsql as $$
begin
  insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts, trigger_depth,
                      root_execution_id)
  select gen_random_uuid(), d.app_id, 'dead_letter', t.id, t.script_id,
         jsonb_build_object('dead_letter_id', d.id, 'original', d.event, 'error', d.error, 'attempts', d.attempts),
         t.retry_max_attempts, d.trigger_depth + 1, d.root_execution_id
    from fresh d
    join triggers t on t.app_id = d.app_id and t.kind = 'dead_letter' and t.enabled
    join dead_letter_trigger_details w on w.trigger_id = t.id
   -- what a dead-letter handler failed at is recorded and never fans out again
   where d.source <> 'dead_letter'
     and (w.source is null or w.source = d.source)
     and (w.queue_name is null or w.queue_name = d.queue_name);
  return null;
end $$;

create trigger dead_letters_fan_out after insert on dead_letters
  referencing new table as fresh for each statement execute function fan_out_dead_letters();
