-- What runners report of the customer's secrets (package installsecrets).

-- name: InstallSecrets :one
select * from install_secrets where org_id = @org_id and install_id = @install_id;

-- name: SecretsRequested :exec
insert into install_secrets (org_id, install_id, digest) values (@org_id, @install_id, @digest)
on conflict (org_id, install_id) do update set digest = excluded.digest;

-- name: SaveInstallSecrets :exec
update install_secrets set secrets = @secrets, checked_at = now() where org_id = @org_id and install_id = @install_id;

-- name: DeleteInstallSecrets :exec
delete from install_secrets where org_id = @org_id and install_id = @install_id;

-- name: SecretsJobRunning :one
select exists (select 1 from jobs where org_id = @org_id and owner_kind = 'secrets' and owner_id = @install_id::text and ended_at is null);

-- A check is worth nothing once there is a newer one. One that failed stays, so that people can read its log.
-- name: DeleteSecretsJobs :exec
delete from jobs where org_id = @org_id and owner_kind = 'secrets' and owner_id = @install_id::text and ended_at is not null and id <> @keep;
