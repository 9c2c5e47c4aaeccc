-- Interactive shells (package joblog): what a person typed, and what a pod answered.

-- name: InsertShell :exec
insert into shells (org_id, job_id, token_id) values (@org_id, @job_id, @token_id);

-- LockShell serializes the writers of one shell, so that its chunks are numbered without a gap.
-- name: LockShell :one
select * from shells where org_id = @org_id and job_id = @job_id for update;

-- AddShellChunk stores what passed in one direction with the new counts of its locked shell, and notifies its readers.
-- name: AddShellChunk :one
with kept as (
    insert into shell_chunks (org_id, job_id, seq, input, number, data, columns, rows, at)
    values (@org_id, @job_id, @seq, @input, @number, @data, @columns, @rows, clock_timestamp())
), noted as (
    update shells set chunks = @seq, inputs = @inputs, outputs = @outputs, input_bytes = @input_bytes, output_bytes = @output_bytes
    where org_id = @org_id and job_id = @job_id returning 1
)
select count(pg_notify(@channel, @payload)) from noted;

-- AttendShell records that the person's program is there, or that it has left, and then notifies the runner's request.
-- name: AttendShell :one
with noted as (
    update shells set attended_at = now(), abandoned = abandoned or @leave::bool where org_id = @org_id and job_id = @job_id returning abandoned
)
select count(pg_notify(@channel, @payload)) from noted where abandoned;

-- ReadShell returns a shell, whether it is to end because nobody is attached to it, and whether it is to be cancelled.
-- name: ReadShell :one
select s.*, s.attended_at < now() - make_interval(secs => @silence_seconds::float8) as silent, j.cancel
from shells s join jobs j on j.org_id = s.org_id and j.id = s.job_id where s.org_id = @org_id and s.job_id = @job_id;

-- name: ShellInputsAfter :many
select * from shell_chunks where org_id = @org_id and job_id = @job_id and input and number > @number order by seq limit @most;

-- name: ShellChunksAfter :many
select * from shell_chunks where org_id = @org_id and job_id = @job_id and seq > @seq and not (@outputs_only::bool and input) order by seq limit @most;
