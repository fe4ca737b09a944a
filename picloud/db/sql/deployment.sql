-- name: ensure_app
-- Make the app unless it is there; one row comes back when it was made.
insert into apps (id, name) values (%(id)s, %(name)s)
on conflict on constraint apps_name_unique do nothing
returning id, name, created_at, record_executions, record_sample_rate;

-- name: lock_app
-- Deployments of one app go one after the other. No key is changed, so messages of the app may be inserted meanwhile.
select id, name, created_at, record_executions, record_sample_rate
  from apps where name = %(name)s for no key update;

-- name: list_script_versions
-- What is deployed, without the sources.
select name, id, version, source_sha256 from scripts where app_id = %(app_id)s order by name;
