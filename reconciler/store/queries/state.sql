-- Terraform states, sealed by the runners, and their locks. A transaction that writes any of them locks the row of the
-- install first (LockInstallOfJob).

-- NewestState returns the newest version that counts. Contested and dismissed versions do not.
-- name: NewestState :one
select * from states where org_id = @org_id and install_component_id = @install_component_id and status = 'kept'
order by version desc limit 1;

-- name: StateOfVersion :one
select * from states where org_id = @org_id and install_component_id = @install_component_id and version = @version and sealed is not null;

-- KnownState returns how a state that is delivered again was stored, and whether its bytes were.
-- name: KnownState :one
select version, status, (sealed is not null)::bool as here from states
where org_id = @org_id and install_component_id = @install_component_id and serial = @serial and lineage = @lineage and digest = @digest
order by version desc limit 1;

-- InsertState stores a state under the next number, whatever the status of earlier versions.
-- name: InsertState :one
insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, key_id, bytes, job_id, attempt, status, reason)
select @org_id::text, @install_component_id::text, coalesce(max(version), 0) + 1, @serial::bigint, @lineage::text, @digest::text,
    @sealed::jsonb, @key_id::text, @bytes::int, @job_id::text, @attempt::int, @status::text, @reason::text
from states where org_id = @org_id and install_component_id = @install_component_id
returning version;

-- StateUsage counts the stored versions and bytes of an attempt, and of the whole install of its component. withheld
-- reports that a version of the attempt was withheld because of a limit, and contested that one is contested.
-- name: StateUsage :one
select count(*) filter (where s.sealed is not null) as versions,
    coalesce(sum(s.bytes) filter (where s.sealed is not null), 0)::bigint as bytes,
    count(*) filter (where s.sealed is not null and s.job_id = @job_id and s.attempt = @attempt::int) as attempt_versions,
    coalesce(sum(s.bytes) filter (where s.sealed is not null and s.job_id = @job_id and s.attempt = @attempt::int), 0)::bigint as attempt_bytes,
    coalesce(bool_or(s.status = 'withheld' and s.job_id = @job_id and s.attempt = @attempt::int), false)::bool as withheld,
    coalesce(bool_or(s.status = 'contested' and s.job_id = @job_id and s.attempt = @attempt::int), false)::bool as contested
from install_components me
join install_components ic on ic.org_id = me.org_id and ic.install_id = me.install_id
join states s on s.org_id = ic.org_id and s.install_component_id = ic.id
where me.org_id = @org_id and me.id = @install_component_id;

-- AttemptWroteState reports whether a state of an attempt is listed.
-- name: AttemptWroteState :one
select exists (select 1 from jobs j
    join install_components ic on ic.org_id = j.org_id and ic.install_id = j.install_id
    join states s on s.org_id = ic.org_id and s.install_component_id = ic.id
    where j.org_id = @org_id and j.id = @job_id and s.job_id = j.id and s.attempt = @attempt::int);

-- ReplaceableStates returns the versions that an attempt wrote before the one that it delivers, the oldest first.
-- Terraform saves a state many times while it applies, and each version contains the one before it. The last version
-- and the newest kept one are left out.
-- name: ReplaceableStates :many
select s.version, s.bytes from states s
where s.org_id = @org_id and s.install_component_id = @install_component_id and s.job_id = @job_id and s.attempt = @attempt
  and s.lineage = @lineage and s.serial < @serial and s.sealed is not null
  and s.version < (select max(n.version) from states n where n.org_id = s.org_id and n.install_component_id = s.install_component_id)
  and s.version <> coalesce((select max(n.version) from states n
      where n.org_id = s.org_id and n.install_component_id = s.install_component_id and n.status = 'kept'), 0)
order by s.serial, s.version;

-- SupersededStates returns the versions of an install that may be deleted early when a limit is reached, the oldest
-- first: dismissed ones, and kept ones except the newest of a component and its last @least versions. It returns none
-- while a person has requested to restore one, and never the last version, so that no number is used twice.
-- name: SupersededStates :many
select s.install_component_id, s.version, s.bytes
from install_components me
join install_components ic on ic.org_id = me.org_id and ic.install_id = me.install_id
join states s on s.org_id = ic.org_id and s.install_component_id = ic.id
cross join lateral (select max(n.version) as last, coalesce(max(n.version) filter (where n.status = 'kept'), 0) as newest
    from states n where n.org_id = s.org_id and n.install_component_id = s.install_component_id) of
where me.org_id = @org_id and me.id = @install_component_id and s.sealed is not null and s.version < of.last
  and (s.status = 'dismissed' or s.status = 'kept' and s.version < of.newest and s.version <= of.last - @least::int)
  and not exists (select 1 from workflows w where w.org_id = ic.org_id and w.install_id = ic.install_id and w.kind = 'restore' and w.status = 'running')
order by s.created_at, s.install_component_id, s.version;

-- RemoveState deletes one version to make room for another.
-- name: RemoveState :exec
delete from states where org_id = @org_id and install_component_id = @install_component_id and version = @version;

-- WithholdState records a version that exceeds a limit, without its bytes.
-- name: WithholdState :one
insert into states (org_id, install_component_id, version, serial, lineage, digest, key_id, bytes, job_id, attempt, status, reason)
select @org_id::text, @install_component_id::text, coalesce(max(version), 0) + 1, @serial::bigint, @lineage::text, @digest::text,
    @key_id::text, @bytes::int, @job_id::text, @attempt::int, 'withheld', @reason::text
from states where org_id = @org_id and install_component_id = @install_component_id
returning version;

-- FillState adds the bytes of a version that was dismissed before they arrived.
-- name: FillState :exec
update states set sealed = @sealed::jsonb
where org_id = @org_id and install_component_id = @install_component_id and version = @version and status = 'dismissed' and sealed is null;

-- DismissState changes no row if the version no longer waits for a person.
-- name: DismissState :execrows
update states set status = 'dismissed', reason = @reason, resolved_at = now()
where org_id = @org_id and install_component_id = @install_component_id and version = @version and status in ('contested', 'withheld');

-- DismissStates dismisses all versions of a component's state.
-- name: DismissStates :execrows
update states set status = 'dismissed', reason = @reason, resolved_at = now()
where org_id = @org_id and install_component_id = @install_component_id and status in ('kept', 'contested', 'withheld');

-- SetBaseVersion stores the version that an attempt started with.
-- name: SetBaseVersion :exec
update attempts set base_version = (select coalesce(max(s.version), 0)::int from states s
    where s.org_id = @org_id and s.install_component_id = @install_component_id and s.status = 'kept')
where attempts.org_id = @org_id and attempts.job_id = @job_id and attempts.number = @number;

-- ViewState returns one version without its sealed bytes. Workflow is that of its job.
-- name: ViewState :one
select s.version, s.status, s.reason, s.serial, s.lineage, s.digest, s.key_id, s.bytes, s.job_id, s.attempt, s.created_at,
    coalesce(t.workflow_id, '')::text as workflow_id
from states s
left join jobs j on j.org_id = s.org_id and j.id = s.job_id
left join steps t on t.org_id = j.org_id and t.id = j.owner_id and j.owner_kind = 'step'
where s.org_id = @org_id and s.install_component_id = @install_component_id and s.version = @version;

-- name: ViewStates :many
select s.version, s.status, s.reason, s.serial, s.lineage, s.digest, s.key_id, s.bytes, s.job_id, s.attempt, s.created_at,
    coalesce(t.workflow_id, '')::text as workflow_id
from states s
left join jobs j on j.org_id = s.org_id and j.id = s.job_id
left join steps t on t.org_id = j.org_id and t.id = j.owner_id and j.owner_kind = 'step'
where s.org_id = @org_id and s.install_component_id = @install_component_id and s.version < @before
order by s.version desc limit @most;

-- ViewStatesOfInstall returns the current versions: of each component the newest kept one, and those that wait for a
-- person.
-- name: ViewStatesOfInstall :many
select ic.name as component, s.version, s.status, s.reason, s.serial, s.lineage, s.digest, s.key_id, s.bytes, s.job_id, s.attempt,
    s.created_at, coalesce(t.workflow_id, '')::text as workflow_id
from install_components ic
join states s on s.org_id = ic.org_id and s.install_component_id = ic.id
left join jobs j on j.org_id = s.org_id and j.id = s.job_id
left join steps t on t.org_id = j.org_id and t.id = j.owner_id and j.owner_kind = 'step'
where ic.org_id = @org_id and ic.install_id = @install_id and (s.status in ('contested', 'withheld') or s.version = (
    select max(k.version) from states k where k.org_id = ic.org_id and k.install_component_id = ic.id and k.status = 'kept'))
order by ic.name, s.version desc;

-- name: TakeStateLock :execrows
insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt)
values (@org_id, @install_component_id, @lock_id, @info, @job_id, @attempt)
on conflict (org_id, install_component_id) do nothing;

-- HeldStateLock returns the lock, whether its attempt may still be running, and on which runner.
-- name: HeldStateLock :one
select sqlc.embed(l), coalesce(r.name, '')::text as runner,
    (coalesce(a.status in ('running', 'expired') and j.status = 'running' and j.attempt = a.number, false))::bool as live
from state_locks l
left join attempts a on a.org_id = l.org_id and a.job_id = l.job_id and a.number = l.attempt
left join jobs j on j.org_id = a.org_id and j.id = a.job_id
left join runners r on r.org_id = a.org_id and r.id = a.runner_id
where l.org_id = @org_id and l.install_component_id = @install_component_id
for update of l;

-- PassStateLock transfers a lock from the attempt that had it.
-- name: PassStateLock :execrows
update state_locks set lock_id = @lock_id, info = @info, job_id = @job_id, attempt = @attempt, locked_at = now()
where org_id = @org_id and install_component_id = @install_component_id
  and job_id = @from_job_id and attempt = @from_attempt;

-- name: FreeStateLocks :exec
delete from state_locks where org_id = @org_id and job_id = @job_id and attempt = @attempt;

-- ViewLocksOfInstall is HeldStateLock for all components of an install, and locks no rows.
-- name: ViewLocksOfInstall :many
select ic.name as component, sqlc.embed(l), coalesce(r.name, '')::text as runner,
    (coalesce(a.status in ('running', 'expired') and j.status = 'running' and j.attempt = a.number, false))::bool as live
from install_components ic
join state_locks l on l.org_id = ic.org_id and l.install_component_id = ic.id
left join attempts a on a.org_id = l.org_id and a.job_id = l.job_id and a.number = l.attempt
left join jobs j on j.org_id = a.org_id and j.id = a.job_id
left join runners r on r.org_id = a.org_id and r.id = a.runner_id
where ic.org_id = @org_id and ic.install_id = @install_id;

-- InstallComponentNamed returns a component of an install by its name.
-- name: InstallComponentNamed :one
select * from install_components where org_id = @org_id and install_id = @install_id and name = @name;
