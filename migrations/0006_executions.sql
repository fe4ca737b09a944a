-- What ran: one row per execution and its log lines, in one partition per day, so that old days are dropped whole.

-- Ids are UUIDv7: they begin with the milliseconds since the epoch, so a range of ids is a range of time. Partitions are
-- ranges of ids, which makes (app_id, id) the key, the order of every list and the way to the right partition at once.
create function execution_id_floor(at timestamptz) returns uuid language sql immutable parallel safe strict as $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

create table executions (
  id                  uuid not null,
  app_id              uuid not null,
  -- null: this execution is the root
  root_execution_id   uuid,
  parent_execution_id uuid,
  script_name         text not null,
  script_version      int not null,
  source              text not null,
  trigger_id          uuid,
  queue_name          text,
  -- of the queue, or of the outbox
  message_id          uuid,
  request_id          text,
  attempt             int not null,
  trigger_depth       int not null,
  status              text not null
    constraint executions_status_known
    check (status in ('ok', 'error', 'timeout', 'memory', 'cancelled', 'lease_lost')),
  -- by the node's clock
  started_at          timestamptz not null,
  duration_secs       float8 not null,
  cpu_secs            float8 not null,
  error               jsonb,
  log_lines           int not null,
  written_at          timestamptz not null default now(),
  -- no reference to apps: a check per row costs more than the row; what is left of an app goes with its day
  primary key (app_id, id)
) partition by range (id);
create index executions_root on executions (root_execution_id, id) where root_execution_id is not null;
create index executions_failed on executions (app_id, written_at, id) where status <> 'ok';

create table execution_logs (
  app_id       uuid not null,
  execution_id uuid not null,
  seq          int not null,
  script_name  text not null,
  level        text not null
    constraint execution_logs_level_known check (level in ('debug', 'info', 'warning', 'error')),
  at           timestamptz not null,
  message      text not null,
  fields       jsonb,
  written_at   timestamptz not null default now(),
  primary key (app_id, execution_id, seq)
) partition by range (execution_id);
create index execution_logs_written on execution_logs (app_id, written_at, execution_id, seq);

-- whatever belongs to no day's partition, so that writing never fails for want of one
create table executions_default partition of executions default;
create table execution_logs_default partition of execution_logs default;

-- Make the partition of one day of one table; rows of that day in the default partition move into it.
create function make_day_partition(parent text, key text, day date) returns text language plpgsql as $$
declare
  name text := parent || '_' || to_char(day, 'YYYYMMDD');
  low  uuid := execution_id_floor(day::timestamp at time zone 'UTC');
  high uuid := execution_id_floor((day + 1)::timestamp at time zone 'UTC');
begin
  if to_regclass(name) is not null then
    return null;
  end if;
  -- made aside and attached: the parent stays open to writers
  execute format('create table %I (like %I including all)', name, parent);
  execute format('lock table %I in access exclusive mode', parent || '_default');
  execute format('with moved as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from moved',
                 parent || '_default', key, low, key, high, name);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, low, high);
  return name;
end $$;

-- Make the partitions of today and of the days that come; one caller at a time, the others find nothing to do.
create function ensure_execution_partitions(days_ahead int) returns text[] language plpgsql as $$
declare
  made  text[] := '{}';
  today date := (now() at time zone 'UTC')::date;
begin
  if not pg_try_advisory_xact_lock(hashtext('picloud execution partitions')) then
    return made;
  end if;
  for ahead in 0 .. days_ahead loop
    made := made || make_day_partition('executions', 'id', today + ahead)
                 || make_day_partition('execution_logs', 'execution_id', today + ahead);
  end loop;
  return array_remove(made, null);
end $$;

-- Drop the partitions of days that ended more than so many days ago, and what the default partitions hold of that time.
create function drop_execution_partitions(older_than_days int) returns text[] language plpgsql as $$
declare
  last_kept date := (now() at time zone 'UTC')::date - older_than_days;
  low       uuid := execution_id_floor(last_kept::timestamp at time zone 'UTC');
  dropped   text[] := '{}';
  name      text;
begin
  if not pg_try_advisory_xact_lock(hashtext('picloud execution partitions')) then
    return dropped;
  end if;
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('executions'::regclass, 'execution_logs'::regclass)
       and c.relname ~ '_\d{8}$' and to_date(right(c.relname, 8), 'YYYYMMDD') < last_kept
     order by right(c.relname, 8), c.relname
  loop
    execute format('drop table %I', name);
    dropped := dropped || name;
  end loop;
  delete from executions_default where id < low;
  delete from execution_logs_default where execution_id < low;
  return dropped;
end $$;
