-- Runners and their keys, jobs, attempts and leases. All times are the database's, so the clocks of replicas may differ.

-- name: InsertRunner :one
insert into runners (org_id, id, name, kind, shared) values (@org_id, @id, @name, @kind, @shared) returning *;

-- name: InsertRegistration :exec
insert into registrations (org_id, id, runner_id, hash, expires_at)
values (@org_id, @id, @runner_id, @hash, now() + make_interval(secs => @life_seconds::float8));

-- RunnerToRegister locks the runner that a registration token is for, before the token. Whatever voids tokens locks
-- them in that order.
-- name: RunnerToRegister :one
select sqlc.embed(r), (g.used_at is null)::bool as unused, g.used_for, (g.expires_at > now())::bool as fresh
from registrations g join runners r on r.org_id = g.org_id and r.id = g.runner_id
where g.org_id = @org_id and g.hash = @hash for no key update of r;

-- SetChallenge stores the nonce that the holder of a token has to decrypt. It replaces an earlier one.
-- name: SetChallenge :exec
update registrations set challenge = @challenge::bytea, challenge_for = @challenge_for
where org_id = @org_id and hash = @hash;

-- TakeChallenge returns the nonce that waits for an answer, once.
-- name: TakeChallenge :one
with taken as (
    select g.org_id, g.id, g.challenge, g.challenge_for from registrations g
    where g.org_id = @org_id and g.hash = @hash for update
)
update registrations r set challenge = null, challenge_for = '' from taken t where r.org_id = t.org_id and r.id = t.id
returning t.challenge, t.challenge_for;

-- UseRegistration marks a token as used by the machine with an install key. The second of two concurrent uses by two
-- machines changes no row.
-- name: UseRegistration :execrows
update registrations set used_at = now(), used_for = @used_for
where org_id = @org_id and hash = @hash and (used_at is null or (used_for <> '' and used_for = @used_for));

-- VoidRegistrations voids the tokens of a runner, those that were used, too: nobody may use them again.
-- name: VoidRegistrations :exec
update registrations set used_at = coalesce(used_at, now()), used_for = '', challenge = null, challenge_for = ''
where org_id = @org_id and runner_id = @runner_id;

-- LockRunner locks a runner against changes. Jobs can still be queued for it.
-- name: LockRunner :one
select * from runners where org_id = @org_id and id = @id for no key update;

-- name: SetRunnerKey :one
update runners set key_hash = @key_hash::bytea, next_key_hash = null, key_since = now(), registered_at = now(), recipient = @recipient,
    registered_by = @registered_by, identity = @identity, held = false, new_key = false, version = @version, capacity = @capacity, last_seen = now()
where org_id = @org_id and id = @id
returning *;

-- RunnerOfKey returns the runner with a key: the current one or, with next, the one that was requested to follow it.
-- name: RunnerOfKey :one
select name, kind, (next_key_hash is not distinct from @key_hash::bytea)::bool as next from runners
where org_id = @org_id and id = @id and (key_hash = @key_hash::bytea or next_key_hash = @key_hash::bytea);

-- HoldRunnerKey is RunnerOfKey with a shared lock, for work that must end before the key is voided.
-- name: HoldRunnerKey :one
select id from runners
where org_id = @org_id and id = @id and (key_hash = @key_hash::bytea or next_key_hash = @key_hash::bytea) for share;

-- AskRunnerKey stores a key that is to follow the current one. It replaces one that was requested earlier and never
-- used. The request shows that the current key has arrived.
-- name: AskRunnerKey :exec
update runners set next_key_hash = @key_hash::bytea, last_seen = now() where org_id = @org_id and id = @id;

-- PromoteRunnerKey makes the requested key the current one, once.
-- name: PromoteRunnerKey :execrows
update runners set key_hash = next_key_hash, next_key_hash = null, key_since = now()
where org_id = @org_id and id = @id and next_key_hash = @key_hash::bytea;

-- VoidRunner voids the keys of a runner, and deletes what it reported about itself and the claims of its machines.
-- name: VoidRunner :one
with forgotten as (
    delete from cloud_claims c using installs i
    where c.org_id = @org_id and c.purpose = 'runner' and i.org_id = c.org_id and i.id = c.install_id and i.runner_id = @id
)
update runners r set key_hash = null, next_key_hash = null, key_since = null, last_seen = null, policy = '{}', new_key = @new_key,
    registered_by = '', identity = '{}', held = true, recipient = case when @new_key::bool then '' else r.recipient end
where r.org_id = @org_id and r.id = @id
returning r.*;

-- AttemptsInHand returns the attempts that a runner was offered or runs, as far as known.
-- name: AttemptsInHand :many
select sqlc.embed(a), sqlc.embed(j), coalesce(i.name, '')::text as install
from attempts a
join jobs j on j.org_id = a.org_id and j.id = a.job_id
left join installs i on i.org_id = j.org_id and i.id = j.install_id
where a.org_id = @org_id and a.runner_id = @runner_id and a.status in ('offered', 'running', 'expired')
order by a.job_id, a.number;

-- LockInstallsInHand and LockJobsInHand lock, always in the same order, what AttemptsInHand returns.
-- name: LockInstallsInHand :exec
select i.id from installs i where i.org_id = @org_id and i.id in (
    select j.install_id from attempts a join jobs j on j.org_id = a.org_id and j.id = a.job_id
    where a.org_id = @org_id and a.runner_id = @runner_id and a.status in ('offered', 'running', 'expired'))
order by i.id for no key update;

-- name: LockJobsInHand :exec
select j.id from jobs j where j.org_id = @org_id and j.id in (
    select a.job_id from attempts a
    where a.org_id = @org_id and a.runner_id = @runner_id and a.status in ('offered', 'running', 'expired'))
order by j.id for no key update;

-- RunnerOfAttemptToken returns the runner of an attempt's token. For a while after the attempt has ended, the token
-- can still deliver its results.
-- name: RunnerOfAttemptToken :one
select runner_id from attempts
where org_id = @org_id and job_id = @job_id and number = @number and @token_hash::bytea = any(token_hashes)
  and (ended_at is null or ended_at > now() - make_interval(secs => @late_seconds::float8));

-- TouchRunner records when a runner last polled: its first poll, and then at most once in an interval unless what it
-- reports about itself has changed.
-- name: TouchRunner :exec
update runners set last_seen = now(), version = @version, policy = coalesce(sqlc.narg(policy)::jsonb, policy)
where org_id = @org_id and id = @id
  and (last_seen is null or last_seen <= registered_at or last_seen < now() - make_interval(secs => @every_seconds::float8)
       or version <> @version or policy <> coalesce(sqlc.narg(policy)::jsonb, policy));

-- SeenRunners records that runners with an open poll are online, except those that were replaced meanwhile.
-- name: SeenRunners :exec
update runners set last_seen = now() where org_id = @org_id and id = any(@ids::text[]) and key_hash is not null;

-- name: InsertJobs :exec
insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, component_kind, trace, plan_id, install_id, spec, reason)
select @org_id, j.id, j.runner_id, j.kind, 'queued', j.owner_kind, j.owner_id, j.component_kind, j.trace, nullif(j.plan_id, ''), nullif(j.install_id, ''),
    j.spec::jsonb, j.reason
from (select unnest(@ids::text[]) as id, unnest(@runner_ids::text[]) as runner_id, unnest(@kinds::text[]) as kind, unnest(@owner_kinds::text[]) as owner_kind,
    unnest(@owner_ids::text[]) as owner_id, unnest(@component_kinds::text[]) as component_kind, unnest(@traces::text[]) as trace,
    unnest(@plan_ids::text[]) as plan_id, unnest(@install_ids::text[]) as install_id, unnest(@specs::text[]) as spec, unnest(@reasons::text[]) as reason) j;

-- LockInstallOfJob locks the install of a job. Call it before LockJob: every transaction locks an install first and
-- then its jobs. The job of a build has none.
-- name: LockInstallOfJob :exec
select i.id from jobs j join installs i on i.org_id = j.org_id and i.id = j.install_id
where j.org_id = @org_id and j.id = @id for no key update of i;

-- LockJob locks a job. Rows that only refer to the job, such as log chunks, can still be written.
-- name: LockJob :one
select * from jobs where org_id = @org_id and id = @id for no key update;

-- name: JobWithRunner :one
select sqlc.embed(j), sqlc.embed(r), now()::timestamptz as at
from jobs j join runners r on r.org_id = j.org_id and r.id = j.runner_id
where j.org_id = @org_id and j.id = @id;

-- ClaimJobs offers a runner its oldest queued jobs. It adds the attempts and their due items in one statement. Two
-- polls of one runner never claim the same job (skip locked). A plan that copies its artifact is offered only where
-- syncs are allowed. A job under a role that needs a grant of the runner's owner is offered only with one, and under
-- a break-glass role only while the role is requested. The patterns are those of LIKE. A job under a role that is
-- unusable now waits. A test fixes the plan of this statement.
-- name: ClaimJobs :many
with oldest as (
    select j.id from jobs j
    where j.org_id = @org_id and j.runner_id = @runner_id and j.status = 'queued'
      and j.kind = any(@allowed::text[]) and (not j.copies or 'sync' = any(@allowed::text[]))
      and (not @components_limited::bool or j.component_kind = '' or j.component_kind = any(@components::text[]))
      and (j.role like any(coalesce(@granted::text[], '{}')) or j.break_glass = '' and not j.role like any(coalesce(@need_grant::text[], '{}')))
      and not j.role = any(coalesce(@unusable::text[], '{}'))
      and (j.break_glass = '' or exists (select from break_glass_requests b where b.org_id = j.org_id and b.install_id = j.install_id
        and b.role = j.break_glass and b.revoked_at is null and b.until > now()))
    order by j.created_at, j.id
    limit @most for update skip locked
), offered as (
    update jobs j set status = 'offered', attempt = j.attempt + 1, waits = ''
    from oldest where j.org_id = @org_id and j.id = oldest.id
    returning j.org_id, j.id, j.attempt, j.kind, j.component_kind, j.runner_id, j.created_at, j.copies
), made as (
    insert into attempts (org_id, job_id, number, runner_id, status, lease_until)
    select org_id, id, attempt, runner_id, 'offered', now() + make_interval(secs => @offer_seconds::float8) from offered
), watched as (
    insert into due (org_id, kind, id, at)
    select org_id, 'attempt', id || '/' || attempt, now() + make_interval(secs => @offer_seconds::float8) from offered
    on conflict (org_id, kind, id) do update set at = excluded.at
)
select id, attempt, kind, component_kind, copies from offered order by created_at, id;

-- DropWithdrawn deletes the withdrawn offers of a job except the newest. Nothing ran in any of them, and a runner
-- that rejects each offer makes many.
-- name: DropWithdrawn :exec
delete from attempts where org_id = @org_id and job_id = @job_id and status = 'withdrawn' and number < @before::int;

-- DropReturned deletes the attempts of a job that failed before another one, and returns their numbers. They were
-- returned because nothing of them ran: the job has not ended.
-- name: DropReturned :many
delete from attempts where org_id = @org_id and job_id = @job_id and status = 'failed' and number < @before::int returning number;

-- AdoptBuilds moves builds that wait for a runner which is offline or takes none to a build runner that is online:
-- any build runner can build anything.
-- name: AdoptBuilds :exec
update jobs set runner_id = me.id, waits = ''
from runners me
where me.org_id = @org_id and me.id = @runner_id and me.kind = 'build' and jobs.org_id = @org_id and jobs.id in (
    select j.id from jobs j join runners r on r.org_id = j.org_id and r.id = j.runner_id
    where j.org_id = @org_id and j.kind = 'build' and j.status = 'queued' and r.id <> @runner_id
      and (coalesce(r.last_seen < now() - make_interval(secs => @online_seconds::float8), true)
           or coalesce((r.policy->>'off')::bool, false))
    limit @most for update of j skip locked);

-- name: AttemptOfJob :one
select * from attempts where org_id = @org_id and job_id = @job_id and number = @number;

-- AttemptToExpire returns an attempt, and whether it has expired. A lease expires only if the control plane is up and
-- has been for as long as a lease: otherwise the runner had no chance to extend it.
-- name: AttemptToExpire :one
select sqlc.embed(a), (a.lease_until <= clock_timestamp() and (a.status <> 'running' or coalesce(
    u.since <= clock_timestamp() - make_interval(secs => @lease_seconds::float8)
    and u.seen_at > clock_timestamp() - make_interval(secs => @gap_seconds::float8), false)))::bool as over
from attempts a left join uptime u on u.one
where a.org_id = @org_id and a.job_id = @job_id and a.number = @number;

-- PutOffExpiry makes the check of an attempt due when it can have expired, at least a second from now.
-- name: PutOffExpiry :exec
insert into due (org_id, kind, id, at)
select a.org_id, 'attempt', a.job_id || '/' || a.number,
    greatest(a.lease_until, now() + interval '1 second', u.since + make_interval(secs => @lease_seconds::float8))
from attempts a left join uptime u on u.one and a.status = 'running'
where a.org_id = @org_id and a.job_id = @job_id and a.number = @number
on conflict (org_id, kind, id) do update set at = excluded.at;

-- CountBrokenAttempts counts the attempts of a job that expired, were cancelled or were lost.
-- name: CountBrokenAttempts :one
select count(*) from attempts where org_id = @org_id and job_id = @job_id and status in ('expired', 'cancelled', 'lost');

-- MoveJob and MoveAttempt change no row if the status is no longer the one that was read.
-- name: MoveJob :one
update jobs set status = @to_status, waits = @waits, error = @error, result = coalesce(sqlc.narg(result)::jsonb, result),
    ended_at = case when @ended::bool then now() else ended_at end
where org_id = @org_id and id = @id and attempt = @attempt and status = @from_status
returning *;

-- name: MoveAttempt :execrows
update attempts set status = @to_status, ended_at = case when @ended::bool then now() else ended_at end
where org_id = @org_id and job_id = @job_id and number = @number and status = @from_status;

-- name: AcceptAttempt :execrows
update attempts set status = 'running', token_hashes = token_hashes || @token_hash::bytea, accepted_at = coalesce(accepted_at, now()),
    lease_until = now() + make_interval(secs => @lease_seconds::float8)
where org_id = @org_id and job_id = @job_id and number = @number and runner_id = @runner_id and status = @from_status;

-- CountCredentialUse changes no row if the attempt has received @most credentials.
-- name: CountCredentialUse :execrows
update attempts set credential_uses = credential_uses + 1
where org_id = @org_id and job_id = @job_id and number = @number and credential_uses < @most::int;

-- name: SetJobWaits :exec
update jobs set waits = @waits where org_id = @org_id and id = @id;

-- name: AskJobCancel :exec
update jobs set cancel = true, waits = @waits where org_id = @org_id and id = @id;

-- TellJobEnd stores the result of a job that was cancelled before a runner accepted it, once.
-- name: TellJobEnd :one
update jobs set result = @result where org_id = @org_id and id = @id and status = 'cancelled' and result is null returning *;

-- ExtendLeases is all of a heartbeat: it extends the leases of the attempts that are still current for their job, and
-- returns the earlier status of each requested one. It locks the job's row first, so that a concurrent expiry comes
-- either before it, and is seen, or after it, and sees the new lease.
-- name: ExtendLeases :many
with asked as (
    select unnest(@jobs::text[]) as job_id, unnest(@numbers::int[]) as number
), held as (
    select j.id, j.attempt from jobs j join asked q on q.job_id = j.id and q.number = j.attempt
    where j.org_id = @org_id and j.runner_id = @runner_id and j.status = 'running'
    order by j.id for share of j
), extended as (
    update attempts a set lease_until = now() + make_interval(secs => @lease_seconds::float8), status = 'running'
    from held h
    where a.org_id = @org_id and a.job_id = h.id and a.number = h.attempt and a.runner_id = @runner_id
      and a.status in ('running', 'expired')
    returning a.org_id, a.job_id, a.number
), put_off as (
    insert into due (org_id, kind, id, at)
    select org_id, 'attempt', job_id || '/' || number, now() + make_interval(secs => @lease_seconds::float8) from extended
    on conflict (org_id, kind, id) do update set at = excluded.at
)
select q.job_id::text as job_id, q.number::int as number, coalesce(a.status, '')::text as attempt_status,
       coalesce(j.cancel, false)::bool as cancel, (e.job_id is not null)::bool as extended
from asked q
left join attempts a on a.org_id = @org_id and a.job_id = q.job_id and a.number = q.number and a.runner_id = @runner_id
left join jobs j on j.org_id = a.org_id and j.id = a.job_id
left join extended e on e.job_id = q.job_id and e.number = q.number
order by 1, 2;

-- OwnerHasOpenJob reports whether a job of an owner is queued or running.
-- name: OwnerHasOpenJob :one
select exists (select 1 from jobs where org_id = @org_id and owner_kind = @owner_kind and owner_id = @owner_id and ended_at is null);

-- DeleteEndedJobsOfOwner deletes the ended jobs of an owner except one, also those that failed.
-- name: DeleteEndedJobsOfOwner :exec
delete from jobs where org_id = @org_id and owner_kind = @owner_kind and owner_id = @owner_id and ended_at is not null and id <> @keep;
