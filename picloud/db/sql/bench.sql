-- What only `picloud bench` asks of the database.

-- name: fill_ready
-- Many messages that are due, as if they had been sent over the last hour; ids ascend as those of real ones do.
insert into queue_messages (id, app_id, queue_name, payload, deliver_after)
select (lpad(to_hex(1700000000000 + g), 12, '0') || '7000' || left(md5(random()::text), 16))::uuid,
       %(app_id)s, %(queue_name)s, '{"n": 1}', now() - make_interval(secs => 3600 - 3600.0 * g / %(count)s)
  from generate_series(1, %(count)s) g;

-- name: fill_delayed
-- Many messages for later, at the highest priority: before all that are due.
insert into queue_messages (id, app_id, queue_name, payload, priority, deliver_after)
select (lpad(to_hex(1600000000000 + g), 12, '0') || '7000' || left(md5(random()::text), 16))::uuid,
       %(app_id)s, %(queue_name)s, '{"n": 1}', 9, now() + make_interval(secs => 86400.0 + g)
  from generate_series(1, %(count)s) g;

-- name: fill_claimed
-- Many messages that somebody holds.
insert into queue_messages (id, app_id, queue_name, payload, claim_token, claimed_at, attempt)
select (lpad(to_hex(1500000000000 + g), 12, '0') || '7000' || left(md5(random()::text), 16))::uuid,
       %(app_id)s, %(queue_name)s, '{"n": 1}', gen_random_uuid(), now() + interval '1 day', 1
  from generate_series(1, %(count)s) g;

-- name: empty_queue
delete from queue_messages where app_id = %(app_id)s and queue_name = %(queue_name)s;

-- name: switch_triggers
-- Enable or disable all triggers of one script.
update triggers t set enabled = %(enabled)s, updated_at = now()
  from scripts s
 where s.id = t.script_id and s.app_id = %(app_id)s and s.name = %(script)s and t.enabled <> %(enabled)s;

-- name: measure_messages
-- The size of the table of messages with its indexes, in bytes.
select pg_total_relation_size('queue_messages');

-- name: pin_snapshot
-- Begin to look at the database as it is now; dead rows are kept for this transaction.
select count(*) from apps;

-- name: create_side_database
create database picloud_bench_side;

-- name: drop_side_database
drop database if exists picloud_bench_side with (force);
