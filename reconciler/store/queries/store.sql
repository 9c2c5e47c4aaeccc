-- Orgs and due items, for the store itself.

-- name: CreateOrg :one
insert into orgs (id, name) values (@id, @name) returning *;

-- name: OrgByName :one
select * from orgs where name = @name;

-- name: OrgByID :one
select * from orgs where id = @id;

-- SetDueIn sets in how many seconds something is due. Due times are compared with the database's clock only, so no
-- replica writes a time of its clock.
-- name: SetDueIn :exec
insert into due (org_id, kind, id, at) values (@org_id, @kind, @id, now() + make_interval(secs => @in_seconds::float8))
on conflict (org_id, kind, id) do update set at = excluded.at;

-- name: ClearDue :exec
delete from due where org_id = @org_id and kind = @kind and id = @id;

-- HasDue reports whether something may be due. It is asked far more often than something is.
-- name: HasDue :one
select exists (select from due where at <= now());

-- ClaimDue claims due items and postpones them; the work itself sets when they are due next. An item whose work is
-- running stays due until that has ended, because the work may have started before the reason for the item. Orgs take
-- turns, and an org has at most @polls waiting or running polls, so that many due items or a slow git server delay no
-- other org.
-- name: ClaimDue :many
with at_work as (
    select kind, args->>'org' as org_id, coalesce(args->>'watch', args->>'id', args->>'install', args->>'app', args->>'org') as id
    from river.river_job where state = 'running'
), polls as (
    select args->>'org' as org_id, count(*) as many from river.river_job
    where state in ('available', 'running', 'retryable', 'scheduled') and queue = 'remote' and kind = 'poll' group by 1
), turns as (
    select d.org_id, d.kind, d.id, d.at, row_number() over (partition by d.org_id, d.kind = 'watch' order by d.at) as turn
    from due d where d.at <= now() and not exists (
        select 1 from at_work w where w.org_id = d.org_id and w.id = d.id and w.kind = case d.kind
            when 'watch' then 'poll' when 'attempt' then 'expire' when 'install' then 'resync' when 'app' then 'catalog' when 'org' then 'retain' else d.kind end)
), chosen as (
    select t.org_id, t.kind, t.id from turns t left join polls p on p.org_id = t.org_id
    where t.kind <> 'watch' or t.turn + coalesce(p.many, 0) <= @polls::bigint
    order by t.turn, t.at limit @most
), taken as (
    select d.org_id, d.kind, d.id from due d join chosen c on c.org_id = d.org_id and c.kind = d.kind and c.id = d.id
    where d.at <= now() for update of d skip locked
)
update due set at = now() + make_interval(secs => case when taken.kind = 'install' then (0.9 + 0.2 * random()) * @resync_seconds::float8 else @again_seconds::float8 end)
from taken where due.org_id = taken.org_id and due.kind = taken.kind and due.id = taken.id
returning due.org_id, due.kind, due.id;

-- name: SendNotifications :exec
select pg_notify(@channel::text, payload) from unnest(@payloads::text[]) as n (payload);
