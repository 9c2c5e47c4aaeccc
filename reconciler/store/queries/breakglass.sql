-- Requests to act under break-glass roles.

-- AddBreakGlass adds a request, and deletes those of the install that ended more than 90 days ago; the audit log has
-- them.
-- name: AddBreakGlass :one
with gone as (delete from break_glass_requests b where b.org_id = @org_id and b.install_id = @install_id and b.until < now() - interval '90 days')
insert into break_glass_requests (org_id, id, install_id, role, reason, requested_by, until)
values (@org_id, @id, @install_id, @role, @reason, @requested_by, @until) returning *;

-- RevokeBreakGlass ends the open requests of a role.
-- name: RevokeBreakGlass :many
update break_glass_requests set revoked_at = clock_timestamp(), revoked_by = @revoked_by
where org_id = @org_id and install_id = @install_id and role = @role and revoked_at is null and until > now() returning *;

-- ViewBreakGlass lists requests, the newest first: all, or those that are open or ended recently. The join leaves out
-- those of other apps.
-- name: ViewBreakGlass :many
select sqlc.embed(b), sqlc.embed(i), sqlc.embed(r), a.name as app from break_glass_requests b
join installs i on i.org_id = b.org_id and i.id = b.install_id
join apps a on a.org_id = i.org_id and a.id = i.app_id
join runners r on r.org_id = i.org_id and r.id = i.runner_id
where b.org_id = @org_id and (@install_id::text = '' or b.install_id = @install_id) and (@before::text = '' or b.id < @before)
  and (@everything::bool or coalesce(b.revoked_at, b.until) > now() - make_interval(secs => @lately_seconds::float8))
order by b.id desc limit @most;
