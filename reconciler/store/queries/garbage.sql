-- What the vendor's registry has, and what of it nothing needs.

-- BuildContents are the builds that have something in the vendor's registry, with why each is needed: an empty reason if nothing does. The
-- reasons are checked in the order in which people ask.
-- name: BuildContents :many
select b.org_id, b.id, b.number, b.component_id, c.app_id, a.name as app, c.name as component, b.artifact_digest, b.artifact_bytes,
    b.source_digest, b.source_bytes,
    (case
        when b.status in ('queued', 'running') then 'running'
        when exists (select 1 from release_components r where r.org_id = b.org_id and r.input_id = b.input_id) then 'released'
        when c.input_id = b.input_id then 'current'
        when exists (select 1 from install_components i where i.org_id = b.org_id and i.component_id = b.component_id
            and i.applied_artifact = b.artifact_digest) then 'installed'
        when exists (select 1 from jobs j where j.org_id = b.org_id and j.ended_at is null and position(b.artifact_digest in j.spec::text) > 0)
            then 'used'
        when exists (select 1 from module_refresh_components m join module_refreshes f on f.org_id = m.org_id and f.id = m.refresh_id
            where m.org_id = b.org_id and m.input_id = b.input_id and f.status = 'running') then 'used'
        when b.ended_at > now() - make_interval(secs => @grace_seconds::float8) then 'recent'
        else '' end)::text as needed,
    (case
        when b.status <> 'succeeded' then 'not built'
        when c.input_id = b.input_id then 'current'
        when exists (select 1 from module_refresh_components m join module_refreshes f on f.org_id = m.org_id and f.id = m.refresh_id
            where m.org_id = b.org_id and m.input_id = b.input_id and f.status = 'running') then 'used'
        when b.ended_at > now() - make_interval(secs => @grace_seconds::float8) then 'recent'
        else '' end)::text as source_needed
from builds b join components c on c.org_id = b.org_id and c.id = b.component_id
join apps a on a.org_id = c.org_id and a.id = c.app_id
where b.org_id = @org_id and (b.artifact_digest <> '' or b.source_digest <> '') and (@app_id::text = '' or c.app_id = @app_id)
order by a.name, c.name, b.number;

-- name: DropBuilds :exec
delete from builds where org_id = @org_id and id = any(@ids::text[]);

-- name: ClearBuildSources :exec
update builds set source_digest = '', source_bytes = 0 where org_id = @org_id and id = any(@ids::text[]);

-- name: AddGarbage :exec
insert into registry_garbage (org_id, repository, digest, kind, app_id, app, component_id, component, build, bytes)
values (@org_id, @repository, @digest, @kind, @app_id, @app, @component_id, @component, @build, @bytes)
on conflict (org_id, repository, digest) do update set since = now(), begun_at = null, deleted_at = null;

-- Garbage is what is to be deleted, the oldest first.
-- name: Garbage :many
select * from registry_garbage where org_id = @org_id and deleted_at is null order by since, app, component, kind, build limit @most;

-- BeginDeletion states that content may be gone from now on.
-- name: BeginDeletion :execrows
update registry_garbage set begun_at = now() where org_id = @org_id and repository = @repository and digest = @digest and deleted_at is null;

-- LockGarbage keeps a row that is to be deleted as it is, until the end of the transaction.
-- name: LockGarbage :one
select * from registry_garbage where org_id = @org_id and repository = @repository and digest = @digest and deleted_at is null for update;

-- ContentIsNeeded reports whether a build refers to content of a component, or may push it at this moment.
-- name: ContentIsNeeded :one
select exists (select 1 from builds b where b.org_id = @org_id and b.component_id = @component_id
    and (b.artifact_digest = @digest or b.source_digest = @digest or @kind::text = 'artifact' and b.status in ('queued', 'running')));

-- ArtifactsOfComponent are the artifacts that builds of a component refer to.
-- name: ArtifactsOfComponent :many
select distinct artifact_digest from builds where org_id = @org_id and component_id = @component_id and artifact_digest <> '';

-- name: EndDeletion :exec
update registry_garbage set deleted_at = now() where org_id = @org_id and repository = @repository and digest = @digest;

-- DropGarbage removes the record of content that is needed again, or that is about to be pushed.
-- name: DropGarbage :exec
delete from registry_garbage where org_id = @org_id and repository = @repository and digest = @digest;

-- name: DropDeletedGarbage :exec
delete from registry_garbage where org_id = @org_id and deleted_at < now() - interval '1 day';

-- MayBeDeleted reports whether the deletion of content was begun after it was last pushed.
-- name: MayBeDeleted :one
select exists (select 1 from registry_garbage where org_id = @org_id and repository = @repository and digest = @digest and begun_at is not null);
