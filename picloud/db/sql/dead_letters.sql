-- Messages that ended badly, kept until somebody replays or discards them.

-- name: list_dead_letters
-- Newest first.
select id, source, op, queue_name, trigger_id, script_name, event, reason, error, attempts, enqueued_at, died_at,
       resolved_at, resolution, resolved_by, resolution_note, replay_message_id
  from dead_letters
 where app_id = %(app_id)s
   and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
   and (%(script_name)s::text is null or script_name = %(script_name)s::text)
   and (%(error_type)s::text is null or error ->> 'type' = %(error_type)s::text)
   and (%(reason)s::text is null or reason = %(reason)s::text)
   and (%(died_after)s::timestamptz is null or died_at >= %(died_after)s::timestamptz)
   and (%(died_before)s::timestamptz is null or died_at < %(died_before)s::timestamptz)
   and (%(include_resolved)s or resolved_at is null)
   and (%(before)s::uuid is null or id < %(before)s::uuid)
 order by id desc
 limit %(limit)s;

-- name: get_dead_letter
select id, source, op, queue_name, trigger_id, script_name, event, reason, error, attempts, enqueued_at, died_at,
       resolved_at, resolution, resolved_by, resolution_note, replay_message_id
  from dead_letters
 where app_id = %(app_id)s and id = %(id)s;

-- name: delete_dead_letter
delete from dead_letters where app_id = %(app_id)s and id = %(id)s returning id;

-- name: discard_dead_letter
-- Nobody needs to do anything about it any more; it is kept for a while.
update dead_letters
   set resolved_at = now(), resolution = 'discarded', resolved_by = %(by)s, resolution_note = %(note)s
 where app_id = %(app_id)s and id = %(id)s and resolved_at is null
returning id;

-- name: reopen_dead_letter
-- One that was discarded by mistake. What was replayed is a message again: it cannot be taken back.
update dead_letters
   set resolved_at = null, resolution = null, resolved_by = null, resolution_note = null
 where app_id = %(app_id)s and id = %(id)s and resolution = 'discarded'
returning id;

-- name: purge_dead_letters
-- Drop the unresolved dead letters of a queue, one batch at a time.
delete from dead_letters
 where id in (select id from dead_letters
               where app_id = %(app_id)s and queue_name = %(queue_name)s and resolved_at is null
               limit %(limit)s for update skip locked);

-- name: list_replayable
-- The oldest unresolved dead letters that came from a queue, an invoke_async, a schedule or a mail; locked, so that two
-- replays never take the same one.
select id, queue_name, source from dead_letters
 where app_id = %(app_id)s and resolved_at is null and source in ('queue', 'invoke', 'cron', 'email')
   and (%(only_queues)s is false or source = 'queue')
   and (%(id)s::uuid is null or id = %(id)s::uuid)
   and (%(queue_name)s::text is null or queue_name = %(queue_name)s::text)
   and (%(script_name)s::text is null or script_name = %(script_name)s::text)
   and (%(error_type)s::text is null or error ->> 'type' = %(error_type)s::text)
   and (%(reason)s::text is null or reason = %(reason)s::text)
   and (%(died_after)s::timestamptz is null or died_at >= %(died_after)s::timestamptz)
   and (%(died_before)s::timestamptz is null or died_at < %(died_before)s::timestamptz)
 order by id
 limit %(limit)s
 for update skip locked;

-- name: replay_invocations
-- Have scripts run once more for dead letters of invoke_async, of schedules and of mails.
with resolved as (
  update dead_letters d
     set resolved_at = now(), resolution = 'replayed', resolved_by = %(by)s, replay_message_id = r.delivery_id
    from unnest(%(ids)s::uuid[], %(delivery_ids)s::uuid[], %(delays)s::float8[]) as r(id, delivery_id, delay)
   where d.app_id = %(app_id)s and d.id = r.id and d.resolved_at is null
  returning d.app_id, d.source, d.trigger_id, d.script_name, d.event, d.trigger_depth, d.root_execution_id,
            d.request_id, r.delivery_id
)
insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts, trigger_depth,
                    root_execution_id, request_id)
select r.delivery_id, r.app_id, r.source, r.trigger_id, s.id, r.event, coalesce(t.retry_max_attempts, 1),
       r.trigger_depth, r.root_execution_id, r.request_id
  from resolved r
  left join triggers t on t.id = r.trigger_id
  left join scripts s on s.app_id = r.app_id and s.name = r.script_name;

-- name: replay_dead_letters
-- Put dead letters back into their queue, or into another, as new messages with all attempts ahead of them.
with resolved as (
  update dead_letters d
     set resolved_at = now(), resolution = 'replayed', resolved_by = %(by)s, replay_message_id = r.message_id
    from unnest(%(ids)s::uuid[], %(message_ids)s::uuid[], %(delays)s::float8[]) as r(id, message_id, delay)
   where d.app_id = %(app_id)s and d.id = r.id and d.resolved_at is null
  returning d.id, d.app_id, coalesce(%(to_queue)s::text, d.queue_name) as queue_name, d.event, d.trigger_depth,
            d.root_execution_id, d.request_id, r.message_id, r.delay
)
insert into queue_messages (id, app_id, queue_name, payload, priority, max_attempts, group_key, trigger_depth,
                            root_execution_id, request_id, deliver_after)
select r.message_id, r.app_id, r.queue_name, r.event -> 'payload', coalesce((r.event ->> 'priority')::smallint, 0),
       coalesce((r.event ->> 'max_attempts')::int, 3), case when q.fifo then '' else r.event ->> 'group_key' end,
       r.trigger_depth, r.root_execution_id, r.request_id, now() + make_interval(secs => r.delay)
  from resolved r
  left join queues q on q.app_id = r.app_id and q.name = r.queue_name
returning id, queue_name;

-- name: current_time
select now();
