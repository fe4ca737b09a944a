-- Secrets of an app: written by operators, read by its scripts.

-- name: put_secret
insert into secrets (app_id, name, value) values (%(app_id)s, %(name)s, %(value)s)
on conflict (app_id, name) do update set value = excluded.value, updated_at = now();

-- name: list_secrets
select name, updated_at from secrets
 where app_id = %(app_id)s and (%(after)s::text is null or name > %(after)s::text)
 order by name limit %(limit)s;

-- name: read_secret
select value from secrets where app_id = %(app_id)s and name = %(name)s;

-- name: read_secrets
select name, value from secrets where app_id = %(app_id)s and name = any(%(names)s);

-- name: delete_secret
delete from secrets where app_id = %(app_id)s and name = %(name)s returning name;
