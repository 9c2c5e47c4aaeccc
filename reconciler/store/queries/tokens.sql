-- Who may do what: the tokens of people and programs, and the record of what was done with them.

-- name: CreateToken :one
insert into tokens (org_id, id, name, role, hash, created_by, expires_at)
values (@org_id, @id, @name, @role, @hash, @created_by, @expires_at) returning *;

-- RetireToken frees the name of a token that has run out.
-- name: RetireToken :exec
update tokens set revoked_at = expires_at where org_id = @org_id and name = @name and revoked_at is null and expires_at <= now();

-- name: TokenByHash :one
select * from tokens
where org_id = @org_id and hash = @hash and revoked_at is null and (expires_at is null or expires_at > now());

-- TokenIsGood says whether a token that opened something would open it still.
-- name: TokenIsGood :one
select exists (select from tokens where org_id = @org_id and id = @id and revoked_at is null and (expires_at is null or expires_at > now()));

-- TouchToken notes that a token was used, at most once in a while.
-- name: TouchToken :exec
update tokens set last_used_at = now()
where org_id = @org_id and id = @id and (last_used_at is null or last_used_at < now() - make_interval(secs => @every_seconds::float8));

-- ViewToken takes an id, or a name: then the token that has it now, else the last one that had it.
-- name: ViewToken :one
select * from tokens where org_id = @org_id and (id = @key or name = @key)
order by id = @key desc, revoked_at is null desc, id desc limit 1;

-- name: ViewTokens :many
select * from tokens where org_id = @org_id and id < @before order by id desc limit @most;

-- RevokeToken gives no row for a token that is revoked already.
-- name: RevokeToken :one
update tokens set revoked_at = now() where org_id = @org_id and id = @id and revoked_at is null returning *;

-- name: AddAudit :exec
insert into audit_events (org_id, actor, action, subject, detail)
values (@org_id, @actor, @action, @subject, @detail);

-- ViewAudit: the newest first. An action is given whole, or by its first part.
-- name: ViewAudit :many
select * from audit_events
where org_id = @org_id and id < @before and (@subject::text = '' or subject = @subject) and (@actor::text = '' or actor = @actor)
  and (@action::text = '' or action = @action or starts_with(action, @action || '.'))
order by id desc limit @most;
