-- What the control API reads to show, and the few records that only it writes.

-- name: ViewApp :one
select * from apps where org_id = @org_id and (id = @key or name = @key);

-- name: ViewApps :many
select * from apps where org_id = @org_id and name > @after order by name limit @most;

-- name: ViewRevision :one
select r.*, w.url, w.ref from revisions r join watches w on w.org_id = r.org_id and w.id = r.watch_id
where r.org_id = @org_id and r.id = @id;

-- name: ViewAppVersion :one
select v.*, coalesce(r.commit, '') as commit from app_versions v
left join revisions r on r.org_id = v.org_id and r.id = v.revision_id
where v.org_id = @org_id and v.id = @id;

-- name: ViewAppVersions :many
select v.*, coalesce(r.commit, '') as commit from app_versions v
left join revisions r on r.org_id = v.org_id and r.id = v.revision_id
where v.org_id = @org_id and v.app_id = @app_id and v.number < @before order by v.number desc limit @most;

-- name: ViewComponents :many
select * from components where org_id = @org_id and app_id = @app_id and present order by kind <> 'sandbox', name;

-- ViewNewestBuilds gives the newest build of the current input of each present component.
-- name: ViewNewestBuilds :many
select distinct on (b.component_id) sqlc.embed(b), c.name as component, i.digest as input_digest
from components c
join builds b on b.org_id = c.org_id and b.component_id = c.id and b.input_id = c.input_id
join component_inputs i on i.org_id = b.org_id and i.id = b.input_id
where c.org_id = @org_id and c.app_id = @app_id and c.present
order by b.component_id, b.number desc;

-- name: ViewBuilds :many
select sqlc.embed(b), c.name as component, i.digest as input_digest
from builds b
join components c on c.org_id = b.org_id and c.id = b.component_id
join component_inputs i on i.org_id = b.org_id and i.id = b.input_id
where b.org_id = @org_id and c.app_id = @app_id and (@component::text = '' or c.name = @component or c.id = @component)
  and b.id < @before
order by b.id desc limit @most;

-- name: ViewBuild :one
select sqlc.embed(b), c.name as component, c.app_id, i.digest as input_digest
from builds b
join components c on c.org_id = b.org_id and c.id = b.component_id
join component_inputs i on i.org_id = b.org_id and i.id = b.input_id
where b.org_id = @org_id and b.id = @id;

-- ViewInstall takes an id, a name that one app has, or app/name. The name is asked for by itself, so that an index can find it.
-- name: ViewInstall :many
select sqlc.embed(i), a.name as app from installs i join apps a on a.org_id = i.org_id and a.id = i.app_id
where i.org_id = @org_id
  and (i.id = @key or i.name = @key or i.name = split_part(@key, '/', 2) and a.name || '/' || i.name = @key) limit 2;

-- name: ViewInstalls :many
select sqlc.embed(i), a.name as app from installs i join apps a on a.org_id = i.org_id and a.id = i.app_id
where i.org_id = @org_id and (@app::text = '' or a.name = @app or a.id = @app) and i.id > @after
order by i.id limit @most;

-- name: ViewInstallInputs :many
select * from install_inputs where org_id = @org_id and install_id = @install_id order by name;

-- name: AddInstall :one
insert into installs (org_id, id, app_id, name, runner_id, approval, allow_destroy)
values (@org_id, @id, @app_id, @name, @runner_id, @approval, @allow_destroy) returning *;

-- name: ChangeInstall :exec
update installs set approval = @approval, allow_destroy = @allow_destroy where org_id = @org_id and id = @id;

-- name: WantInstall :exec
update installs set wanted = @wanted where org_id = @org_id and id = @id;

-- name: DropInstall :exec
delete from installs where org_id = @org_id and id = @id;

-- name: PutInstallInput :exec
insert into install_inputs (org_id, install_id, name, value, sealed, hash)
values (@org_id, @install_id, @name, @value, @sealed, @hash)
on conflict (org_id, install_id, name)
do update set value = excluded.value, sealed = excluded.sealed, hash = excluded.hash, updated_at = now();

-- name: InstallsOfRunner :many
select id from installs where org_id = @org_id and runner_id = @runner_id order by id;

-- ViewInputsToReseal are the sensitive inputs on a runner's installs that are sealed to another key than its own.
-- name: ViewInputsToReseal :many
select ii.* from install_inputs ii join installs i on i.org_id = ii.org_id and i.id = ii.install_id
where ii.org_id = @org_id and i.runner_id = @runner_id and ii.sealed is not null and ii.sealed->>'key_id' = @key_id::text;

-- ViewWorkflows: the newest first.
-- name: ViewWorkflows :many
select sqlc.embed(w), i.name as install, a.name as app from workflows w
join installs i on i.org_id = w.org_id and i.id = w.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
where w.org_id = @org_id and (@install_id::text = '' or w.install_id = @install_id)
  and (@status::text = '' or w.status = @status) and w.id < @before
order by w.id desc limit @most;

-- name: ViewWorkflow :one
select sqlc.embed(w), i.name as install, a.name as app from workflows w
join installs i on i.org_id = w.org_id and i.id = w.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
where w.org_id = @org_id and w.id = @id;

-- name: ViewSteps :many
select sqlc.embed(s), coalesce(ap.id, '') as approval from steps s
left join approvals ap on ap.org_id = s.org_id and ap.plan_id = s.plan_id
where s.org_id = @org_id and s.workflow_id = any(@workflow_ids::text[]) order by s.workflow_id, s.position;

-- name: ViewApprovals :many
select sqlc.embed(ap), sqlc.embed(p), i.name as install, a.name as app, coalesce((p.target->'restore'->>'version')::int, 0)::int as restore,
    (case w.kind when 'restore' then w.reason else coalesce(ic.desired_reason, '') end)::text as because
from approvals ap
join plans p on p.org_id = ap.org_id and p.id = ap.plan_id
join workflows w on w.org_id = p.org_id and w.id = p.workflow_id
join installs i on i.org_id = ap.org_id and i.id = ap.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
join install_components ic on ic.org_id = p.org_id and ic.id = p.install_component_id
where ap.org_id = @org_id and ap.status = @status
  and (@install_id::text = '' or ap.install_id = @install_id) and ap.id > @after
order by ap.id limit @most;

-- name: ViewApproval :one
select sqlc.embed(ap), sqlc.embed(p), i.name as install, a.name as app, coalesce((p.target->'restore'->>'version')::int, 0)::int as restore,
    (case w.kind when 'restore' then w.reason else coalesce(ic.desired_reason, '') end)::text as because
from approvals ap
join plans p on p.org_id = ap.org_id and p.id = ap.plan_id
join workflows w on w.org_id = p.org_id and w.id = p.workflow_id
join installs i on i.org_id = ap.org_id and i.id = ap.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
join install_components ic on ic.org_id = p.org_id and ic.id = p.install_component_id
where ap.org_id = @org_id and ap.id = @id;

-- name: ViewResponses :many
select * from approval_responses where org_id = @org_id and approval_id = any(@approval_ids::text[]);

-- name: ViewPlan :one
select * from plans where org_id = @org_id and id = @id;

-- name: ViewInstallComponents :many
select sqlc.embed(ic), c.kind from install_components ic
join components c on c.org_id = ic.org_id and c.id = ic.component_id
where ic.org_id = @org_id and ic.install_id = @install_id order by c.kind <> 'sandbox', ic.name;

-- name: ViewRunner :one
select * from runners where org_id = @org_id and (id = @key or name = @key);

-- name: ViewRunners :many
select * from runners where org_id = @org_id order by name;

-- name: ViewSharedRunners :many
select * from runners where org_id = @org_id and kind = 'install' and shared order by created_at;

-- name: ViewJobs :many
select sqlc.embed(j), sqlc.embed(r) from jobs j join runners r on r.org_id = j.org_id and r.id = j.runner_id
where j.org_id = @org_id and j.id = any(@ids::text[]);

-- name: AddCredential :one
insert into credentials (org_id, id, name, username, sealed) values (@org_id, @id, @name, @username, @sealed) returning *;

-- name: ViewCredential :one
select * from credentials where org_id = @org_id and (id = @key or name = @key);

-- name: ViewCredentials :many
select * from credentials where org_id = @org_id order by name;

-- name: AddWebhook :exec
insert into webhooks (org_id, id, sealed) values (@org_id, @id, @sealed);

-- An answer is given again for a week; whoever repeats a create does so within minutes.
-- name: ForgetAnswers :exec
delete from idempotency_keys where org_id = @org_id and created_at < now() - interval '7 days';

-- name: RememberAnswer :exec
insert into idempotency_keys (org_id, key, request, response) values (@org_id, @key, @request, @response);

-- name: RememberedAnswer :one
select * from idempotency_keys where org_id = @org_id and key = @key;

-- BuildOfArtifact is the build that made what a plan was made from.
-- name: BuildOfArtifact :one
select id from builds where org_id = @org_id and component_id = @component_id and artifact_digest = @artifact and status = 'succeeded'
order by number limit 1;

-- name: AddApp :one
insert into apps (org_id, id, name, watch_id, directory) values (@org_id, @id, @name, @watch_id, @directory) returning *;

-- BuildWanted is the newest build of a component's current input.
-- name: BuildWanted :one
select b.id from builds b join components c on c.org_id = b.org_id and c.id = b.component_id and c.input_id = b.input_id
where b.org_id = @org_id and c.id = @component_id order by b.number desc limit 1;
