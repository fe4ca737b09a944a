-- Mails: which address of an app runs which script.

create table email_trigger_details (
  trigger_id uuid primary key references triggers on delete cascade,
  app_id     uuid not null references apps on delete cascade,
  -- what stands before the @, in lower case
  name       text not null,
  constraint email_trigger_name_unique unique (app_id, name)
);
