-- Messages that ended badly, kept until somebody replays or discards them.

-- name: list_dead_letters
-- Newest first.
select id, source, op, queue_name, trigger_id, script_name, event, reason, error, attempts, enqueued_at, died_at,
       resolved_at, resolution, replay_message_id
  from dead_letters
 where app_id = %(app_id)s
   and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
   and (%(include_resolved)s or resolved_at is null)
   and (%(before)s::uuid is null or id < %(before)s::uuid)
 order by id desc
 limit %(limit)s;

-- name: get_dead_letter
select id, source, op, queue_name, trigger_id, script_name, event, reason, error, attempts, enqueued_at, died_at,
       resolved_at, resolution, replay_message_id
  from dead_letters
 where app_id = %(app_id)s and id = %(id)s;

-- name: delete_dead_letter
delete from dead_letters where app_id = %(app_id)s and id = %(id)s returning id;

-- name: purge_dead_letters
-- Drop the unresolved dead letters of a queue, one batch at a time.
delete from dead_letters
 where id in (select id from dead_letters
               where app_id = %(app_id)s and queue_name = %(queue_name)s and resolved_at is null
               limit %(limit)s for update skip locked);

-- name: list_replayable
-- The oldest unresolved dead letters that came from a queue, an invoke_async or a schedule; locked, so that two replays
-- never take the same one.
select id, queue_name, source from dead_letters
 where app_id = %(app_id)s and resolved_at is null and source in ('queue', 'invoke', 'cron')
   and (%(id)s::uuid is null or id = %(id)s::uuid)
   and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
 order by id
 limit %(limit)s
 for update skip locked;

-- name: replay_invocations
-- Have scripts run once more for dead letters of invoke_async and of schedules.
with resolved as (
  update dead_letters d
     set resolved_at = now(), resolution = 'replayed', replay_message_id = r.delivery_id
    from unnest(%(ids)s::uuid[], %(delivery_ids)s::uuid[]) as r(id, delivery_id)
   where d.app_id = %(app_id)s and d.id = r.id and d.resolved_at is null
  returning d.app_id, d.source, d.trigger_id, d.script_name, d.event, d.trigger_depth, d.root_execution_id,
            r.delivery_id
)
insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts, trigger_depth,
                    root_execution_id)
select r.delivery_id, r.app_id, r.source, r.trigger_id, s.id, r.event, coalesce(t.retry_max_attempts, 1),
       r.trigger_depth, r.root_execution_id
  from resolved r
  left join triggers t on t.id = r.trigger_id
  left join scripts s on s.app_id = r.app_id and s.name = r.script_name;

-- name: replay_dead_letters
-- Put dead letters back into their queue as new messages with all attempts ahead of them.
with resolved as (
  update dead_letters d
     set resolved_at = now(), resolution = 'replayed', replay_message_id = r.message_id
    from unnest(%(ids)s::uuid[], %(message_ids)s::uuid[]) as r(id, message_id)
   where d.app_id = %(app_id)s and d.id = r.id and d.resolved_at is null
  returning d.id, d.app_id, d.queue_name, d.event, d.trigger_depth, d.root_execution_id, r.message_id
)
insert into queue_messages (id, app_id, queue_name, payload, priority, max_attempts, group_key, trigger_depth,
                            root_execution_id)
select r.message_id, r.app_id, r.queue_name, r.event -> 'payload', coalesce((r.event ->> 'priority')::smallint, 0),
       coalesce((r.event ->> 'max_attempts')::int, 3), case when q.fifo then '' else r.event ->> 'group_key' end,
       r.trigger_depth, r.root_execution_id
  from resolved r
  left join queues q on q.app_id = r.app_id and q.name = r.queue_name
returning id, queue_name;
