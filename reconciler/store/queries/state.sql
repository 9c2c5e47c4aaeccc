-- Terraform states, sealed where they were made, and their locks.

-- name: NewestState :one
select * from states where org_id = @org_id and install_component_id = @install_component_id order by version desc limit 1;

-- name: HasState :one
select exists (select from states
    where org_id = @org_id and install_component_id = @install_component_id
      and serial = @serial and lineage = @lineage and digest = @digest);

-- name: InsertState :exec
insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, job_id, attempt)
values (@org_id, @install_component_id, @version, @serial, @lineage, @digest, @sealed, @job_id, @attempt);

-- name: TakeStateLock :execrows
insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt)
values (@org_id, @install_component_id, @lock_id, @info, @job_id, @attempt)
on conflict (org_id, install_component_id) do nothing;

-- HeldStateLock gives the lock, whether its attempt may still be at work, and on which runner.
-- name: HeldStateLock :one
select sqlc.embed(l), coalesce(r.name, '')::text as runner,
    (coalesce(a.status in ('running', 'expired') and j.status = 'running' and j.attempt = a.number, false))::bool as live
from state_locks l
left join attempts a on a.org_id = l.org_id and a.job_id = l.job_id and a.number = l.attempt
left join jobs j on j.org_id = a.org_id and j.id = a.job_id
left join runners r on r.org_id = a.org_id and r.id = a.runner_id
where l.org_id = @org_id and l.install_component_id = @install_component_id
for update of l;

-- PassStateLock takes a lock over from the attempt that had it.
-- name: PassStateLock :execrows
update state_locks set lock_id = @lock_id, info = @info, job_id = @job_id, attempt = @attempt, locked_at = now()
where org_id = @org_id and install_component_id = @install_component_id
  and job_id = @from_job_id and attempt = @from_attempt;

-- name: FreeStateLocks :exec
delete from state_locks where org_id = @org_id and job_id = @job_id and attempt = @attempt;
