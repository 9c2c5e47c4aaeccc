-- The replicas, and counts for the operator of the control plane. Replicas and due items belong to no org, everything
-- else to one.

-- RecordHeartbeat stores a replica's heartbeat and returns the time. After a gap in which no replica could write, the
-- control plane counts as up since now.
-- name: RecordHeartbeat :one
with up as (
    insert into uptime as u (one) values (true)
    on conflict (one) do update set seen_at = excluded.seen_at,
        since = case when u.seen_at < excluded.seen_at - make_interval(secs => @gap_seconds::float8) then excluded.since else u.since end
)
insert into replicas (id, version, schema, embedded) values (@id, @version, @schema, @embedded)
on conflict (id) do update set version = excluded.version, schema = excluded.schema, embedded = excluded.embedded, seen_at = now()
returning clock_timestamp()::timestamptz;

-- name: DeleteStaleReplicas :exec
delete from replicas where seen_at < now() - interval '1 day';

-- name: DeleteReplica :exec
delete from replicas where id = @id;

-- name: ListReplicas :many
select * from replicas order by started_at, id;

-- OtherEmbeddedReplica returns a live replica that had an embedded registry before this one.
-- name: OtherEmbeddedReplica :one
select o.id, extract(epoch from now() - o.seen_at)::float8 as seconds
from replicas o, replicas me
where me.id = @id and o.id <> me.id and o.embedded and o.seen_at > now() - make_interval(secs => @alive_seconds::float8)
  and (o.started_at, o.id) < (me.started_at, me.id)
order by o.seen_at desc limit 1;

-- QueueDelaySeconds returns for how long the oldest due item has waited.
-- name: QueueDelaySeconds :one
select coalesce(greatest(extract(epoch from now() - min(at)), 0), 0)::float8 from due;

-- OpenJobs counts the jobs of an org that have not ended, and of the running ones, those without heartbeats.
-- name: OpenJobs :many
select j.kind, j.status, count(*) as jobs, (count(*) filter (where a.status = 'expired'))::bigint as silent
from jobs j left join attempts a on a.org_id = j.org_id and a.job_id = j.id and a.number = j.attempt and j.status = 'running'
where j.org_id = @org_id and j.ended_at is null
group by j.kind, j.status;

-- name: ContestedComponents :one
select count(distinct install_component_id) from states where org_id = @org_id and status in ('contested', 'withheld');

-- RunnersByState counts an org's runners. One that is switched off sends heartbeats and takes no jobs.
-- name: RunnersByState :many
select (case when key_hash is null and last_seen is null then 'unregistered'
             when last_seen is null or last_seen < now() - make_interval(secs => @online_seconds::float8) then 'offline'
             when coalesce((policy->>'off')::boolean, false) then 'off'
             else 'online' end)::text as state, count(*) as runners
from runners where org_id = @org_id group by 1;

-- name: ListOrgs :many
select * from orgs order by id;

-- RescueWork requeues the work of replicas that have stopped, and work that this replica claimed without learning of
-- it, when Postgres failed between a commit and its response. Work may run twice, so it does no harm if a replica
-- only seemed to have stopped, or if its end was not stored yet.
-- name: RescueWork :execrows
update river.river_job j set state = 'available', scheduled_at = now()
where j.state = 'running' and (
    not exists (
        select from replicas r
        where r.id = j.attempted_by[array_upper(j.attempted_by, 1)] and r.seen_at > now() - make_interval(secs => @gone_seconds::float8))
    or j.attempted_by[array_upper(j.attempted_by, 1)] = @replica::text
        and j.attempted_at < now() - make_interval(secs => @unheard_seconds::float8) and not (j.id = any(@in_hand::bigint[])));
