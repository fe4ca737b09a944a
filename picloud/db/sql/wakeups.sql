-- name: notify_queues
-- Tell the other nodes which queues got messages: `node id/app id/queue name`. Never inside an inserting transaction.
select pg_notify('picloud_queue', name) from unnest(%(names)s::text[]) as n(name);

-- name: notify_changed
-- Tell the other nodes that triggers or scripts were changed: `node id/triggers`.
select pg_notify('picloud_changed', %(what)s);

-- name: is_own_session
-- False where a proxy lends the sessions: the process that answers is not the one that we connected to.
select pg_backend_pid() = %(backend)s;

-- name: listen_queues
listen picloud_queue;

-- name: listen_changes
listen picloud_changed;
