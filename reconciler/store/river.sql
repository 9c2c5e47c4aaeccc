-- What queries here read of River's own table; River's migrations make it. Only sqlc reads this file.
create schema river;
create table river.river_job (
    id           bigint primary key,
    state        text not null,
    kind         text not null,
    queue        text not null,
    args         jsonb not null,
    attempted_by text[],
    scheduled_at timestamptz not null
);
