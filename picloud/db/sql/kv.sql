-- Values that the scripts of an app keep.

-- name: read_key
select value::text, version from kv where app_id = %(app_id)s and key = %(key)s;

-- name: list_keys
select key from kv
 where app_id = %(app_id)s and key collate "C" > %(after)s and starts_with(key, %(prefix)s)
 order by key collate "C" limit %(limit)s;

-- name: lock_keys
-- Hold keys until the transaction ends, those that are not there yet too: two that make the same key wait for each other.
with placed as (
  insert into kv (app_id, key, version)
  select %(app_id)s, k.key, 0 from unnest(%(keys)s::text[]) as k(key) order by k.key
  on conflict do nothing
)
select 1;

-- name: read_locked_keys
select key, value::text, version from kv where app_id = %(app_id)s and key = any(%(keys)s) order by key for update;

-- name: write_keys
update kv set value = w.value::json, version = nextval('kv_versions'), updated_at = now()
  from unnest(%(keys)s::text[], %(values)s::text[]) as w(key, value)
 where kv.app_id = %(app_id)s and kv.key = w.key;

-- name: delete_keys
delete from kv where app_id = %(app_id)s and key = any(%(keys)s);
