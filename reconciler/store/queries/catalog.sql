-- Apps with their versions and components (package catalog).

-- name: AppByID :one
select * from apps where org_id = @org_id and id = @id;

-- name: LockApp :one
select * from apps where org_id = @org_id and id = @id for update;

-- name: VersionByDigest :one
select * from app_versions where org_id = @org_id and app_id = @app_id and digest = @digest;

-- name: VersionByNumber :one
select * from app_versions where org_id = @org_id and app_id = @app_id and number = @number;

-- name: AppVersionByID :one
select * from app_versions where org_id = @org_id and id = @id;

-- name: AddAppVersion :one
insert into app_versions (org_id, id, app_id, number, digest, config, revision_id, reason)
values (@org_id, @id, @app_id,
    (select coalesce(max(v.number), 0) + 1 from app_versions v where v.org_id = @org_id and v.app_id = @app_id),
    @digest, @config, @revision_id, @reason)
returning *;

-- name: NextVersionNumber :one
select (coalesce(max(number), 0) + 1)::int from app_versions where org_id = @org_id and app_id = @app_id;

-- ReviveAppVersion stores why, and at which revision, an earlier version is the current one again.
-- name: ReviveAppVersion :exec
update app_versions set reason = @reason, revision_id = @revision_id where org_id = @org_id and id = @id;

-- name: SetAppRead :exec
update apps set version_id = @version_id, revision_id = @revision_id, diagnostics = @diagnostics
where org_id = @org_id and id = @id;

-- PutComponent deletes the input of a component whose code is to come from elsewhere, until that code was inspected:
-- nobody meant the new config with the old code. The same code has the same input, and then nothing is built.
-- name: PutComponent :exec
insert into components as c (org_id, id, app_id, name, kind, present, watch_id)
values (@org_id, @id, @app_id, @name, @kind, true, @watch_id)
on conflict (org_id, app_id, name) do update set kind = excluded.kind, present = true, watch_id = excluded.watch_id,
    input_id = case when c.watch_id is not distinct from excluded.watch_id then c.input_id end;

-- name: DropComponents :exec
update components set present = false
where org_id = @org_id and app_id = @app_id and present and not (name = any(@kept::text[]));

-- name: ComponentsOfApp :many
select * from components where org_id = @org_id and app_id = @app_id and present order by (kind <> 'sandbox'), name;

-- name: SetRevisionOutcome :exec
update revisions set outcome = @outcome where org_id = @org_id and id = @id;

-- name: LockRevision :one
select * from revisions where org_id = @org_id and id = @id for update;
