-- Who may do what: the tokens of people and programs, and the record of what was done with them.

-- name: CreateToken :one
insert into tokens (org_id, id, name, role, app_id, hash, created_by, expires_at)
values (@org_id, @id, @name, @role, @app_id, @hash, @created_by, @expires_at) returning *;

-- RetireToken frees the name of a token that has run out.
-- name: RetireToken :exec
update tokens set revoked_at = expires_at where org_id = @org_id and name = @name and revoked_at is null and expires_at <= now();

-- TokenByHash is the token, if it is good, with the name of the one app that it opens, if it is for one.
-- name: TokenByHash :one
select sqlc.embed(t), coalesce(a.name, '') as app from tokens t
left join apps a on a.org_id = t.org_id and a.id = t.app_id
where t.org_id = @org_id and t.hash = @hash and t.revoked_at is null and (t.expires_at is null or t.expires_at > now());

-- TokenIsGood says whether a token that opened something would open it still.
-- name: TokenIsGood :one
select exists (select from tokens where org_id = @org_id and id = @id and revoked_at is null and (expires_at is null or expires_at > now()));

-- TouchToken notes that a token was used, at most once in a while.
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

-- RevokeToken gives no row for a token that is revoked already.
-- name: RevokeToken :one
update tokens set revoked_at = now() where org_id = @org_id and id = @id and revoked_at is null returning *;

-- name: AddAudits :exec
insert into audit_events (org_id, actor, action, subject, detail)
select @org_id, e.actor, @action, e.subject, e.detail::jsonb
from (select unnest(@actors::text[]) as actor, unnest(@subjects::text[]) as subject, unnest(@details::text[]) as detail) e;

-- ViewAudit: the newest first. An action is given whole, or by its first part.
-- name: ViewAudit :many
select * from audit_events
where org_id = @org_id and id < @before and (@subject::text = '' or subject = @subject) and (@actor::text = '' or actor = @actor)
  and (@action::text = '' or action = @action or starts_with(action, @action || '.'))
order by id desc limit @most;

-- TokenKeys are what the checks of tokens are made with, the newest first.
-- name: TokenKeys :many
select key from token_keys order by id desc;
