-- Requests of people to look into what runs (package inspection).

-- OpenInspections counts the requests to a runner that have not ended.
-- name: OpenInspections :one
select count(*) from jobs where org_id = @org_id and runner_id = @runner_id and owner_kind = 'inspection' and ended_at is null;
