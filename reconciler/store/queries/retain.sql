-- Deletion of expired data (package retention), by the database's clock. Each statement deletes at most @most rows of
-- one org, and none that a remaining row refers to.

-- ScheduleRetention makes the cleanup of each org due that has no due item yet; the cleanup itself sets when the next
-- one is due.
-- name: ScheduleRetention :exec
insert into due (org_id, kind, id, at) select id, 'org', id, now() + interval '1 hour' from orgs
on conflict (org_id, kind, id) do nothing;

-- OrgIDs returns all orgs, for a cleanup that a person requests.
-- name: OrgIDs :many
select id from orgs order by name;

-- RetainLogs deletes old log chunks. Those that arrived after the end of their job have their own time. The
-- transcripts of debug commands and shells stay as long as the audit log.
-- name: RetainLogs :execrows
delete from log_chunks c using (
    select c.org_id, c.job_id, c.attempt, c.seq
    from jobs j join log_chunks c on c.org_id = j.org_id and c.job_id = j.id
    where j.org_id = @org_id and j.kind not in ('debug_command', 'shell') and j.ended_at < now() - make_interval(secs => @age_seconds::float8) and c.at < now() - make_interval(secs => @age_seconds::float8) limit @most) gone
where c.org_id = gone.org_id and c.job_id = gone.job_id and c.attempt = gone.attempt and c.seq = gone.seq;

-- name: RetainRunnerLogs :execrows
delete from runner_logs d using (
    select l.org_id, l.runner_id, l.seq from runner_logs l where l.org_id = @org_id and l.at < now() - make_interval(secs => @age_seconds::float8) limit @most) gone
where d.org_id = gone.org_id and d.runner_id = gone.runner_id and d.seq = gone.seq;

-- RetainWorkflows deletes old workflows with their steps, plans, reports and answers. It leaves the newest of an
-- install, one with a plan that waits, runs or was the last to be applied to its component, one that a rejection
-- names, and one whose job has not ended.
-- name: RetainWorkflows :execrows
delete from workflows d where d.org_id = @org_id and d.id in (
    select w.id from workflows w
    where w.org_id = @org_id and w.ended_at < now() - make_interval(secs => @age_seconds::float8)
      and w.number < (select max(n.number) from workflows n where n.org_id = w.org_id and n.install_id = w.install_id)
      and not exists (select 1 from rejections r where r.org_id = w.org_id and r.workflow_id = w.id)
      and not exists (select 1 from plans p where p.org_id = w.org_id and p.workflow_id = w.id and (
          p.status in ('ready', 'approved', 'consumed')
          or (p.status = 'applied' and not exists (select 1 from plans n where n.org_id = p.org_id and n.install_component_id = p.install_component_id
              and n.status = 'applied' and n.created_at > p.created_at))))
      and not exists (select 1 from steps s join jobs j on j.org_id = s.org_id and j.owner_kind = 'step' and j.owner_id = s.id
          where s.org_id = w.org_id and s.workflow_id = w.id and j.ended_at is null)
    limit @most);

-- RetainJobs deletes old jobs with their attempts and the rest of their logs, once their purpose is deleted or has
-- ended. It leaves a job whose step or plan exists, and one that holds a lock or left a state that waits for a
-- person.
-- name: RetainJobs :execrows
with gone as (
    delete from jobs d where d.org_id = @org_id and d.id in (
        select j.id from jobs j
        where j.org_id = @org_id and j.kind not in ('debug_command', 'shell') and j.ended_at < now() - make_interval(secs => @age_seconds::float8)
          and (j.owner_kind = 'build' or not exists (select 1 from steps s where s.org_id = j.org_id and s.id = j.owner_id))
          and not exists (select 1 from plans p where p.org_id = j.org_id and p.id = j.plan_id)
          and not exists (select 1 from builds b where b.org_id = j.org_id and b.id = j.owner_id and b.status in ('queued', 'running'))
          and not exists (select 1 from state_locks l where l.org_id = j.org_id and l.job_id = j.id)
          and not exists (select 1 from states s where s.org_id = j.org_id and s.job_id = j.id and s.status in ('contested', 'withheld'))
        limit @most)
    returning d.id
), forgotten as (
    update builds b set job_id = null where b.org_id = @org_id and b.job_id in (select id from gone)
)
select id from gone;

-- RetainStates deletes old state versions. It leaves the newest kept version of a component, its last @least versions
-- and those that wait for a person, and all while a person has requested to restore one. The age of a resolved
-- version counts from its resolution.
-- name: RetainStates :execrows
delete from states d where d.org_id = @org_id and (d.install_component_id, d.version) in (
    select s.install_component_id, s.version from states s
    where s.org_id = @org_id and greatest(s.created_at, s.resolved_at) < now() - make_interval(secs => @age_seconds::float8) and s.status in ('kept', 'dismissed')
      and s.version <= (select max(n.version) from states n where n.org_id = s.org_id and n.install_component_id = s.install_component_id) - @least::int
      and s.version < (select max(n.version) from states n where n.org_id = s.org_id and n.install_component_id = s.install_component_id and n.status = 'kept')
      and not exists (select 1 from install_components ic join workflows w on w.org_id = ic.org_id and w.install_id = ic.install_id
          where ic.org_id = s.org_id and ic.id = s.install_component_id and w.kind = 'restore' and w.status = 'running')
    limit @most);

-- RetainRevisions deletes old revisions, except the newest of a watch and those that something was made from.
-- name: RetainRevisions :execrows
delete from revisions d where d.org_id = @org_id and d.id in (
    select r.id from revisions r
    where r.org_id = @org_id and r.observed_at < now() - make_interval(secs => @age_seconds::float8)
      and r.number < (select max(n.number) from revisions n where n.org_id = r.org_id and n.watch_id = r.watch_id)
      and not exists (select 1 from watches w where w.org_id = r.org_id and w.revision_id = r.id)
      and not exists (select 1 from apps a where a.org_id = r.org_id and a.revision_id = r.id)
      and not exists (select 1 from app_versions v where v.org_id = r.org_id and v.revision_id = r.id)
      and not exists (select 1 from component_inputs i where i.org_id = r.org_id and i.revision_id = r.id)
    limit @most);

-- name: RetainRegistrations :execrows
delete from registrations d where d.org_id = @org_id and d.id in (
    select r.id from registrations r where r.org_id = @org_id and least(r.used_at, r.expires_at) < now() - make_interval(secs => @age_seconds::float8) limit @most);

-- name: RetainIdempotencyKeys :execrows
delete from idempotency_keys d where d.org_id = @org_id and d.key in (
    select k.key from idempotency_keys k where k.org_id = @org_id and k.created_at < now() - make_interval(secs => @age_seconds::float8) limit @most);

-- name: RetainDeliveries :execrows
delete from webhook_deliveries d where d.org_id = @org_id and (d.webhook_id, d.delivery) in (
    select w.webhook_id, w.delivery from webhook_deliveries w where w.org_id = @org_id and w.received_at < now() - make_interval(secs => @age_seconds::float8) limit @most);
