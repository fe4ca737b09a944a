-- Apps, their scripts and triggers, tokens, and the outbox.

create table apps (
  id         uuid primary key,
  name       text not null,
  created_at timestamptz not null default now(),
  constraint apps_name_unique unique (name)
);

create table tokens (
  id           uuid primary key,
  name         text not null,
  token_sha256 bytea not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  constraint tokens_sha256_unique unique (token_sha256)
);

create table scripts (
  id            uuid primary key,
  app_id        uuid not null references apps on delete cascade,
  name          text not null,
  version       int not null default 1,
  source        text not null,
  source_sha256 text not null,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  constraint scripts_name_unique unique (app_id, name)
);

create table script_versions (
  script_id     uuid not null references scripts on delete cascade,
  version       int not null,
  source        text not null,
  source_sha256 text not null,
  created_at    timestamptz not null default now(),
  primary key (script_id, version)
);

-- retry settings live here, on the parent row, and nowhere else
create table triggers (
  id                 uuid primary key,
  app_id             uuid not null references apps on delete cascade,
  script_id          uuid not null constraint triggers_script_fkey references scripts,
  kind               text not null constraint triggers_kind_known check (kind in ('http', 'cron', 'dead_letter', 'email')),
  enabled            boolean not null default true,
  retry_max_attempts int not null default 3
    constraint triggers_retry_max_attempts_range check (retry_max_attempts between 1 and 100),
  retry_backoff      text not null default 'exponential'
    constraint triggers_retry_backoff_known check (retry_backoff in ('exponential', 'linear', 'constant')),
  retry_base_ms      int not null default 1000
    constraint triggers_retry_base_ms_range check (retry_base_ms between 1 and 3600000),
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now()
);
create index triggers_app on triggers (app_id, kind);
create index triggers_script on triggers (script_id);

create table outbox (
  id                uuid primary key,
  app_id            uuid not null references apps on delete cascade,
  source_kind       text not null
    constraint outbox_source_kind_known check (source_kind in ('dead_letter', 'cron', 'email')),
  trigger_id        uuid references triggers on delete cascade,
  script_id         uuid references scripts on delete cascade,
  event             jsonb not null,
  created_at        timestamptz not null default now(),
  deliver_after     timestamptz not null default now(),
  attempt           int not null default 0,
  max_attempts      int not null default 1,
  claim_token       uuid,
  claimed_at        timestamptz,
  trigger_depth     int not null default 0,
  root_execution_id uuid
);
create index outbox_dispatch on outbox (deliver_after, id) where claim_token is null;
create index outbox_claimed on outbox (claimed_at) where claim_token is not null;
