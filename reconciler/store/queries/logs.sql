-- Log chunks of attempts: written once each, read in the order of (attempt, seq).

-- LockLog makes the writers of one attempt's log take turns, so a follower never sees a later chunk before an earlier one.
-- name: LockLog :one
select * from attempts where org_id = @org_id and job_id = @job_id and number = @number for update;

-- name: LogSeqsPresent :many
select seq from log_chunks where org_id = @org_id and job_id = @job_id and attempt = @attempt and seq = any(@seqs::bigint[]);

-- InsertLogChunks keeps chunks, notes how large the log is with them, and wakes its followers.
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
