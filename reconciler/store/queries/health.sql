-- The health of what is deployed (package installhealth).

-- name: ComponentOnInstall :one
select exists (select 1 from install_components where org_id = @org_id and install_id = @install_id and id = @id);
