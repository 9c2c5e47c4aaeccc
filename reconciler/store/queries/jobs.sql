-- Runners and their keys, jobs, attempts and leases. All times are the database's own, so replicas need not agree on one.

-- name: InsertRunner :one
insert into runners (org_id, id, name, kind, shared) values (@org_id, @id, @name, @kind, @shared) returning *;

-- name: InsertRegistration :exec
insert into registrations (org_id, id, runner_id, hash, expires_at)
values (@org_id, @id, @runner_id, @hash, now() + make_interval(secs => @life_seconds::float8));

-- RunnerToRegister locks the runner that a registration token is for, before the token: whoever voids tokens does it in that order.
-- name: RunnerToRegister :one
select r.* from registrations g join runners r on r.org_id = g.org_id and r.id = g.runner_id
where g.org_id = @org_id and g.hash = @hash for no key update of r;

-- SetChallenge keeps the nonce that the holder of a token has to decrypt; one that was kept before is void.
-- name: SetChallenge :execrows
update registrations set challenge = @challenge::bytea, challenge_for = @challenge_for
where org_id = @org_id and hash = @hash and used_at is null and expires_at > now();

-- TakeChallenge gives the nonce that waits for an answer, once.
-- name: TakeChallenge :one
with taken as (
    select g.org_id, g.id, g.challenge, g.challenge_for from registrations g
    where g.org_id = @org_id and g.hash = @hash and g.used_at is null and g.expires_at > now() for update
)
update registrations r set challenge = null, challenge_for = '' from taken t where r.org_id = t.org_id and r.id = t.id
returning t.challenge, t.challenge_for;

-- UseRegistration takes a token out of the world: the second of two that try changes no row.
-- name: UseRegistration :execrows
update registrations set used_at = now()
where org_id = @org_id and hash = @hash and used_at is null and expires_at > now();

-- VoidRegistrations makes the tokens worthless that a runner has not used.
-- name: VoidRegistrations :exec
update registrations set used_at = now() where org_id = @org_id and runner_id = @runner_id and used_at is null;

-- LockRunner lets jobs be queued for the runner meanwhile; nobody else changes it.
-- name: LockRunner :one
select * from runners where org_id = @org_id and id = @id for no key update;

-- name: SetRunnerKey :one
update runners set key_hash = @key_hash::bytea, next_key_hash = null, key_since = now(), registered_at = now(), recipient = @recipient,
    registered_by = @registered_by, identity = @identity, held = false, new_key = false, version = @version, capacity = @capacity, last_seen = now()
where org_id = @org_id and id = @id
returning *;

-- RunnerOfKey takes the key in force, or the one that was asked for to follow it; next says that it is that one.
-- name: RunnerOfKey :one
select name, kind, (next_key_hash is not distinct from @key_hash::bytea)::bool as next from runners
where org_id = @org_id and id = @id and (key_hash = @key_hash::bytea or next_key_hash = @key_hash::bytea);

-- HoldRunnerKey is RunnerOfKey for who gives something out to the key: a replacement that voids it waits until that is done, or is
-- waited for.
-- name: HoldRunnerKey :one
select id from runners
where org_id = @org_id and id = @id and (key_hash = @key_hash::bytea or next_key_hash = @key_hash::bytea) for share;

-- AskRunnerKey keeps a key that is to follow the one in force. One that was asked for before and never used is void.
-- name: AskRunnerKey :one
update runners set next_key_hash = @key_hash::bytea where org_id = @org_id and id = @id and key_hash is not null returning *;

-- PromoteRunnerKey puts the key that was asked for in force, once.
-- name: PromoteRunnerKey :execrows
update runners set key_hash = next_key_hash, next_key_hash = null, key_since = now()
where org_id = @org_id and id = @id and next_key_hash = @key_hash::bytea;

-- VoidRunner takes from a runner all that its machine knew. What it says of itself is forgotten until another machine speaks for it.
-- name: VoidRunner :one
with forgotten as (
    delete from cloud_claims c using installs i
    where c.org_id = @org_id and c.purpose = 'runner' and i.org_id = c.org_id and i.id = c.install_id and i.runner_id = @id
)
update runners r set key_hash = null, next_key_hash = null, key_since = null, last_seen = null, policy = '{}', new_key = @new_key,
    registered_by = '', identity = '{}', held = true, recipient = case when @new_key::bool then '' else r.recipient end
where r.org_id = @org_id and r.id = @id
returning r.*;

-- AttemptsInHand are what a runner was offered or is at work on, as far as is known.
-- name: AttemptsInHand :many
select sqlc.embed(a), sqlc.embed(j), coalesce(i.name, '')::text as install
from attempts a
join jobs j on j.org_id = a.org_id and j.id = a.job_id
left join installs i on i.org_id = j.org_id and i.id = j.install_id
where a.org_id = @org_id and a.runner_id = @runner_id and a.status in ('offered', 'running', 'expired')
order by a.job_id, a.number;

-- LockInstallsInHand and LockJobsInHand lock, always in the same order, what AttemptsInHand shows.
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

-- RunnerOfAttemptToken: the token of an attempt that has ended opens what is left to deliver, for a while.
-- name: RunnerOfAttemptToken :one
select runner_id from attempts
where org_id = @org_id and job_id = @job_id and number = @number and @token_hash::bytea = any(token_hashes)
  and (ended_at is null or ended_at > now() - make_interval(secs => @late_seconds::float8));

-- TouchRunner notes that a runner was heard of, at most every so many seconds unless what it says of itself has changed.
-- name: TouchRunner :exec
update runners set last_seen = now(), version = @version, policy = coalesce(sqlc.narg(policy)::jsonb, policy)
where org_id = @org_id and id = @id
  and (last_seen is null or last_seen < now() - make_interval(secs => @every_seconds::float8)
       or version <> @version or policy <> coalesce(sqlc.narg(policy)::jsonb, policy));

-- SeenRunners notes that runners which only wait are there. One that was replaced meanwhile is not.
-- name: SeenRunners :exec
update runners set last_seen = now() where org_id = @org_id and id = any(@ids::text[]) and key_hash is not null;

-- name: InsertJobs :exec
insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, component_kind, trace, plan_id, install_id, spec, reason)
select @org_id, j.id, j.runner_id, j.kind, 'queued', j.owner_kind, j.owner_id, j.component_kind, j.trace, nullif(j.plan_id, ''), nullif(j.install_id, ''),
    j.spec::jsonb, j.reason
from (select unnest(@ids::text[]) as id, unnest(@runner_ids::text[]) as runner_id, unnest(@kinds::text[]) as kind, unnest(@owner_kinds::text[]) as owner_kind,
    unnest(@owner_ids::text[]) as owner_id, unnest(@component_kinds::text[]) as component_kind, unnest(@traces::text[]) as trace,
    unnest(@plan_ids::text[]) as plan_id, unnest(@install_ids::text[]) as install_id, unnest(@specs::text[]) as spec, unnest(@reasons::text[]) as reason) j;

-- LockInstallOfJob comes before LockJob: the rooms lock an install first and then its jobs, and so must everybody. A build's job
-- has none.
-- name: LockInstallOfJob :exec
select i.id from jobs j join installs i on i.org_id = j.org_id and i.id = j.install_id
where j.org_id = @org_id and j.id = @id for no key update of i;

-- LockJob leaves room for who only refers to the job: a log that is being kept.
-- name: LockJob :one
select * from jobs where org_id = @org_id and id = @id for no key update;

-- name: JobWithRunner :one
select sqlc.embed(j), sqlc.embed(r), now()::timestamptz as at
from jobs j join runners r on r.org_id = j.org_id and r.id = j.runner_id
where j.org_id = @org_id and j.id = @id;

-- ClaimJobs offers a runner its oldest queued jobs: the attempts are made and put on the list of what is due in the one statement.
-- Two polls of one runner never claim the same job (skip locked). A plan that copies its artifact is offered only where syncs are allowed.
-- A job under a role that needs a grant of the runner's owner is offered only with one, and under a break-glass role only while it is
-- requested. The patterns are those of LIKE.
-- Its plan is pinned by a test.
-- name: ClaimJobs :many
with oldest as (
    select j.id from jobs j
    where j.org_id = @org_id and j.runner_id = @runner_id and j.status = 'queued'
      and j.kind = any(@allowed::text[]) and (not j.copies or 'sync' = any(@allowed::text[]))
      and (not @components_limited::bool or j.component_kind = '' or j.component_kind = any(@components::text[]))
      and (j.role like any(coalesce(@granted::text[], '{}')) or j.break_glass = '' and not j.role like any(coalesce(@need_grant::text[], '{}')))
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

-- DropWithdrawn forgets the offers of a job that nobody took, but the newest of them: nothing was done in any, and a runner that refuses
-- what it asked for makes one after the other.
-- name: DropWithdrawn :exec
delete from attempts where org_id = @org_id and job_id = @job_id and status = 'withdrawn' and number < @before::int;

-- AdoptBuilds gives a build runner that is there the builds that wait for one that is not, or takes none: any build runner can build
-- anything.
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

-- AttemptToExpire is an attempt, and whether its time is over. A lease runs out only after the control plane has been up for a whole
-- lease, and is up now: else its runner had no chance to be heard.
-- name: AttemptToExpire :one
select sqlc.embed(a), (a.lease_until <= clock_timestamp() and (a.status <> 'running' or coalesce(
    u.since <= clock_timestamp() - make_interval(secs => @lease_seconds::float8)
    and u.seen_at > clock_timestamp() - make_interval(secs => @gap_seconds::float8), false)))::bool as over
from attempts a left join uptime u on u.one
where a.org_id = @org_id and a.job_id = @job_id and a.number = @number;

-- PutOffExpiry has an attempt looked at again when its time can be over, and not before a second from now.
-- name: PutOffExpiry :exec
insert into due (org_id, kind, id, at)
select a.org_id, 'attempt', a.job_id || '/' || a.number,
    greatest(a.lease_until, now() + interval '1 second', u.since + make_interval(secs => @lease_seconds::float8))
from attempts a left join uptime u on u.one and a.status = 'running'
where a.org_id = @org_id and a.job_id = @job_id and a.number = @number
on conflict (org_id, kind, id) do update set at = excluded.at;

-- CountBrokenAttempts counts the attempts of a job that fell silent or were broken off.
-- name: CountBrokenAttempts :one
select count(*) from attempts where org_id = @org_id and job_id = @job_id and status in ('expired', 'cancelled', 'lost');

-- MoveJob and MoveAttempt carry their fence: what was read is still so, or no row changes.
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

-- name: SetJobWaits :exec
update jobs set waits = @waits where org_id = @org_id and id = @id;

-- name: AskJobCancel :exec
update jobs set cancel = true, waits = @waits where org_id = @org_id and id = @id;

-- TellJobEnd writes the result of a job that was cancelled before anybody had it, once.
-- name: TellJobEnd :one
update jobs set result = @result where org_id = @org_id and id = @id and status = 'cancelled' and result is null returning *;

-- ExtendLeases is the whole of a heartbeat: the leases of those attempts that are still their job's are extended, and for each that
-- was asked for the answer says how it stood before. The job's row is locked first, so that an expiry at the same moment is either
-- before this (and seen) or after it (and sees the new lease).
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
