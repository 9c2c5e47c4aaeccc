-- Workflows with their steps, plans, approvals and rejections, and what was applied (package workflow). What decisions
-- depend on is read under the lock of the workflow's install.

-- name: LockInstall :one
select * from installs where org_id = @org_id and id = @id for update;

-- name: FindWorkflow :one
select * from workflows where org_id = @org_id and id = @id;

-- name: RunningWorkflows :many
select * from workflows where org_id = @org_id and install_id = @install_id and status = 'running' order by number;

-- RunningAction returns the running workflows of an install that run an action, or will, because of the same event.
-- name: RunningAction :many
select w.number from workflows w join steps s on s.org_id = w.org_id and s.workflow_id = w.id
where w.org_id = @org_id and w.install_id = @install_id and w.status = 'running' and s.kind = 'action'
  and s.action = @action and s.trigger = @trigger and s.component = @component and s.status in ('pending', 'running', 'waiting')
order by w.number;

-- name: StepsOfWorkflow :many
select * from steps where org_id = @org_id and workflow_id = @workflow_id order by position;

-- name: FindStep :one
select sqlc.embed(s), w.install_id, w.cancelled, w.plan_only, w.status as workflow_status
from steps s join workflows w on w.org_id = s.org_id and w.id = s.workflow_id
where s.org_id = @org_id and s.id = @id;

-- CurrentPlans returns what a graph needs of the plans that its steps name, without the reports, which are large.
-- name: CurrentPlans :many
select s.id as step_id, p.id, p.status, p.reason, p.desired_digest, p.destructive, p.individual_approval, p.rejected_by,
       coalesce(p.target->>'problem', '')::text as problem,
       coalesce(a.id, '') as approval_id, coalesce(r.actor, '') as actor, coalesce(r.reason, '') as decision_reason, 
       (case when r.answer is distinct from 'approve' then '' when r.rule is null then 'person' when r.rule ->> 'workflow' is null then 'install'
        else 'workflow' end)::text as authority
from steps s
join plans p on p.org_id = s.org_id and p.id = s.plan_id
left join approvals a on a.org_id = p.org_id and a.plan_id = p.id
left join approval_responses r on r.org_id = a.org_id and r.approval_id = a.id
where s.org_id = @org_id and s.workflow_id = @workflow_id and s.kind = 'plan'
for update of p;

-- ComponentsWithFailedApply returns the components of a workflow with an apply that started and failed: something may
-- have been deployed.
-- name: ComponentsWithFailedApply :many
select distinct component from plans where org_id = @org_id and workflow_id = @workflow_id and status = 'failed';

-- CurrentJobs returns the newest job of each step of a workflow that has one. A sync that needed none has an empty id
-- and the status succeeded.
-- name: CurrentJobs :many
select s.id as step_id, coalesce(j.id, '')::text as id, coalesce(j.status, 'succeeded')::text as status, coalesce(j.cancel, false)::bool as cancel,
       coalesce(j.error, '')::text as error, coalesce(j.result->>'status', '')::text as result,
       coalesce(j.spec->'plan'->>'desired_digest', s.target->>'digest', '')::text as desired_digest,
       coalesce(s.target->>'problem', '')::text as problem, coalesce(s.target->>'stale', '')::text as stale,
       exists (select 1 from attempts a where a.org_id = j.org_id and a.job_id = j.id and a.status not in ('offered', 'withdrawn')) as started
from steps s left join jobs j on j.org_id = s.org_id and j.id = s.job_id
where s.org_id = @org_id and s.workflow_id = @workflow_id and (j.id is not null or s.kind = 'sync' and s.job_id is null and s.target is not null);

-- name: JobStatus :one
select status, cancel, error from jobs where org_id = @org_id and id = @id;

-- AddWorkflows adds workflows of any number of installs. nth numbers those of one install, from 1.
-- name: AddWorkflows :many
insert into workflows (org_id, id, install_id, number, kind, status, reason, requested_by, request, plan_only, release, trace)
select @org_id, n.id, n.install_id, n.nth + coalesce((select max(w.number) from workflows w where w.org_id = @org_id and w.install_id = n.install_id), 0),
    n.kind, 'running', n.reason, n.requested_by, n.request::jsonb, n.plan_only, n.release, n.trace
from (select unnest(@ids::text[]) as id, unnest(@install_ids::text[]) as install_id, unnest(@nth::int[]) as nth, unnest(@kinds::text[]) as kind,
    unnest(@reasons::text[]) as reason, unnest(@requested_by::text[]) as requested_by, unnest(@requests::text[]) as request,
    unnest(@plan_only::bool[]) as plan_only, unnest(@releases::int[]) as release, unnest(@traces::text[]) as trace) n
returning id, number;

-- AddSteps adds the steps of new workflows. Some have started, and syncs that need no job have ended.
-- name: AddSteps :exec
insert into steps (org_id, workflow_id, id, position, kind, component, action, trigger, destroy, needs, install_component_id, reason, tries,
    status, job_id, target, started_at, ended_at)
select @org_id, s.workflow_id, s.id, s.position, s.kind, s.component, s.action, s.trigger, s.destroy, s.needs::jsonb, nullif(s.install_component, ''),
    s.reason, s.tries, s.status, nullif(s.job_id, ''), nullif(s.target, '')::jsonb,
    case when s.status <> 'pending' then now() end, case when s.status = 'succeeded' then now() end
from (select unnest(@workflow_ids::text[]) as workflow_id, unnest(@ids::text[]) as id, unnest(@positions::int[]) as position, unnest(@kinds::text[]) as kind,
    unnest(@components::text[]) as component, unnest(@actions::text[]) as action, unnest(@triggers::text[]) as trigger, unnest(@destroys::bool[]) as destroy,
    unnest(@needs::text[]) as needs, unnest(@install_components::text[]) as install_component, unnest(@reasons::text[]) as reason,
    unnest(@tries::int[]) as tries, unnest(@statuses::text[]) as status, unnest(@job_ids::text[]) as job_id, unnest(@targets::text[]) as target) s;

-- name: SetStepStatus :execrows
update steps set status = @status, reason = @reason,
    started_at = case when @status in ('running', 'waiting') then coalesce(started_at, now()) else started_at end,
    ended_at = case when @status in ('succeeded', 'failed', 'skipped', 'cancelled') then now() end
where org_id = @org_id and id = @id and status = @was;

-- name: StartStep :execrows
update steps set status = 'running', reason = @reason, tries = @tries, job_id = @job_id, target = @target, started_at = now(), ended_at = null
where org_id = @org_id and id = @id and status = 'pending';

-- name: ResetStep :exec
update steps set status = 'pending', reason = @reason, skipped_by_person = false, rejected_by = '', tries = @tries, interruptions = @interruptions, job_id = null, plan_id = null, target = null,
    started_at = null, ended_at = null
where org_id = @org_id and id = @id;

-- MarkSkippedByPerson records that a person skipped a step.
-- name: MarkSkippedByPerson :execrows
update steps set skipped_by_person = true where org_id = @org_id and id = @id and status = 'skipped';

-- SetStepRejectedBy records who rejected the plan or the script of a step.
-- name: SetStepRejectedBy :execrows
update steps set rejected_by = @rejected_by where org_id = @org_id and id = @id and status = 'failed';

-- name: SetStepTarget :exec
update steps set target = @target where org_id = @org_id and id = @id;

-- LinkPlan makes a plan that of a component's steps plan, approve and apply.
-- name: LinkPlan :exec
update steps set plan_id = @plan_id::text
where org_id = @org_id and workflow_id = @workflow_id and component = @component and kind in ('plan', 'approve', 'apply');

-- DetachUnstartedApply detaches the approved plan from the job of an apply that has ended. Such a plan was not consumed, so
-- the job never started.
-- name: DetachUnstartedApply :execrows
update jobs set plan_id = null
where jobs.org_id = @org_id and jobs.id = @job_id and jobs.kind = 'apply' and jobs.ended_at is not null
    and exists (select 1 from plans p where p.org_id = jobs.org_id and p.id = jobs.plan_id and p.status = 'approved');

-- name: AddPlan :exec
insert into plans (org_id, id, step_id, workflow_id, install_id, install_component_id, component, destroy, status, reason, desired_digest,
    basis, basis_digest, bundle_digest, report, report_digest, group_digest, content_digest, destructive,
    individual_approval, rejected_by, target)
values (@org_id, @id, @step_id, @workflow_id, @install_id, @install_component_id, @component, @destroy, @status, @reason, @desired_digest,
    @basis, @basis_digest, @bundle_digest, @report, @report_digest, @group_digest, @content_digest, @destructive,
    @individual_approval, @rejected_by, @target);

-- LastPersonToReject returns who rejected the newest plan of a component for a desired digest that a person answered, or ''
-- if that person approved it or there is none. Answers by rules do not count.
-- name: LastPersonToReject :one
select coalesce((
    select case r.answer when 'reject' then r.actor else '' end
    from plans p
    join approvals a on a.org_id = p.org_id and a.plan_id = p.id
    join approval_responses r on r.org_id = a.org_id and r.approval_id = a.id
    where p.org_id = @org_id and p.install_component_id = @install_component_id and p.desired_digest = @desired_digest and r.rule is null
    order by r.at desc, r.id desc limit 1), '')::text as actor;

-- name: FindPlan :one
select id, step_id, workflow_id, install_id, install_component_id, component, destroy, destructive, individual_approval, rejected_by, status, desired_digest, basis,
    bundle_digest, report_digest, content_digest, group_digest, target
from plans where org_id = @org_id and id = @id for update;

-- PlanApproval returns how a plan was approved (workflow.Authority), and by whom.
-- name: PlanApproval :one
select (case when r.rule is null then 'person' when r.rule ->> 'workflow' is null then 'install' else 'workflow' end)::text as authority, r.actor
from approvals a join approval_responses r on r.org_id = a.org_id and r.approval_id = a.id
where a.org_id = @org_id and a.plan_id = @plan_id::text and a.status = 'approved';

-- SetWorkflowRule sets or removes an approver's rule for a running workflow.
-- name: SetWorkflowRule :execrows
update workflows set rule = sqlc.narg('rule'), revision = revision + 1 where org_id = @org_id and id = @id and status = 'running';

-- VoidWorkflowRules ends the approvers' rules for the running workflows of an install, and returns the workflows' ids.
-- name: VoidWorkflowRules :many
update workflows set rule = rule || jsonb_build_object('void', @why::text), revision = revision + 1
where org_id = @org_id and install_id = @install_id and status = 'running' and rule is not null and rule ->> 'void' is null
returning id;

-- RulesOfWorkflows returns, for workflows with an approver's rule, whether the approver's token may still answer
-- approvals of the app, whether the install forbids people to approve what they requested, and who changed its desired
-- state.
-- name: RulesOfWorkflows :many
select w.id, i.approvals_by_others, i.desired_by, exists (select from tokens t where t.org_id = w.org_id and t.id = w.rule ->> 'token'
        and t.role in ('approver', 'admin') and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
        and (t.app_id is null or t.app_id = i.app_id)) as may_approve
from workflows w join installs i on i.org_id = w.org_id and i.id = w.install_id
where w.org_id = @org_id and w.id = any(@ids::text[]) and w.rule is not null;

-- name: SetPlanStatus :execrows
update plans set status = @status, reason = @reason where org_id = @org_id and id = @id and status = @was;

-- name: ConsumePlan :execrows
update plans set status = 'consumed', consumed_at = now(), reason = 'its apply was accepted', target = @target
where org_id = @org_id and id = @id and status = 'approved' and consumed_at is null;

-- ReturnPlan makes a consumed plan approved again, because nothing of its apply ran.
-- name: ReturnPlan :execrows
update plans set status = 'approved', consumed_at = null, reason = @reason, target = @target
where org_id = @org_id and id = @id and status = 'consumed';

-- name: SetPlanTarget :exec
update plans set target = @target where org_id = @org_id and id = @id;

-- name: AddApproval :exec
insert into approvals (org_id, id, kind, plan_id, step_id, workflow_id, install_id, content_digest, status, reason, because, author, subject, report, group_digest,
    individual_approval, ended_at)
values (@org_id, @id, @kind, sqlc.narg('plan_id'), sqlc.narg('step_id'), sqlc.narg('workflow_id'), @install_id, @content_digest, @status::text, @reason,
    @because, @author, sqlc.narg('subject'), sqlc.narg('report'), @group_digest, @individual_approval,
    case when @status::text <> 'waiting' then now() end);

-- name: LockApproval :one
select sqlc.embed(a), coalesce(p.status, '')::text as plan_status, coalesce(p.component, '')::text as component,
    coalesce(p.content_digest, '')::text as plan_content, coalesce((p.totals ->> 'denied')::int, 0)::int as denied
from approvals a left join plans p on p.org_id = a.org_id and p.id = a.plan_id
where a.org_id = @org_id and a.id = @id for update of a;

-- name: AssignApproval :execrows
update approvals set assignee = @assignee, assigned_by = @assigned_by where org_id = @org_id and id = @id and status = 'waiting';

-- ScriptAnswers returns the answers of approvers about the scripts of an install.
-- name: ScriptAnswers :many
select digest, action, answer, reason, actor, at, approval_id from script_answers where org_id = @org_id and install_id = @install_id order by at, digest;

-- ApprovedScripts returns the scripts of each action of an install that were approved last.
-- name: ApprovedScripts :many
select distinct on (action) action, digest, content from script_answers
where org_id = @org_id and install_id = @install_id and answer = 'approve' order by action, at desc, digest;

-- name: PutScriptAnswer :exec
insert into script_answers (org_id, install_id, digest, action, answer, content, reason, actor, approval_id)
values (@org_id, @install_id, @digest, @action, @answer, @content, @reason, @actor, @approval_id)
on conflict (org_id, install_id, digest) do update set answer = excluded.answer, reason = excluded.reason, actor = excluded.actor,
    approval_id = excluded.approval_id, at = now();

-- WaitingScripts returns the open question about scripts of a workflow.
-- name: WaitingScripts :one
select id, subject from approvals where org_id = @org_id and workflow_id = @workflow_id::text and kind = 'scripts' and status = 'waiting';

-- NewestSettings returns the newest question about an install's settings.
-- name: NewestSettings :one
select * from approvals where org_id = @org_id and install_id = @install_id and kind = 'settings' order by id desc limit 1;

-- SetRule sets which plans of an install are approved automatically, who may approve the others, and who set it.
-- name: SetRule :exec
update installs set approval = @approval, allow_destroy = @allow_destroy, approvals_by_others = @approvals_by_others, rule = @rule
where org_id = @org_id and id = @id;

-- name: ApprovalInstall :one
select install_id from approvals where org_id = @org_id and id = @id;

-- name: EndApproval :execrows
update approvals set status = @status, reason = @reason, ended_at = now()
where org_id = @org_id and id = @id and status = 'waiting';

-- name: WithdrawApproval :exec
update approvals set status = 'withdrawn', reason = @reason, ended_at = coalesce(ended_at, now())
where org_id = @org_id and plan_id = @plan_id::text and status in ('waiting', 'approved');

-- name: AddResponse :exec
insert into approval_responses (org_id, id, approval_id, content_digest, answer, reason, actor, rule)
values (@org_id, @id, @approval_id, @content_digest, @answer, @reason, @actor, sqlc.narg('rule'));

-- RecordRejection stores the rejection of a desired state of a component. The rejection of a redeploy of what is
-- applied ends with its workflow, because it does not reject what is applied.
-- name: RecordRejection :exec
insert into rejections (org_id, install_component_id, desired_digest, kind, actor, reason, workflow_id)
select @org_id, @install_component_id::text, @desired_digest::text, @kind, @actor, @reason, @workflow_id
where not exists (select 1 from install_components c where c.org_id = @org_id and c.id = @install_component_id::text and c.applied_digest = @desired_digest::text)
on conflict (org_id, install_component_id, desired_digest)
do update set kind = excluded.kind, actor = excluded.actor, reason = excluded.reason, workflow_id = excluded.workflow_id, at = now();

-- name: FinishWorkflow :execrows
update workflows set status = @status, outcome = @outcome, ended_at = now() where org_id = @org_id and id = @id and status = 'running';

-- name: TouchWorkflow :exec
update workflows set revision = revision + 1 where org_id = @org_id and id = @id;

-- name: CancelWorkflow :execrows
update workflows set cancelled = true, request = request || @cancel::jsonb, revision = revision + 1
where org_id = @org_id and id = @id and status = 'running' and not cancelled;

-- name: InstallComponentByID :one
select * from install_components where org_id = @org_id and id = @id;

-- SetApplied stores what is applied or, with an empty digest and an artifact, what was being applied when the result
-- became unknown.
-- name: SetApplied :execrows
update install_components set applied_digest = @digest, applied_artifact = @artifact, applied_release_id = @release_id,
    applied_config = @config, applied_values = @values_read, applied_inventory = @inventory, applied_at = now(), abandoned = '', drift = null,
    health = case when @artifact::text = '' then null else health end,
    applied_cluster = case when @artifact::text = '' then null else applied_cluster end
where org_id = @org_id and id = @id;

-- SetCluster stores which cluster the runner applied to.
-- name: SetCluster :exec
update install_components set applied_cluster = @cluster where org_id = @org_id and id = @id and applied_artifact <> '';

-- SetHealth stores the health that a runner reported, unless a newer report is stored.
-- name: SetHealth :exec
update install_components set health = @health
where org_id = @org_id and id = @id and applied_artifact <> '' and coalesce((health ->> 'at')::timestamptz < @seen_at::timestamptz, true);

-- SetDrift stores what the newest plan found changed by others, or with null that it found nothing.
-- name: SetDrift :exec
update install_components set drift = @drift
where org_id = @org_id and id = @id and applied_artifact <> '' and drift is distinct from @drift;

-- name: DeleteOutputs :exec
delete from outputs where org_id = @org_id and install_id = @install_id and scope = @scope and owner = @owner;

-- name: PutOutput :exec
insert into outputs (org_id, install_id, scope, owner, name, value, sealed, hash)
values (@org_id, @install_id, @scope, @owner, @name, @value, @sealed, @hash);

-- PutActionRun stores how the latest run of an action ended.
-- name: PutActionRun :exec
insert into action_runs (org_id, install_id, action, workflow_id, status) values (@org_id, @install_id, @action, @workflow_id, @status)
on conflict (org_id, install_id, action)
do update set workflow_id = excluded.workflow_id, status = excluded.status, ended_at = now();

-- NewestStateSerial returns the serial of the state that the next plan would read.
-- name: NewestStateSerial :one
select serial, lineage from states where org_id = @org_id and install_component_id = @install_component_id and status = 'kept'
order by version desc limit 1;

-- StateToRestore returns one version of a state, and whether the next plan would read it.
-- name: StateToRestore :one
select s.digest, (s.status = 'kept' and not exists (select from states n where n.org_id = s.org_id
    and n.install_component_id = s.install_component_id and n.status = 'kept' and n.version > s.version))::bool as newest, (s.sealed is not null)::bool as here
from states s where s.org_id = @org_id and s.install_component_id = @install_component_id and s.version = @version;
