-- Rules of a route: who may call it, how signatures are checked, which pages of browsers may (picloud/route_rules.py).

alter table http_trigger_details add column rules jsonb not null default '{}';
