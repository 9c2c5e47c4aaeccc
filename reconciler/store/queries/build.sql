-- The inputs of components and their builds (package build).

-- name: ComponentToBuild :one
select * from components where org_id = @org_id and id = @id;

-- ComponentInputByDigest returns the newest input with a digest, with or without a resolution that its builds start
-- from.
-- name: ComponentInputByDigest :one
select * from component_inputs where org_id = @org_id and component_id = @component_id and (digest = @digest or base = @digest)
order by chosen_at desc, created_at desc, id desc limit 1;

-- name: ComponentInputByID :one
select * from component_inputs where org_id = @org_id and id = @id;

-- name: AddComponentInput :one
insert into component_inputs (org_id, id, component_id, digest, recipe, resolution, base, variables, revision_id, reason)
values (@org_id, @id, @component_id, @digest, @recipe, @resolution, @base, @variables, @revision_id, @reason)
returning *;

-- name: SetComponentInput :exec
update components set input_id = @input_id, problem = '', problem_digest = '' where org_id = @org_id and id = @id;

-- name: SetComponentProblem :exec
update components set problem = @problem, problem_digest = @problem_digest where org_id = @org_id and id = @id;

-- BuildOfInput returns the build that counts for an input: the open or succeeded one, else the newest failed one.
-- name: BuildOfInput :one
select * from builds where org_id = @org_id and input_id = @input_id
order by (status <> 'failed') desc, number desc limit 1;

-- name: LockBuild :one
select * from builds where org_id = @org_id and id = @id for update;

-- name: AddBuild :one
insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, source_digest, source_bytes, reason, trace)
values (@org_id, @id, @component_id, @input_id,
    (select coalesce(max(b.number), 0) + 1 from builds b where b.org_id = @org_id and b.component_id = @component_id),
    'queued', @repository, @commit, @source_digest, @source_bytes, @reason, @trace)
returning *;

-- SetBuildSource stores the source of an input that was packed again.
-- name: SetBuildSource :exec
update builds set source_digest = @source_digest, source_bytes = @source_bytes where org_id = @org_id and id = @id;

-- name: SetBuildJob :execrows
update builds set job_id = @job_id where org_id = @org_id and id = @id and status = 'queued' and job_id is null;

-- name: SetBuildRunning :execrows
update builds set status = 'running'
where org_id = @org_id and id = @id and job_id = @job_id and status in ('queued', 'running');

-- name: EndBuild :execrows
update builds set status = @status, artifact_digest = @artifact_digest, artifact_bytes = @artifact_bytes, error = @error,
    modules_tool = @modules_tool, ended_at = now()
where org_id = @org_id and id = @id and job_id = @job_id and status in ('queued', 'running');

-- BuildRunner returns the org's build runner with the fewest jobs for its capacity, if possible one that is online:
-- one that never registered, or is offline, must not get every build.
-- name: BuildRunner :one
select r.* from runners r where r.org_id = @org_id and r.kind = 'build'
order by coalesce(r.last_seen > now() - make_interval(secs => @online_seconds::float8), false) desc, r.key_hash is not null desc,
    (select count(*) from jobs j where j.org_id = r.org_id and j.kind = 'build' and j.runner_id = r.id and j.ended_at is null)::float8 / greatest(r.capacity, 1),
    r.created_at, r.id
limit 1;

-- AppsWithBuildsWithoutJob returns the apps with a build that waits for any build runner to exist.
-- name: AppsWithBuildsWithoutJob :many
select distinct c.app_id from builds b join components c on c.org_id = b.org_id and c.id = b.component_id
where b.org_id = @org_id and b.status = 'queued' and b.job_id is null order by c.app_id;

-- name: BuildsOfComponent :many
select * from builds where org_id = @org_id and component_id = @component_id order by number;

-- name: AddBuildModules :exec
insert into build_modules (org_id, build_id, key, source, version_constraint, version, repository, commit, archive, tree, directory)
select @org_id, @build_id, m.key, m.source, m.version_constraint, m.version, m.repository, m.commit, m.archive, m.tree, m.directory
from (select unnest(@keys::text[]) as key, unnest(@sources::text[]) as source, unnest(@version_constraints::text[]) as version_constraint,
    unnest(@versions::text[]) as version, unnest(@repositories::text[]) as repository, unnest(@commits::text[]) as commit,
    unnest(@archives::text[]) as archive, unnest(@trees::text[]) as tree, unnest(@directories::text[]) as directory) m;

-- name: BuildModules :many
select * from build_modules where org_id = @org_id and build_id = @build_id order by key;

-- BuildToResolveLike returns the build whose modules a new input of a component starts from: the newest with modules,
-- of the current input if that has one.
-- name: BuildToResolveLike :one
select b.id, b.input_id, b.modules_tool from builds b where b.org_id = @org_id and b.component_id = @component_id and b.status = 'succeeded'
    and b.modules_tool <> ''
order by b.input_id = @input_id desc, b.number desc limit 1;

-- ChooseInput makes the input with a digest count among those of the same code, if the component has one.
-- name: ChooseInput :one
update component_inputs set chosen_at = clock_timestamp() where org_id = @org_id and component_id = @component_id and digest = @digest
returning *;

-- name: AddModuleRefresh :one
with old as (
    delete from module_refreshes r where r.org_id = @org_id and r.app_id = @app_id and r.ended_at < now() - interval '90 days')
insert into module_refreshes (org_id, id, app_id, dry_run, requested_by) values (@org_id, @id, @app_id, @dry_run, @requested_by)
returning *;

-- AddDueRefreshes adds a due item for a refresh of the images to each app that has images and no such item.
-- name: AddDueRefreshes :exec
insert into due (org_id, kind, id, at)
select distinct c.org_id, 'images', c.app_id, now() + make_interval(secs => @in_seconds::float8)
from components c where c.org_id = @org_id and c.kind = 'container_image'
on conflict (org_id, kind, id) do nothing;

-- LastRefresh returns the newest refresh of an app that was not a dry run.
-- name: LastRefresh :one
select * from module_refreshes where org_id = @org_id and app_id = @app_id and not dry_run order by created_at desc, id desc limit 1;

-- RunningRefresh returns the refresh of an app that has not ended.
-- name: RunningRefresh :one
select * from module_refreshes where org_id = @org_id and app_id = @app_id and status = 'running' limit 1;

-- NextRefresh returns when the images of an app are resolved again.
-- name: NextRefresh :one
select at from due where org_id = @org_id and kind = 'images' and id = @app_id::text;

-- name: AddModuleRefreshComponent :exec
insert into module_refresh_components (org_id, id, refresh_id, component_id, input_id, before, job_id)
values (@org_id, @id, @refresh_id, @component_id, @input_id, @before, @job_id);

-- RefreshOfComponent returns the refresh of a job of a component.
-- name: RefreshOfComponent :one
select sqlc.embed(r), c.status as component_status, c.input_id from module_refresh_components c
join module_refreshes r on r.org_id = c.org_id and r.id = c.refresh_id
where c.org_id = @org_id and c.id = @id;

-- name: EndModuleRefreshComponent :execrows
update module_refresh_components set status = @status, error = @error, after = @after
where org_id = @org_id and id = @id and status = 'running';

-- name: SetModuleRefreshBuild :exec
update module_refresh_components set build_id = @build_id where org_id = @org_id and id = @id;

-- name: EndModuleRefresh :execrows
update module_refreshes set status = @status, error = @error, release = @release, ended_at = now()
where org_id = @org_id and id = @id and status = 'running';

-- name: ModuleRefreshComponents :many
select sqlc.embed(r), c.name, c.input_id as current_input_id from module_refresh_components r
join components c on c.org_id = r.org_id and c.id = r.component_id
where r.org_id = @org_id and r.refresh_id = @refresh_id order by c.kind <> 'sandbox', c.name;

-- name: ViewModuleRefresh :one
select r.* from module_refreshes r where r.org_id = @org_id and r.app_id = @app_id and r.id = @id;

-- name: SetCredentialModules :execrows
update credentials set modules = @modules where org_id = @org_id and id = @id;

-- CredentialsForModules returns the credentials that builds may use for some address.
-- name: CredentialsForModules :many
select * from credentials where org_id = @org_id and modules <> '{}' order by name;
