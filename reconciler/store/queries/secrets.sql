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
