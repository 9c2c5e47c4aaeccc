-- Log chunks of attempts. Each is written once, and they are read in the order of (attempt, seq).

-- LockLog serializes the writers of one attempt's log, so that a follower never reads a later chunk before an earlier
-- one.
-- name: LockLog :one
select * from attempts where org_id = @org_id and job_id = @job_id and number = @number for update;

-- name: LogSeqsPresent :many
select seq from log_chunks where org_id = @org_id and job_id = @job_id and attempt = @attempt and seq = any(@seqs::bigint[]);

-- InsertLogChunks stores chunks, updates the size of the log and notifies its followers.
-- name: InsertLogChunks :one
with kept as (
    insert into log_chunks (org_id, job_id, attempt, seq, lines)
    select @org_id, @job_id, @attempt::int, unnest(@seqs::bigint[]), unnest(@lines::bytea[])
    on conflict (org_id, job_id, attempt, seq) do nothing
), noted as (
    update attempts set log_bytes = @log_bytes where org_id = @org_id and job_id = @job_id and number = @attempt::int returning 1
)
select count(pg_notify(@channel, @payload)) from noted;

-- name: LogChunksAfter :many
select * from log_chunks where org_id = @org_id and job_id = @job_id and (attempt, seq) > (@attempt::int, @seq::bigint)
order by attempt, seq limit @most;

-- DropLogs deletes the logs of attempts.
-- name: DropLogs :exec
delete from log_chunks where org_id = @org_id and job_id = @job_id and attempt = any(@attempts::int[]);

-- KeepRunnerLog stores the new chunks of a runner's own log, returns how many there were, and notifies the log's
-- followers.
-- name: KeepRunnerLog :one
with kept as (
    insert into runner_logs (org_id, runner_id, seq, lines, many, size)
    select @org_id, @runner_id::text, unnest(@seqs::bigint[]), unnest(@lines::bytea[]), unnest(@manies::int[]), unnest(@sizes::int[])
    on conflict (org_id, runner_id, seq) do nothing
    returning 1
)
select count(pg_notify(@channel, @payload)) from kept;

-- TrimRunnerLog deletes the oldest chunks of a runner's own log. The chunk that exceeds a limit is the last that
-- stays.
-- name: TrimRunnerLog :exec
delete from runner_logs d using (
    select l.seq, sum(l.many) over newest - l.many as lines_after, sum(l.size) over newest - l.size as bytes_after
    from runner_logs l where l.org_id = @org_id and l.runner_id = @runner_id window newest as (order by l.seq desc)) r
where d.org_id = @org_id and d.runner_id = @runner_id and d.seq = r.seq and (r.lines_after >= @most_lines::bigint or r.bytes_after >= @most_bytes::bigint);

-- name: RunnerLogAfter :many
select * from runner_logs where org_id = @org_id and runner_id = @runner_id and seq > @seq order by seq limit @most;
