-- Executions that run long, so that any node can show and stop them; who resolved a dead letter.

-- unlogged: it tells of processes, and a server that crashed has lost those, too
create unlogged table running_executions (
  id           uuid primary key,
  node_id      uuid not null,
  app_id       uuid not null references apps on delete cascade,
  script_name  text not null,
  source       text not null,
  queue_name   text,
  message_id   text,
  started_at   timestamptz not null,
  -- its node says again and again that it runs: what was not seen for long died with it
  seen_at      timestamptz not null default now(),
  cancel_by    text,
  cancel_discards boolean not null default false
);
create index running_executions_app on running_executions (app_id, id);
create index running_executions_node on running_executions (node_id);

alter table dead_letters
  add column resolved_by text,
  add column resolution_note text,
  drop constraint dead_letters_reason_known,
  add constraint dead_letters_reason_known
    check (reason in ('attempts_exhausted', 'lease_expired', 'cancelled', 'expired')),
  add constraint dead_letters_resolved_by_whole
    check (resolved_at is not null or (resolved_by is null and resolution_note is null));

create or replace function fan_out_dead_letters() returns trigger language plpgsql as $$
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
     -- somebody decided already: nobody needs to hear of it
     and d.resolved_at is null
     and (w.source is null or w.source = d.source)
     and (w.queue_name is null or w.queue_name = d.queue_name);
  return null;
end $$;
