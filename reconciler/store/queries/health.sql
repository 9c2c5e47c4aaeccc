-- Looks at how what is deployed is (package health).

-- name: HealthJobRunning :one
select exists (select 1 from jobs where org_id = @org_id and owner_kind = 'health' and owner_id = @install_id::text and ended_at is null);

-- A look is worth nothing once there is a newer one, and nobody wants to read its log.
-- name: DeleteHealthJobs :exec
delete from jobs where org_id = @org_id and owner_kind = 'health' and owner_id = @install_id::text and ended_at is not null and id <> @keep;

-- name: ComponentOnInstall :one
select exists (select 1 from install_components where org_id = @org_id and install_id = @install_id and id = @id);
