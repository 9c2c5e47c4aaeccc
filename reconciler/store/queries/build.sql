-- What build reads and writes: component inputs and builds.

-- name: ComponentToBuild :one
select * from components where org_id = @org_id and id = @id;

-- name: ComponentInputByDigest :one
select * from component_inputs where org_id = @org_id and component_id = @component_id and digest = @digest;

-- name: ComponentInputByID :one
select * from component_inputs where org_id = @org_id and id = @id;

-- name: AddComponentInput :one
insert into component_inputs (org_id, id, component_id, digest, recipe, revision_id, reason)
values (@org_id, @id, @component_id, @digest, @recipe, @revision_id, @reason)
returning *;

-- name: SetComponentInput :exec
update components set input_id = @input_id, problem = '', problem_digest = '' where org_id = @org_id and id = @id;

-- name: SetComponentProblem :exec
update components set problem = @problem, problem_digest = @problem_digest where org_id = @org_id and id = @id;

-- The build that counts for an input: the one under way or succeeded, else the newest that failed.
-- name: BuildOfInput :one
select * from builds where org_id = @org_id and input_id = @input_id
order by (status <> 'failed') desc, number desc limit 1;

-- name: LockBuild :one
select * from builds where org_id = @org_id and id = @id for update;

-- name: AddBuild :one
insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, source_digest, reason, trace)
values (@org_id, @id, @component_id, @input_id,
    (select coalesce(max(b.number), 0) + 1 from builds b where b.org_id = @org_id and b.component_id = @component_id),
    'queued', @repository, @commit, @source_digest, @reason, @trace)
returning *;

-- name: SetBuildJob :execrows
update builds set job_id = @job_id where org_id = @org_id and id = @id and status = 'queued' and job_id is null;

-- name: SetBuildRunning :execrows
update builds set status = 'running'
where org_id = @org_id and id = @id and job_id = @job_id and status in ('queued', 'running');

-- name: EndBuild :execrows
update builds set status = @status, artifact_digest = @artifact_digest, artifact_bytes = @artifact_bytes, error = @error, ended_at = now()
where org_id = @org_id and id = @id and job_id = @job_id and status in ('queued', 'running');

-- The org's build runner with the least to do for its capacity, of those that are there if any is: one that never registered, or is gone,
-- must not get every build for ever.
-- name: BuildRunner :one
select r.* from runners r where r.org_id = @org_id and r.kind = 'build'
order by coalesce(r.last_seen > now() - make_interval(secs => @online_seconds::float8), false) desc, r.key_hash is not null desc,
    (select count(*) from jobs j where j.org_id = r.org_id and j.kind = 'build' and j.runner_id = r.id and j.ended_at is null)::float8 / greatest(r.capacity, 1),
    r.created_at, r.id
limit 1;

-- Apps of which a build waits for a runner to be there at all.
-- name: AppsWithBuildsWithoutJob :many
select distinct c.app_id from builds b join components c on c.org_id = b.org_id and c.id = b.component_id
where b.org_id = @org_id and b.status = 'queued' and b.job_id is null order by c.app_id;

-- name: BuildsOfComponent :many
select * from builds where org_id = @org_id and component_id = @component_id order by number;
