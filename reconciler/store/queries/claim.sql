-- Cloud identities of customers' accounts, and what stacks report.

-- AddNonce stores a nonce and deletes those that have expired.
-- name: AddNonce :exec
with gone as (delete from identity_nonces n where n.org_id = @org_id and n.install_id = @install_id and n.expires_at < now())
insert into identity_nonces (org_id, hash, install_id, recipient, proof, expires_at)
values (@org_id, @hash, @install_id, @recipient, @proof, now() + make_interval(secs => @life_seconds::float8));

-- TakeNonce returns a nonce once.
-- name: TakeNonce :one
delete from identity_nonces where org_id = @org_id and hash = @hash and install_id = @install_id
returning recipient, proof, (expires_at > now())::bool as valid;

-- NoteClaim stores who proved an identity, or that they did so again.
-- name: NoteClaim :one
insert into cloud_claims (org_id, id, install_id, purpose, cloud, account, tenant, name, machine, recipient, token_hash)
values (@org_id, @id, @install_id, @purpose, @cloud, @account, @tenant, @name, @machine, @recipient, @token_hash)
on conflict (org_id, install_id, purpose, cloud, account, tenant, name, machine, recipient)
do update set last_seen = now(), token_hash = coalesce(excluded.token_hash, cloud_claims.token_hash)
returning *;

-- ClaimOfToken returns the claim that used a token which is bound to no nonce.
-- name: ClaimOfToken :one
select * from cloud_claims where org_id = @org_id and token_hash = @token_hash;

-- PruneClaims deletes the waiting claims of an install except the newest.
-- name: PruneClaims :exec
delete from cloud_claims c where c.org_id = @org_id and c.install_id = @install_id and c.confirmed_at is null and c.id not in (
    select k.id from cloud_claims k where k.org_id = @org_id and k.install_id = @install_id and k.confirmed_at is null
    order by k.last_seen desc, k.id limit @most);

-- name: ConfirmClaim :one
update cloud_claims set confirmed_by = @confirmed_by, confirmed_at = clock_timestamp()
where org_id = @org_id and id = @id and confirmed_at is null returning *;

-- WaitingClaims returns the claims of the runners' installs that wait for a person.
-- name: WaitingClaims :many
select sqlc.embed(c), i.name as install, i.runner_id from cloud_claims c join installs i on i.org_id = c.org_id and i.id = c.install_id
where c.org_id = @org_id and i.runner_id = any(@runner_ids::text[]) and c.confirmed_at is null order by c.last_seen desc, c.id;

-- SetConfirmedAccount stores the account that a person confirmed.
-- name: SetConfirmedAccount :exec
update installs set confirmed_account = @confirmed_account where org_id = @org_id and id = @id;

-- UseClaim marks a machine's claim as used, so that it no longer waits.
-- name: UseClaim :exec
update cloud_claims set confirmed_at = coalesce(confirmed_at, clock_timestamp()),
    confirmed_by = case when confirmed_by = '' then 'cloud account' else confirmed_by end
where org_id = @org_id and id = @id;

-- name: PhoneHomeOf :one
select * from phone_homes where org_id = @org_id and install_id = @install_id and request_id = @request_id;

-- LastPhoneHome returns the newest report, accepted or not.
-- name: LastPhoneHome :one
select * from phone_homes where org_id = @org_id and install_id = @install_id order by created_at desc, request_id desc limit 1;

-- LastAcceptedPhoneHome returns the newest accepted report.
-- name: LastAcceptedPhoneHome :one
select * from phone_homes where org_id = @org_id and install_id = @install_id and status = 'accepted'
order by created_at desc, request_id desc limit 1;

-- RecentPhoneHomes counts the reports that were accepted within a time, and returns when the oldest of them was, and the
-- kind of the newest one.
-- name: RecentPhoneHomes :one
select count(*) as reports, coalesce(min(created_at), now())::timestamptz as oldest,
    coalesce((array_agg(kind order by created_at desc, request_id desc))[1], '')::text as last_kind
from phone_homes where org_id = @org_id and install_id = @install_id and status = 'accepted'
  and created_at > clock_timestamp() - make_interval(secs => @within_seconds::float8);

-- name: AddPhoneHome :one
insert into phone_homes (org_id, install_id, request_id, kind, status, reason, stack_id, stack_version, subject, claim_id, outputs, kept)
values (@org_id, @install_id, @request_id, @kind, @status, @reason, @stack_id, @stack_version, @subject, @claim_id, @outputs, @kept)
returning *;

-- name: SettlePhoneHome :exec
update phone_homes set status = @status, reason = @reason, kept = @kept, created_at = clock_timestamp()
where org_id = @org_id and install_id = @install_id and request_id = @request_id;

-- WaitingPhoneHome returns the newest report from an account that waits to be confirmed.
-- name: WaitingPhoneHome :one
select p.* from phone_homes p where p.org_id = @org_id and p.install_id = @install_id and p.status = 'waiting'
    and p.subject->>'cloud' = @cloud::text and p.subject->>'account' = @account::text
order by p.created_at desc, p.request_id desc limit 1;

-- PrunePhoneHomes deletes the reports of an install except the newest accepted ones, and the newest of the others,
-- which anybody may send.
-- name: PrunePhoneHomes :exec
delete from phone_homes p where p.org_id = @org_id and p.install_id = @install_id and p.request_id not in (
    (select k.request_id from phone_homes k where k.org_id = @org_id and k.install_id = @install_id and k.status = 'accepted'
     order by k.created_at desc limit @most)
    union all
    (select k.request_id from phone_homes k where k.org_id = @org_id and k.install_id = @install_id and k.status <> 'accepted'
     order by k.created_at desc limit @most));
