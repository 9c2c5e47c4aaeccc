-- What the control API shows, and the few records that only it writes.

-- ViewApp takes an id or a name. An id is never taken for a name.
-- name: ViewApp :one
select * from apps where org_id = @org_id and (id = @key or name = @key) order by id = @key desc limit 1;

-- name: ViewApps :many
select * from apps where org_id = @org_id and name > @after order by name limit @most;

-- name: ViewRevisions :many
select sqlc.embed(r), w.url, w.ref from revisions r join watches w on w.org_id = r.org_id and w.id = r.watch_id
where r.org_id = @org_id and r.id = any(@ids::text[]);

-- ViewAppVersions returns versions without their config, which may be large.
-- name: ViewAppVersions :many
select v.id, v.app_id, v.number, v.digest, v.revision_id, v.reason, v.created_at, coalesce(r.commit, '') as commit from app_versions v
left join revisions r on r.org_id = v.org_id and r.id = v.revision_id
where v.org_id = @org_id and v.id = any(@ids::text[]);

-- name: ViewVersionsOfApp :many
select v.id, v.app_id, v.number, v.digest, v.revision_id, v.reason, v.created_at, coalesce(r.commit, '') as commit from app_versions v
left join revisions r on r.org_id = v.org_id and r.id = v.revision_id
where v.org_id = @org_id and v.app_id = @app_id and v.number < @before order by v.number desc limit @most;

-- name: ViewReleases :many
select r.*, v.number as version from releases r join app_versions v on v.org_id = r.org_id and v.id = r.version_id
where r.org_id = @org_id and r.app_id = @app_id and r.number < @before order by r.number desc limit @most;

-- name: ViewRelease :one
select r.*, v.number as version from releases r join app_versions v on v.org_id = r.org_id and v.id = r.version_id
where r.org_id = @org_id and r.app_id = @app_id and r.number = @number;

-- ViewNewestReleases returns the newest release of each app.
-- name: ViewNewestReleases :many
select r.*, v.number as version from unnest(@app_ids::text[]) as a(id)
join releases r on r.org_id = @org_id and r.app_id = a.id
    and r.number = (select max(n.number) from releases n where n.org_id = r.org_id and n.app_id = r.app_id)
join app_versions v on v.org_id = r.org_id and v.id = r.version_id;

-- name: ViewComponents :many
select * from components where org_id = @org_id and app_id = @app_id and present order by kind <> 'sandbox', name;

-- ViewNewestBuilds returns the newest build of the current input of each present component.
-- name: ViewNewestBuilds :many
select distinct on (b.component_id) sqlc.embed(b), c.name as component, i.digest as input_digest
from components c
join builds b on b.org_id = c.org_id and b.component_id = c.id and b.input_id = c.input_id
join component_inputs i on i.org_id = b.org_id and i.id = b.input_id
where c.org_id = @org_id and c.app_id = @app_id and c.present
order by b.component_id, b.number desc;

-- ViewUnbuilt returns the present components of apps that cannot be built, or whose current input has no successful
-- build, each with the newest build of that input.
-- name: ViewUnbuilt :many
select c.app_id, c.name, c.problem, coalesce(b.id, '')::text as build_id, coalesce(b.number, 0)::int as number,
    coalesce(b.status, '')::text as status, coalesce(b.error, '')::text as error, b.ended_at
from components c
left join lateral (select n.id, n.number, n.status, n.error, n.ended_at from builds n
    where n.org_id = c.org_id and n.input_id = c.input_id and n.component_id = c.id order by n.number desc limit 1) b on true
where c.org_id = @org_id and c.app_id = any(@app_ids::text[]) and c.present and (c.problem <> '' or b.status <> 'succeeded')
order by c.app_id, c.kind <> 'sandbox', c.name;

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

-- ViewInstall finds an install by its id, a name that only one app has, or app/name. The install with that id comes
-- first. The name is a separate condition, so that an index can find it.
-- name: ViewInstall :many
select sqlc.embed(i), a.name as app from installs i join apps a on a.org_id = i.org_id and a.id = i.app_id
where i.org_id = @org_id
  and (i.id = @key or i.name = @key or i.name = split_part(@key, '/', 2) and a.name || '/' || i.name = @key)
order by i.id = @key desc limit 2;

-- ViewInstalls is ordered by app and name, and returns those after a place in that order. An install must have all
-- the labels.
-- name: ViewInstalls :many
select sqlc.embed(i), a.name as app from installs i join apps a on a.org_id = i.org_id and a.id = i.app_id
where i.org_id = @org_id and (@app_id::text = '' or a.id = @app_id) and (@runner_id::text = '' or i.runner_id = @runner_id)
  and i.labels @> @labels::jsonb and (a.name, i.name) > (@after_app::text, @after_name::text)
order by a.name, i.name limit @most;

-- ReadMark returns the mark for a later ChangedInstalls. Read it before the data that is compared.
-- name: ReadMark :one
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as mark;

-- ChangedInstalls returns the installs of an app that changed since a ReadMark, or whose workflows did. It ignores
-- future transactions, which a row that was restored from another database may name.
-- name: ChangedInstalls :many
select sqlc.embed(i), a.name as app from installs i join apps a on a.org_id = i.org_id and a.id = i.app_id
where i.org_id = @org_id and i.app_id = @app_id and i.id in (
    select n.id from installs n where n.org_id = @org_id and n.app_id = @app_id
      and n.changed >= @since and n.changed < (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
    union
    select w.install_id from workflows w where w.org_id = @org_id
      and w.changed >= @since and w.changed < (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint))
order by i.name;

-- LastWorkflows returns the newest workflow of each install.
-- name: LastWorkflows :many
select w.* from unnest(@install_ids::text[]) as i(id)
cross join lateral (
    select * from workflows w where w.org_id = @org_id and w.install_id = i.id order by w.number desc limit 1) w;

-- AddInstall adds an install that people manage, without labels, account, toggles and overrides unless they are set.
-- name: AddInstall :one
insert into installs (org_id, id, app_id, name, runner_id, approval, allow_destroy, approvals_by_others, rule, managed_by, labels, account, toggles, overrides)
values (@org_id, @id, @app_id, @name, @runner_id, @approval, @allow_destroy, @approvals_by_others, coalesce(sqlc.narg('rule')::jsonb, '{}'), coalesce(nullif(@managed_by::text, ''), 'manual'),
    coalesce(sqlc.narg('labels')::jsonb, '{}'), coalesce(sqlc.narg('account')::jsonb, '{}'), coalesce(sqlc.narg('toggles')::jsonb, '{}'),
    coalesce(sqlc.narg('overrides')::jsonb, '{}')) returning *;

-- name: ChangeInstall :exec
update installs set managed_by = @managed_by, labels = @labels, account = @account, toggles = @toggles, overrides = @overrides
where org_id = @org_id and id = @id;

-- name: PinInstall :exec
update installs set pin_release_id = @pin_release_id, pin_reason = @pin_reason, pinned_by = @pinned_by where org_id = @org_id and id = @id;

-- name: SetInstallPresence :exec
update installs set desired_presence = @presence where org_id = @org_id and id = @id;

-- name: DropInstall :exec
delete from installs where org_id = @org_id and id = @id;

-- name: PutInstallInput :exec
insert into install_inputs (org_id, install_id, name, value, sealed, hash)
values (@org_id, @install_id, @name, @value, @sealed, @hash)
on conflict (org_id, install_id, name)
do update set value = excluded.value, sealed = excluded.sealed, hash = excluded.hash, updated_at = now();

-- name: ViewAppVariables :many
select * from app_variables where org_id = @org_id and app_id = @app_id order by name;

-- name: PutAppVariable :exec
insert into app_variables (org_id, app_id, name, value, sealed, hash, updated_by)
values (@org_id, @app_id, @name, @value, @sealed, @hash, @updated_by)
on conflict (org_id, app_id, name)
do update set value = excluded.value, sealed = excluded.sealed, hash = excluded.hash, updated_by = excluded.updated_by, updated_at = now();

-- name: DropAppVariables :exec
delete from app_variables where org_id = @org_id and app_id = @app_id and name = any(@names::text[]);

-- CurrentStackOutputs returns the outputs of the newest version.
-- name: CurrentStackOutputs :one
select * from stack_outputs where org_id = @org_id and install_id = @install_id order by version desc limit 1;

-- name: ViewStackOutputs :one
select * from stack_outputs where org_id = @org_id and install_id = @install_id and version = @version;

-- ViewStackOutputVersions returns the newest versions first, without the outputs.
-- name: ViewStackOutputVersions :many
select version, source, stack_version, changed, actor, created_at from stack_outputs
where org_id = @org_id and install_id = @install_id and version < @before
order by version desc limit @most;

-- name: AddStackOutputs :one
insert into stack_outputs (org_id, install_id, version, source, stack_version, outputs, changed, actor)
values (@org_id, @install_id, @version, @source, @stack_version, @outputs, @changed, @actor) returning *;

-- PruneStackOutputs deletes the versions that the stack of an install reported, except the newest 50. Those that a
-- person made stay.
-- name: PruneStackOutputs :exec
select prune_stack_outputs(@org_id, @install_id);

-- name: ViewStackVersion :one
select * from stack_versions where org_id = @org_id and install_id = @install_id and version = @version;

-- ViewStackVersions returns the newest versions first, without the files.
-- name: ViewStackVersions :many
select version, digest, cloud, name, region, release, created_at from stack_versions
where org_id = @org_id and install_id = @install_id and version < @before
order by version desc limit @most;

-- name: AddStackVersion :one
insert into stack_versions (org_id, install_id, version, digest, cloud, name, region, files, findings, release)
values (@org_id, @install_id, @version, @digest, @cloud, @name, @region, @files, @findings, @release) returning *;

-- name: InstallsOfRunner :many
select id from installs where org_id = @org_id and runner_id = @runner_id order by id;

-- RunnerLoad returns how many installs a runner works for, and whether one of them requires approvals by others.
-- name: RunnerLoad :one
select count(*)::int as installs, coalesce(bool_or(approvals_by_others), false)::boolean as by_others
from installs where org_id = @org_id and runner_id = @runner_id;

-- ViewInputsToReseal returns the sensitive inputs of a runner's installs that are sealed to another key than its own.
-- name: ViewInputsToReseal :many
select ii.* from install_inputs ii join installs i on i.org_id = ii.org_id and i.id = ii.install_id
where ii.org_id = @org_id and i.runner_id = @runner_id and ii.sealed is not null and ii.sealed->>'key_id' = @key_id::text;

-- ViewWorkflows returns the newest workflows first.
-- name: ViewWorkflows :many
select sqlc.embed(w), i.name as install, a.name as app,
    coalesce(r.commits -> 0 ->> 'commit', r.commits -> 0 ->> 'upload', '')::text as commit from workflows w
join installs i on i.org_id = w.org_id and i.id = w.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
left join releases r on r.org_id = a.org_id and r.app_id = a.id and r.number = w.release
where w.org_id = @org_id and (@install_id::text = '' or w.install_id = @install_id)
  and (@status::text = '' or w.status = @status) and (@kind::text = '' or w.kind = @kind) and w.id < @before
order by w.id desc limit @most;

-- name: ViewWorkflow :one
select sqlc.embed(w), i.name as install, a.name as app,
    coalesce(r.commits -> 0 ->> 'commit', r.commits -> 0 ->> 'upload', '')::text as commit from workflows w
join installs i on i.org_id = w.org_id and i.id = w.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
left join releases r on r.org_id = a.org_id and r.app_id = a.id and r.number = w.release
where w.org_id = @org_id and w.id = @id;

-- name: ViewSteps :many
select sqlc.embed(s), coalesce(ap.id, '') as approval from steps s
left join approvals ap on ap.org_id = s.org_id and (ap.plan_id = s.plan_id
    or s.kind = 'action' and s.status = 'waiting' and ap.workflow_id = s.workflow_id and ap.kind = 'scripts' and ap.status = 'waiting')
where s.org_id = @org_id and s.workflow_id = any(@workflow_ids::text[]) order by s.workflow_id, s.position;

-- ViewApprovals returns the newest approvals first. A brief list leaves out the reports, which are by far the largest
-- part, and reads only those of plans that a policy denies, for the names of the policies.
-- name: ViewApprovals :many
select ap.id, ap.kind, ap.status, ap.install_id, ap.content_digest, ap.reason, ap.author, ap.created_at, ap.group_digest,
    coalesce(ap.plan_id, '')::text as plan, coalesce(ap.workflow_id, '')::text as workflow_id, coalesce(p.component, '')::text as component,
    coalesce(p.destructive, false)::bool as destructive, coalesce(p.destroy, false)::bool as destroy,
    ap.individual_approval,
    coalesce(p.totals, ap.report -> 'totals')::jsonb as totals, (case when not @brief::bool then coalesce(p.report, ap.report) end)::jsonb as report,
    (case when not @brief::bool and ap.plan_id is not null then ap.report end)::jsonb as scripts,
    (case when ap.kind <> 'settings' then coalesce(ap.subject, '[]') else '[]' end)::jsonb as subject,
    i.name as install, a.name as app, coalesce((p.target->'restore'->>'version')::int, 0)::int as restore,
    ap.because, ap.assignee, ap.assigned_by,
    (case when (p.totals ->> 'denied')::int > 0
        then jsonb_path_query_array(p.report, '$.policies[*] ? (@.result == "deny").policy') else '[]' end)::jsonb as denied_by
from approvals ap
join installs i on i.org_id = ap.org_id and i.id = ap.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
left join plans p on p.org_id = ap.org_id and p.id = ap.plan_id
where ap.org_id = @org_id and ap.status = @status
  and (@install_id::text = '' or ap.install_id = @install_id) and (@group_digest::text = '' or ap.group_digest = @group_digest)
  and (not @of_assignee::bool or ap.assignee = @assignee::text) and ap.id < @before
order by ap.id desc limit @most;

-- name: ViewApproval :one
select ap.id, ap.kind, ap.status, ap.install_id, ap.content_digest, ap.reason, ap.author, ap.created_at, ap.group_digest,
    coalesce(ap.plan_id, '')::text as plan, coalesce(ap.workflow_id, '')::text as workflow_id, coalesce(p.component, '')::text as component,
    coalesce(p.destructive, false)::bool as destructive, coalesce(p.destroy, false)::bool as destroy,
    ap.individual_approval,
    coalesce(p.totals, ap.report -> 'totals')::jsonb as totals, coalesce(p.report, ap.report)::jsonb as report,
    (case when ap.plan_id is not null then ap.report end)::jsonb as scripts,
    (case when ap.kind <> 'settings' then coalesce(ap.subject, '[]') else '[]' end)::jsonb as subject,
    i.name as install, a.name as app, coalesce((p.target->'restore'->>'version')::int, 0)::int as restore,
    ap.because, ap.assignee, ap.assigned_by,
    (case when (p.totals ->> 'denied')::int > 0
        then jsonb_path_query_array(p.report, '$.policies[*] ? (@.result == "deny").policy') else '[]' end)::jsonb as denied_by
from approvals ap
join installs i on i.org_id = ap.org_id and i.id = ap.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
left join plans p on p.org_id = ap.org_id and p.id = ap.plan_id
where ap.org_id = @org_id and ap.id = @id;

-- name: ViewResponses :many
select * from approval_responses where org_id = @org_id and approval_id = any(@approval_ids::text[]);

-- name: ViewPlan :one
select p.* from plans p join installs i on i.org_id = p.org_id and i.id = p.install_id where p.org_id = @org_id and p.id = @id;

-- ShowPlan returns a plan as people see it.
-- name: ShowPlan :one
select p.id, p.status, p.install_id, p.component, p.workflow_id, p.destroy, p.destructive, p.reason, p.report, p.created_at,
    i.name as install, a.name as app
from plans p join installs i on i.org_id = p.org_id and i.id = p.install_id join apps a on a.org_id = i.org_id and a.id = i.app_id
where p.org_id = @org_id and p.id = @id;

-- name: ViewInstallComponents :many
select sqlc.embed(ic), c.kind from install_components ic
join components c on c.org_id = ic.org_id and c.id = ic.component_id
where ic.org_id = @org_id and ic.install_id = @install_id order by c.kind <> 'sandbox', ic.name;

-- ViewRunner takes an id or a name. An id is never taken for a name.
-- name: ViewRunner :one
select * from runners where org_id = @org_id and (id = @key or name = @key) order by id = @key desc limit 1;

-- name: ViewRunners :many
select * from runners where org_id = @org_id and name > @after order by name limit @most;

-- name: ViewSharedRunners :many
select * from runners where org_id = @org_id and kind = 'install' and shared order by created_at;

-- name: ViewJobs :many
select sqlc.embed(j), sqlc.embed(r) from jobs j join runners r on r.org_id = j.org_id and r.id = j.runner_id
where j.org_id = @org_id and j.id = any(@ids::text[]);

-- name: AddCredential :one
insert into credentials (org_id, id, name, username, sealed, repositories, modules)
values (@org_id, @id, @name, @username, @sealed, coalesce(@repositories::text[], '{}'), coalesce(@modules::text[], '{}')) returning *;

-- name: SetCredentialRepositories :execrows
update credentials set repositories = @repositories where org_id = @org_id and id = @id;

-- MakeWatchesOfCredentialDue makes polls of everything that is read with a credential due now.
-- name: MakeWatchesOfCredentialDue :exec
update due d set at = least(d.at, now()) where d.org_id = @org_id and d.kind = 'watch'
and d.id in (select w.id from watches w where w.org_id = @org_id and w.credential_id = @credential_id);

-- name: ViewCredentials :many
select * from credentials where org_id = @org_id order by name;

-- name: AddWebhook :exec
insert into webhooks (org_id, id, sealed) values (@org_id, @id, @sealed);

-- RotateWebhook sets another secret of a webhook. The previous one is accepted for a number of seconds.
-- name: RotateWebhook :execrows
update webhooks set previous = sealed, previous_until = now() + make_interval(secs => @grace_seconds), sealed = @sealed, rotated_at = now() where org_id = @org_id and id = @id;

-- ForgetAnswers deletes responses to repeated requests after a week. Clients repeat a create within minutes.
-- name: ForgetAnswers :exec
delete from idempotency_keys where org_id = @org_id and created_at < now() - interval '7 days';

-- name: RememberAnswer :exec
insert into idempotency_keys (org_id, key, request, response) values (@org_id, @key, @request, @response);

-- name: RememberedAnswer :one
select * from idempotency_keys where org_id = @org_id and key = @key;

-- BuildOfArtifact returns the build whose artifact a plan was made from.
-- name: BuildOfArtifact :one
select id from builds where org_id = @org_id and component_id = @component_id and artifact_digest = @artifact and status = 'succeeded'
order by number limit 1;

-- name: AddApp :one
insert into apps (org_id, id, name, watch_id, directory) values (@org_id, @id, @name, @watch_id, @directory) returning *;

-- BuildWanted returns the newest build that an install's component uses in a release.
-- name: BuildWanted :one
select b.id from install_components ic
join release_components rc on rc.org_id = ic.org_id and rc.component_id = ic.component_id and rc.release_id = @release_id
join builds b on b.org_id = rc.org_id and b.input_id = rc.input_id
where ic.org_id = @org_id and ic.id = @install_component_id order by b.status <> 'failed' desc, b.number desc limit 1;
