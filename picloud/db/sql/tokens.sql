-- name: insert_token
insert into tokens (id, name, token_sha256) values (%(id)s, %(name)s, %(token_sha256)s);

-- name: find_token
-- The name of a token that is still valid.
select name from tokens where token_sha256 = %(token_sha256)s and (expires_at is null or expires_at > now());

-- name: count_tokens
select count(*)::int from tokens;

-- name: lock_tokens
lock table tokens in share row exclusive mode;
