-- Releases (package release).

-- name: ReleaseByNumber :one
select * from releases where org_id = @org_id and app_id = @app_id and number = @number;

-- name: ReleaseByID :one
select * from releases where org_id = @org_id and id = @id;

-- NewestRelease returns the newest release that is not partial: the result of the last push.
-- name: NewestRelease :one
select * from releases where org_id = @org_id and app_id = @app_id and not partial order by number desc limit 1;

-- NewestComplete returns the release that installs follow.
-- name: NewestComplete :one
select * from releases where org_id = @org_id and app_id = @app_id and status = 'complete' order by number desc limit 1;

-- name: AddRelease :one
insert into releases (org_id, id, app_id, number, digest, version_id, config, partial, status, cause, commits)
values (@org_id, @id, @app_id,
    (select coalesce(max(r.number), 0) + 1 from releases r where r.org_id = @org_id and r.app_id = @app_id),
    @digest, @version_id, @config, @partial, 'building', @cause, @commits)
returning *;

-- name: AddReleaseComponents :exec
insert into release_components (org_id, release_id, component_id, input_id, problem, kept_from)
select @org_id, @release_id, c.component_id, nullif(c.input_id, ''), c.problem, c.kept_from
from (select unnest(@component_ids::text[]) as component_id, unnest(@input_ids::text[]) as input_id,
    unnest(@problems::text[]) as problem, unnest(@kept_from::int[]) as kept_from) c;

-- name: SetReleaseStatus :exec
update releases set status = @status, reason = @reason, completed_at = case when @status::text = 'complete' then now() end
where org_id = @org_id and id = @id and (status, reason) is distinct from (@status, @reason);

-- LockUnfinishedReleases locks the incomplete releases that contain an input. A complete release stays complete.
-- name: LockUnfinishedReleases :many
select r.* from releases r join release_components rc on rc.org_id = r.org_id and rc.release_id = r.id
where rc.org_id = @org_id and rc.input_id = @input_id and r.status <> 'complete' order by r.id for update of r;

-- LockOpenBuilds locks the open builds of a new release, so that none ends before it is committed.
-- name: LockOpenBuilds :many
select b.id from release_components rc join builds b on b.org_id = rc.org_id and b.input_id = rc.input_id
where rc.org_id = @org_id and rc.release_id = @release_id and b.status in ('queued', 'running') order by b.id for share of b;

-- ReleaseComponents returns the components of a release, each with the build that counts for it.
-- name: ReleaseComponents :many
select rc.component_id, c.name, c.kind, coalesce(rc.input_id, '')::text as input_id, coalesce(i.digest, '')::text as input_digest,
    coalesce(i.reason, '')::text as input_reason, rc.problem, rc.kept_from,
    coalesce(b.id, '')::text as build_id, coalesce(b.number, 0)::int as build, coalesce(b.status, '')::text as status,
    coalesce(b.commit, '')::text as commit, coalesce(b.artifact_digest, '')::text as artifact, coalesce(b.error, '')::text as error
from release_components rc
join components c on c.org_id = rc.org_id and c.id = rc.component_id
left join component_inputs i on i.org_id = rc.org_id and i.id = rc.input_id
left join builds b on b.org_id = rc.org_id and b.id = (select d.id from builds d where d.org_id = rc.org_id and d.input_id = rc.input_id
    order by d.status <> 'failed' desc, d.number desc limit 1)
where rc.org_id = @org_id and rc.release_id = @release_id order by c.kind <> 'sandbox', c.name;

-- InputsToRelease returns the components of an app's version, each with its current input.
-- name: InputsToRelease :many
select c.id as component_id, c.name, coalesce(c.input_id, '')::text as input_id, coalesce(i.digest, '')::text as input_digest,
    coalesce(i.reason, '')::text as reason, c.problem,
    exists (select 1 from release_components rc where rc.org_id = c.org_id and rc.input_id = c.input_id) as known
from components c left join component_inputs i on i.org_id = c.org_id and i.id = c.input_id
where c.org_id = @org_id and c.app_id = @app_id and c.present order by c.kind <> 'sandbox', c.name;
