-- The desired state of each component of an install, and whether it is behind (package rollout). All is read and
-- written under the lock of the install's row.

-- name: RunnersByID :many
select * from runners where org_id = @org_id and id = any(@ids::text[]);

-- name: ComponentsForRollout :many
select * from components where org_id = @org_id and app_id = @app_id order by kind <> 'sandbox', name;

-- ReleaseForRollout returns the app for an install in one statement: with the release that it is pinned to (pin),
-- else the newest complete one, else the newest. Its components are those that the app has or ever had, each with the
-- build that counts for its input. Those that the release does not have are not declared (rollout.releaseComponent).
-- The config of the release known is null.
-- name: ReleaseForRollout :one
select sqlc.embed(a), coalesce(r.id, '')::text as release_id, coalesce(r.number, 0)::int as number, coalesce(r.status, '')::text as status,
    coalesce(r.reason, '')::text as reason, coalesce(r.partial, false)::bool as partial, coalesce(r.commits, '[]')::jsonb as commits,
    coalesce(v.id, '')::text as version_id, coalesce(rev.trace, '')::text as config_trace, v.created_at as version_at, (case when r.id = @known::text then 'null' else coalesce(r.config, v.config, 'null') end)::jsonb as config,
    coalesce(n.number, 0)::int as newest, coalesce(n.status, '')::text as newest_status, coalesce(n.reason, '')::text as newest_reason,
    coalesce((select max(f.number) from releases f where f.org_id = a.org_id and f.app_id = a.id and f.status = 'complete'), n.number, 0)::int as latest,
    coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'name', c.name, 'kind', c.kind, 'declared', rc.release_id is not null,
            'problem', coalesce(rc.problem, ''), 'build', b.number, 'variables', coalesce(ci.variables, '[]'), 'build_id', coalesce(b.id, ''), 'commit', coalesce(b.commit, ''), 'status', b.status, 'artifact', b.artifact_digest, 'bytes', b.artifact_bytes, 'error', b.error, 'reason', b.reason,
            'created_at', b.created_at, 'trace', b.trace)
            order by c.kind <> 'sandbox', c.name)
        from components c
        left join release_components rc on rc.org_id = c.org_id and rc.component_id = c.id and rc.release_id = r.id
        left join component_inputs ci on ci.org_id = rc.org_id and ci.id = rc.input_id and c.kind = 'sandbox'
        left join lateral (select * from builds i where i.org_id = rc.org_id and i.input_id = rc.input_id
            order by i.status <> 'failed' desc, i.number desc limit 1) b on true
        where c.org_id = a.org_id and c.app_id = a.id), '[]')::jsonb as components
from apps a
left join releases n on n.org_id = a.org_id and n.app_id = a.id
    and n.number = (select max(m.number) from releases m where m.org_id = a.org_id and m.app_id = a.id)
left join releases r on r.org_id = a.org_id and r.app_id = a.id and (case when @pin::text <> '' then r.id = @pin else r.number = coalesce(
    (select max(f.number) from releases f where f.org_id = a.org_id and f.app_id = a.id and f.status = 'complete'), n.number) end)
left join app_versions v on v.org_id = r.org_id and v.id = r.version_id
left join revisions rev on rev.org_id = v.org_id and rev.id = v.revision_id
where a.org_id = @org_id and a.id = @app_id;

-- name: ListInstallComponents :many
select * from install_components where org_id = @org_id and install_id = @install_id order by name;

-- name: AddInstallComponents :exec
insert into install_components (org_id, id, install_id, component_id, name)
select @org_id, unnest(@ids::text[]), @install_id, unnest(@component_ids::text[]), unnest(@names::text[])
on conflict (org_id, install_id, component_id) do nothing;

-- SetDesiredStates stores the desired states of components, and that their installs changed.
-- name: SetDesiredStates :exec
with written as (
update install_components ic set desired_presence = d.presence, desired_digest = d.digest, desired_reason = d.reason, waits_for = d.waits, behind = d.behind,
    disabled_by = d.disabled_by, unsatisfiable = d.unsatisfiable, stalled = d.stalled
from (select unnest(@ids::text[]) as id, unnest(@presences::text[]) as presence, unnest(@digests::text[]) as digest,
    unnest(@reasons::text[]) as reason, unnest(@waits::text[]) as waits, unnest(@behind::bool[]) as behind, unnest(@disabled_by::text[]) as disabled_by,
    unnest(@unsatisfiable::bool[]) as unsatisfiable, unnest(@stalled::bool[]) as stalled) d
where ic.org_id = @org_id and ic.id = d.id returning ic.install_id)
update installs i set changed = 0 -- the trigger writes it
where i.org_id = @org_id and i.id in (select w.install_id from written w);

-- MarkTornDown keeps components absent until a deploy of them is requested.
-- name: MarkTornDown :exec
update install_components set torn_down = true, torn_down_reason = @reason
where org_id = @org_id and install_id = @install_id and name = any(@names::text[]);

-- name: ClearTornDown :exec
update install_components set torn_down = false, torn_down_reason = ''
where org_id = @org_id and install_id = @install_id and name = any(@names::text[]) and torn_down;

-- AbandonComponent deletes what is known of the objects of a component.
-- name: AbandonComponent :execrows
update install_components set applied_digest = '', applied_artifact = '', applied_release_id = null, applied_config = null,
    applied_values = null, applied_inventory = null, applied_cluster = null, applied_at = null, health = null, abandoned = @reason
where org_id = @org_id and id = @id;

-- MarkAppliedUnknown records that it is unknown what is applied of a component.
-- name: MarkAppliedUnknown :exec
update install_components set applied_digest = '' where org_id = @org_id and id = @id;

-- The parts of a snapshot of installs, one query each.

-- ComponentsOfInstalls returns the components of installs, each with the state versions that wait for a person, the
-- rejections, and whether a runner applies it now, as long as its lease is valid.
-- name: ComponentsOfInstalls :many
select sqlc.embed(ic),
    case when ic.applied_artifact <> '' and ic.applied_digest = '' then exists (
        select 1 from jobs j
        join attempts a on a.org_id = j.org_id and a.job_id = j.id and a.number = j.attempt
        join steps s on s.org_id = j.org_id and s.id = j.owner_id
        where j.org_id = ic.org_id and j.kind = 'apply' and j.ended_at is null and a.status = 'running' and s.install_component_id = ic.id)
    else false end::boolean as applying,
    coalesce((select jsonb_agg(jsonb_build_object('version', s.version, 'status', s.status, 'reason', s.reason) order by s.version)
        from states s where s.org_id = ic.org_id and s.install_component_id = ic.id and s.status in ('contested', 'withheld')), '[]')::jsonb as contested,
    coalesce((select jsonb_agg(jsonb_build_object('desired', r.desired_digest, 'kind', r.kind, 'actor', r.actor, 'reason', r.reason, 'workflow', r.workflow_id, 'at', r.at))
        from rejections r where r.org_id = ic.org_id and r.install_component_id = ic.id), '[]')::jsonb as rejections
from install_components ic where ic.org_id = @org_id and ic.install_id = any(@install_ids::text[]) order by ic.install_id, ic.name;

-- name: InputsOfInstalls :many
select * from install_inputs where org_id = @org_id and install_id = any(@install_ids::text[]) order by install_id, name;

-- name: OutputsOfInstalls :many
select * from outputs where org_id = @org_id and install_id = any(@install_ids::text[]) order by install_id, scope, owner, name;

-- ValuesOfInstalls returns, by scope: the inputs of installs (input), the variables of their app (variable), their
-- outputs, how the latest run of each action ended (run), the newest version of the outputs of their stack as one
-- value, with the version of that stack as its name (stack), the newest version of the stack (stack_version), what
-- the runner reported of the customer's secrets, with the digest of its job as the name (secrets), and the open
-- requests for break-glass roles (break_glass).
-- name: ValuesOfInstalls :many
select o.install_id, o.scope, o.owner, o.name, o.value, o.sealed, o.hash from outputs o
where o.org_id = @org_id and o.install_id = any(@install_ids::text[])
union all
select i.install_id, 'input', '', i.name, to_jsonb(i.value), i.sealed, i.hash from install_inputs i
where i.org_id = @org_id and i.install_id = any(@install_ids::text[])
union all
select a.install_id, 'run', a.action, '', jsonb_build_object('id', a.workflow_id, 'status', a.status), null, '' from action_runs a
where a.org_id = @org_id and a.install_id = any(@install_ids::text[])
union all
select i.id, 'variable', '', v.name, to_jsonb(v.value), v.sealed, v.hash from installs i
join app_variables v on v.org_id = i.org_id and v.app_id = i.app_id
where i.org_id = @org_id and i.id = any(@install_ids::text[])
union all
select n.install_id, 'stack', '', n.stack_version, n.outputs, null, '' from unnest(@install_ids::text[]) as x(id)
cross join lateral (
    select * from stack_outputs so where so.org_id = @org_id and so.install_id = x.id order by so.version desc limit 1) n
union all
select v.install_id, 'stack_version', '', '', jsonb_build_object('version', v.version, 'digest', v.digest), null, ''
from unnest(@install_ids::text[]) as x(id)
cross join lateral (
    select * from stack_versions sv where sv.org_id = @org_id and sv.install_id = x.id order by sv.version desc limit 1) v
union all
select c.install_id, 'secrets', '', c.digest, c.secrets, null, '' from install_secrets c
where c.org_id = @org_id and c.install_id = any(@install_ids::text[])
union all
select b.install_id, 'break_glass', b.role, '', 'null', null, '' from break_glass_requests b
where b.org_id = @org_id and b.install_id = any(@install_ids::text[]) and b.revoked_at is null and b.until > now()
order by 1, 2, 3, 4;

-- RunnersOfInstalls returns runners with their org.
-- name: RunnersOfInstalls :many
select sqlc.embed(r), sqlc.embed(o) from runners r join orgs o on o.id = r.org_id where r.org_id = @org_id and r.id = any(@ids::text[]);

-- BusyOfInstalls is BusyComponents of several installs. It leaves out workflows that only plan, which change nothing.
-- name: BusyOfInstalls :many
select distinct w.install_id, w.id, w.number, w.kind, s.component from workflows w
join steps s on s.org_id = w.org_id and s.workflow_id = w.id
where w.org_id = @org_id and w.install_id = any(@install_ids::text[]) and w.status = 'running' and not w.plan_only
  and s.component <> '' and s.status in ('pending', 'running', 'waiting')
order by w.install_id, w.number, s.component;

-- name: WaitingOfInstalls :many
select a.install_id, a.id, a.kind, coalesce(p.component, '')::text as component, a.content_digest, a.subject, a.author, a.created_at
from approvals a left join plans p on p.org_id = a.org_id and p.id = a.plan_id
where a.org_id = @org_id and a.install_id = any(@install_ids::text[]) and a.status = 'waiting' order by a.created_at, a.id;

-- name: DeleteRejections :exec
delete from rejections r using install_components ic
where r.org_id = @org_id and ic.org_id = r.org_id and ic.id = r.install_component_id and ic.install_id = @install_id
  and (cardinality(@names::text[]) = 0 or ic.name = any(@names::text[]));

-- DeleteRejectionsOfWorkflow deletes the rejections of components that one workflow recorded.
-- name: DeleteRejectionsOfWorkflow :exec
delete from rejections r using install_components ic
where r.org_id = @org_id and r.workflow_id = @workflow_id and ic.org_id = r.org_id and ic.id = r.install_component_id and ic.name = any(@names::text[]);

-- DeleteRejection deletes the rejection of one desired state.
-- name: DeleteRejection :exec
delete from rejections where org_id = @org_id and install_component_id = @install_component_id and desired_digest = @desired_digest;

-- BusyComponents returns the components for which the running workflows of installs still have steps. A component
-- whose own steps have all ended is free, whatever else its workflow waits for. Workflows without components
-- (actions) are not in it.
-- name: BusyComponents :many
select distinct w.install_id, w.id, w.number, w.kind, s.component from workflows w
join steps s on s.org_id = w.org_id and s.workflow_id = w.id
where w.org_id = @org_id and w.install_id = any(@install_ids::text[]) and w.status = 'running'
  and s.component <> '' and s.status in ('pending', 'running', 'waiting')
order by w.install_id, w.number, s.component;

-- SetResolved records for which release the desired states of installs were computed, and whether the installs are
-- provisioned.
-- name: SetResolved :exec
update installs i set provisioned = d.provisioned, resolved_release_id = d.release
from (select unnest(@ids::text[]) as id, unnest(@provisioned::bool[]) as provisioned, unnest(@releases::text[]) as release) d
where i.org_id = @org_id and i.id = d.id;

-- AddDesiredBy records that a person changed the desired state of an install.
-- name: AddDesiredBy :exec
update installs set desired_by = array_append(desired_by, @by::text)
where org_id = @org_id and id = @id and not @by::text = any(desired_by);

-- ClearDesiredBy records that installs have reached their desired states.
-- name: ClearDesiredBy :exec
update installs set desired_by = '{}' where org_id = @org_id and id = any(@ids::text[]);

-- RunningWorkflowsOfInstalls returns the running workflows of installs, each with the components for which it still
-- has steps (BusyComponents).
-- name: RunningWorkflowsOfInstalls :many
select w.install_id, w.id, (array(select distinct s.component from steps s where s.org_id = w.org_id and s.workflow_id = w.id
    and s.component <> '' and s.status in ('pending', 'running', 'waiting')))::text[] as components
from workflows w where w.org_id = @org_id and w.install_id = any(@install_ids::text[]) and w.status = 'running' order by w.install_id, w.number;

-- InstallRanges splits the installs of an app into ranges of a maximum size.
-- name: InstallRanges :many
select min(id)::text as first, max(id)::text as last
from (select id, (row_number() over (order by id) - 1) / @size::int as part from installs where org_id = @org_id and app_id = @app_id) numbered
group by part order by part;

-- name: InstallsOfRange :many
select id from installs where org_id = @org_id and app_id = @app_id and id between @first and @last order by id;

-- LockInstallRange leaves out installs that another transaction has locked.
-- name: LockInstallRange :many
select * from installs where org_id = @org_id and app_id = @app_id and id between @first and @last order by id for update skip locked;

-- name: InstallForStatus :one
select * from installs where org_id = @org_id and id = @id;

-- ContestedStates returns the state versions of an install that wait for a person's decision.
-- name: ContestedStates :many
select s.install_component_id, s.version, s.status, s.reason from states s
join install_components ic on ic.org_id = s.org_id and ic.id = s.install_component_id
where s.org_id = @org_id and ic.install_id = @install_id and s.status in ('contested', 'withheld')
order by s.install_component_id, s.version;

-- StoredComponentsOfInstalls returns the components of installs with their stored desired states and the rejections
-- of exactly those, the sandbox first. It does not read what was applied, which may be large.
-- name: StoredComponentsOfInstalls :many
select ic.install_id, ic.id, ic.component_id, ic.name, ic.desired_presence, ic.desired_digest, ic.desired_reason, ic.waits_for, ic.behind, ic.disabled_by, ic.unsatisfiable, ic.stalled,
    ic.applied_digest, ic.applied_artifact, ic.health, ic.drift,
    case when ic.applied_artifact <> '' and ic.applied_digest = '' then exists (
        select 1 from jobs j
        join attempts a on a.org_id = j.org_id and a.job_id = j.id and a.number = j.attempt
        join steps s on s.org_id = j.org_id and s.id = j.owner_id
        where j.org_id = ic.org_id and j.kind = 'apply' and j.ended_at is null and a.status = 'running' and s.install_component_id = ic.id)
    else false end::boolean as applying,
    coalesce(r.kind, '')::text as rejection, coalesce(r.actor, '')::text as actor, coalesce(r.reason, '')::text as rejection_reason,
    exists (select 1 from states s where s.org_id = ic.org_id and s.install_component_id = ic.id and s.status in ('contested', 'withheld')) as contested
from install_components ic
left join rejections r on r.org_id = ic.org_id and r.install_component_id = ic.id and r.desired_digest = ic.desired_digest
where ic.org_id = @org_id and ic.install_id = any(@install_ids::text[])
order by ic.install_id, ic.name <> 'sandbox', ic.name;

-- ReleasesOfInstalls returns the release of each install, as ReleaseForRollout does, without its content.
-- name: ReleasesOfInstalls :many
select i.id as install_id, coalesce(r.id, '')::text as release_id, coalesce(r.number, 0)::int as number, coalesce(r.status, '')::text as status,
    coalesce(r.reason, '')::text as reason, coalesce(r.partial, false)::bool as partial, coalesce(r.commits, '[]')::jsonb as commits,
    coalesce(r.version_id, '')::text as version_id, coalesce(n.number, 0)::int as newest, coalesce(n.status, '')::text as newest_status,
    coalesce(n.reason, '')::text as newest_reason, coalesce(l.number, n.number, 0)::int as latest
from installs i
left join lateral (select * from releases m where m.org_id = i.org_id and m.app_id = i.app_id order by m.number desc limit 1) n on true
left join lateral (select * from releases f where f.org_id = i.org_id and f.app_id = i.app_id and f.status = 'complete' order by f.number desc limit 1) l on true
left join releases r on r.org_id = i.org_id and r.id = coalesce(i.pin_release_id, l.id, n.id)
where i.org_id = @org_id and i.id = any(@install_ids::text[]);
