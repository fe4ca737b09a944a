-- What handlers keep and reach besides queues: key-value pairs, secrets, hosts they may call, and the routes of an app.

create sequence kv_versions;

create table kv (
  app_id     uuid not null references apps on delete cascade,
  key        text not null,
  -- as it was written, not jsonb: a large float must not come back as an int; null only inside the transaction that
  -- locks a key nobody wrote yet
  value      json,
  -- from a sequence, so that a key that was deleted and written again has no version twice; 0: not there yet
  version    bigint not null,
  updated_at timestamptz not null default now(),
  primary key (app_id, key),
  constraint kv_value_present check (value is not null or version = 0)
);

create table secrets (
  app_id     uuid not null references apps on delete cascade,
  name       text not null,
  value      text not null,
  updated_at timestamptz not null default now(),
  primary key (app_id, name)
);

alter table apps add column http_hosts text[] not null default '{}';

create table http_trigger_details (
  trigger_id uuid primary key references triggers on delete cascade,
  app_id     uuid not null references apps on delete cascade,
  method     text not null
    constraint http_trigger_method_known
    check (method in ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')),
  path       text not null,
  -- the path with its parameters unnamed: /orders/:id and /orders/:key are one route
  pattern    text not null,
  constraint http_trigger_route_unique unique (app_id, method, pattern)
);
