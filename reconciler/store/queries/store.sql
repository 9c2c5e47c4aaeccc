-- What the store itself needs: orgs, and what is due.

-- name: CreateOrg :one
insert into orgs (id, name) values (@id, @name) returning *;

-- name: OrgByName :one
select * from orgs where name = @name;

-- name: OrgByID :one
select * from orgs where id = @id;

-- SetDueIn makes a thing due after so many seconds. What is due is compared with the database's clock alone, so nothing writes a
-- time of a replica's there.
-- name: SetDueIn :exec
insert into due (org_id, kind, id, at) values (@org_id, @kind, @id, now() + make_interval(secs => @in_seconds::float8))
on conflict (org_id, kind, id) do update set at = excluded.at;

-- name: ClearDue :exec
delete from due where org_id = @org_id and kind = @kind and id = @id;

-- TakeDue claims what is due and puts it off by `again`; the work itself says when it is due next.
-- name: TakeDue :many
update due set at = now() + make_interval(secs => @again_seconds::float8)
where (org_id, kind, id) in (
    select d.org_id, d.kind, d.id from due d where d.at <= now()
    order by d.at limit @most for update skip locked)
returning org_id, kind, id;

-- SetScope says what a unit of work may see: one org, and of that one app if it is not empty.
-- name: SetScope :exec
select set_config('nuon.org', @org::text, true), set_config('nuon.app', @app::text, true);

-- name: SendNotification :exec
select pg_notify(@channel::text, @payload::text);
