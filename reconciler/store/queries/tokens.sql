-- The tokens of people and programs, and the audit log.

-- name: CreateToken :one
insert into tokens (org_id, id, name, role, app_id, hash, created_by, expires_at)
values (@org_id, @id, @name, @role, @app_id, @hash, @created_by, @expires_at) returning *;

-- RetireToken frees the name of an expired token.
-- name: RetireToken :exec
update tokens set revoked_at = expires_at where org_id = @org_id and name = @name and revoked_at is null and expires_at <= now();

-- TokenByHash returns a valid token, with the name of its app if it is for one app only.
-- name: TokenByHash :one
select sqlc.embed(t), coalesce(a.name, '') as app from tokens t
left join apps a on a.org_id = t.org_id and a.id = t.app_id
where t.org_id = @org_id and t.hash = @hash and t.revoked_at is null and (t.expires_at is null or t.expires_at > now());

-- TokenIsGood reports whether a token that opened a stream is still valid for it.
-- name: TokenIsGood :one
select exists (select from tokens where org_id = @org_id and id = @id and revoked_at is null and (expires_at is null or expires_at > now()));

-- TouchToken records when a token was used, at most once in an interval.
-- name: TouchToken :exec
update tokens set last_used_at = now()
where org_id = @org_id and id = @id and (last_used_at is null or last_used_at < now() - make_interval(secs => @every_seconds::float8));

-- ViewToken takes an id, or a name: then the token that has it now, else the last one that had it.
-- name: ViewToken :one
select sqlc.embed(t), coalesce(a.name, '') as app from tokens t
left join apps a on a.org_id = t.org_id and a.id = t.app_id
where t.org_id = @org_id and (t.id = @key or t.name = @key)
order by t.id = @key desc, t.revoked_at is null desc, t.id desc limit 1;

-- name: ViewTokens :many
select sqlc.embed(t), coalesce(a.name, '') as app from tokens t
left join apps a on a.org_id = t.org_id and a.id = t.app_id
where t.org_id = @org_id and t.id < @before order by t.id desc limit @most;

-- RevokeToken returns no row for a token that is already revoked.
-- name: RevokeToken :one
update tokens set revoked_at = now() where org_id = @org_id and id = @id and revoked_at is null returning *;

-- name: AddAudits :exec
insert into audit_events (org_id, actor, action, subject, detail)
select @org_id, e.actor, @action, e.subject, e.detail::jsonb
from (select unnest(@actors::text[]) as actor, unnest(@subjects::text[]) as subject, unnest(@details::text[]) as detail) e;

-- ViewAudit returns the newest events first. An action matches as a whole or by its first part.
-- name: ViewAudit :many
select * from audit_events
where org_id = @org_id and id < @before and (@subject::text = '' or subject = @subject) and (@actor::text = '' or actor = @actor)
  and (@action::text = '' or action = @action or starts_with(action, @action || '.'))
order by id desc limit @most;

-- TokenKeys returns the keys by which tokens are checked, the newest first.
-- name: TokenKeys :many
select key from token_keys order by id desc;
