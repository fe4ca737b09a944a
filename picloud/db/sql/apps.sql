-- name: insert_app
insert into apps (id, name) values (%(id)s, %(name)s)
returning id, name, created_at, record_executions, record_sample_rate;

-- name: get_app
select id, name, created_at, record_executions, record_sample_rate from apps where name = %(name)s;

-- name: list_apps
select id, name, created_at, record_executions, record_sample_rate from apps
 where %(after)s::text is null or name > %(after)s::text
 order by name limit %(limit)s;

-- name: set_http_hosts
update apps set http_hosts = %(hosts)s where id = %(app_id)s and http_hosts <> %(hosts)s::text[] returning id;

-- name: get_http_hosts
select http_hosts from apps where id = %(app_id)s;

-- name: update_app
update apps
   set name = coalesce(%(new_name)s, name),
       record_executions = coalesce(%(record_executions)s, record_executions),
       record_sample_rate = coalesce(%(record_sample_rate)s, record_sample_rate)
 where name = %(name)s
returning id, name, created_at, record_executions, record_sample_rate;

-- name: delete_app
-- Messages first: the cascade would take them one by one through the foreign key.
with doomed as (
  select id from apps where name = %(name)s for update
), messages as (
  delete from queue_messages where app_id in (select id from doomed)
), bound as (
  delete from triggers where app_id in (select id from doomed)
)
select id from doomed;

-- name: delete_app_row
delete from apps where id = %(id)s returning id;

-- name: delete_app_executions
delete from executions where app_id = %(id)s;

-- name: delete_app_logs
delete from execution_logs where app_id = %(id)s;
