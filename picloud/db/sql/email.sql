-- Email triggers, and the mails that arrive for them.

-- name: insert_email_trigger
with made as (
  insert into triggers (id, app_id, script_id, kind, enabled, retry_max_attempts, retry_backoff, retry_base_ms)
  values (%(id)s, %(app_id)s, %(script_id)s, 'email', %(enabled)s, %(retry_max_attempts)s, %(retry_backoff)s,
          %(retry_base_ms)s)
  returning id, app_id
)
insert into email_trigger_details (trigger_id, app_id, name)
select id, app_id, %(name)s from made;

-- name: update_email_trigger
with changed as (
  update triggers
     set script_id = %(script_id)s, enabled = %(enabled)s, retry_max_attempts = %(retry_max_attempts)s,
         retry_backoff = %(retry_backoff)s, retry_base_ms = %(retry_base_ms)s, updated_at = clock_timestamp()
   where id = %(id)s and app_id = %(app_id)s and kind = 'email'
  returning id
)
update email_trigger_details d set name = %(name)s from changed c where d.trigger_id = c.id returning d.trigger_id;

-- name: list_email_triggers
select t.id, t.app_id, a.name as app_name, t.script_id, s.name as script_name, d.name, t.enabled, t.retry_max_attempts,
       t.retry_backoff, t.retry_base_ms, t.created_at, t.updated_at
  from triggers t
  join email_trigger_details d on d.trigger_id = t.id
  join apps a on a.id = t.app_id
  join scripts s on s.id = t.script_id
 where t.app_id = %(app_id)s
   and (%(after)s::uuid is null or t.id > %(after)s::uuid)
   and (%(id)s::uuid is null or t.id = %(id)s::uuid)
   and (%(name)s::text is null or d.name = %(name)s::text)
 order by t.id
 limit %(limit)s;

-- name: find_mailbox_trigger
-- Who wants the mails to an address; nobody while the trigger is disabled.
select t.id
  from apps a
  join email_trigger_details d on d.app_id = a.id
  join triggers t on t.id = d.trigger_id
 where a.name = %(app)s and d.name = %(name)s and t.enabled;

-- name: insert_mail
-- One row for each address that the mail arrived for; the caller sees by their number whether a trigger is gone or was
-- disabled meanwhile. The event is sent once, however many they are.
insert into outbox (id, app_id, source_kind, trigger_id, script_id, event, max_attempts)
select r.id, t.app_id, 'email', t.id, t.script_id,
       m.event || jsonb_build_object('recipient', r.recipient), t.retry_max_attempts
  from (select %(event)s::jsonb as event) m
 cross join unnest(%(ids)s::uuid[], %(trigger_ids)s::uuid[], %(recipients)s::text[]) as r(id, trigger_id, recipient)
  join triggers t on t.id = r.trigger_id and t.enabled and t.kind = 'email';
