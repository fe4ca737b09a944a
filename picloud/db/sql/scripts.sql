-- name: insert_script
with made as (
  insert into scripts (id, app_id, name, source, source_sha256)
  values (%(id)s, %(app_id)s, %(name)s, %(source)s, %(source_sha256)s)
  returning id, app_id, name, version, source, source_sha256, updated_at
), kept as (
  insert into script_versions (script_id, version, source, source_sha256)
  select id, version, source, source_sha256 from made
)
select id, app_id, name, version, source, source_sha256, updated_at from made;

-- name: put_script
-- Store the source as the script's next version; the same source again changes nothing.
with changed as (
  insert into scripts as s (id, app_id, name, source, source_sha256)
  values (%(id)s, %(app_id)s, %(name)s, %(source)s, %(source_sha256)s)
  on conflict on constraint scripts_name_unique do update
     set version = s.version + 1, source = excluded.source, source_sha256 = excluded.source_sha256, updated_at = now()
   where s.source_sha256 <> excluded.source_sha256
  returning id, app_id, name, version, source, source_sha256, updated_at
), kept as (
  insert into script_versions (script_id, version, source, source_sha256)
  select id, version, source, source_sha256 from changed
)
select id, app_id, name, version, source, source_sha256, updated_at, true as changed from changed
union all
select id, app_id, name, version, source, source_sha256, updated_at, false as changed
  from scripts
 where app_id = %(app_id)s and name = %(name)s and source_sha256 = %(source_sha256)s
   and not exists (select from changed);

-- name: get_script
select id, app_id, name, version, source, source_sha256, updated_at
  from scripts where app_id = %(app_id)s and name = %(name)s;

-- name: list_scripts
select id, app_id, name, version, source, source_sha256, updated_at
  from scripts
 where app_id = %(app_id)s and (%(after)s::text is null or name > %(after)s::text)
 order by name limit %(limit)s;

-- name: list_script_heads
select id, version from scripts;

-- name: load_scripts
select id, app_id, name, version, source, source_sha256, updated_at from scripts where id = any(%(ids)s::uuid[]);

-- name: list_script_versions
select version, source_sha256, created_at from script_versions
 where script_id = %(script_id)s and (%(before)s::int is null or version < %(before)s::int)
 order by version desc limit %(limit)s;

-- name: get_script_version
select version, source, source_sha256, created_at from script_versions
 where script_id = %(script_id)s and version = %(version)s;

-- name: delete_script
delete from scripts where app_id = %(app_id)s and name = %(name)s returning id;
