-- What observe reads and writes: watches, revisions, and the webhooks that make it look sooner.

-- name: WatchByID :one
select * from watches where org_id = @org_id and id = @id;

-- name: LockWatch :one
select * from watches where org_id = @org_id and id = @id for update;

-- name: AddWatch :exec
insert into watches (org_id, id, url, ref, credential_id) values (@org_id, @id, @url, @ref, @credential_id)
on conflict (org_id, url, ref, credential_id) do nothing;

-- WatchOf is locked: whoever is about to read a watch must not miss that it is taken off the list of what is due.
-- name: WatchOf :one
select * from watches where org_id = @org_id and url = @url and ref = @ref and credential_id = @credential_id for update;

-- name: ListWatches :many
select * from watches where org_id = @org_id order by id;

-- Apps that read the watch: as their own repository, or as that of a component which is part of them.
-- name: AppsOfWatch :many
select a.id from apps a
where a.org_id = @org_id and (a.watch_id = @watch_id::text or exists (
    select 1 from components c
    where c.org_id = a.org_id and c.app_id = a.id and c.present and c.watch_id = @watch_id::text))
order by a.id;

-- name: WatchRevision :one
select * from revisions where org_id = @org_id and id = @id;

-- name: AddRevision :one
insert into revisions (org_id, id, watch_id, number, commit, tree, previous, forced, subject, author, changed_paths, reason, trace)
values (@org_id, @id, @watch_id,
    (select coalesce(max(r.number), 0) + 1 from revisions r where r.org_id = @org_id and r.watch_id = @watch_id),
    @commit, @tree, @previous, @forced, @subject, @author, @changed_paths, @reason, @trace)
returning *;

-- name: MoveWatch :exec
update watches set revision_id = @revision_id, checked_at = now(), error = ''
where org_id = @org_id and id = @id;

-- name: SetWatchChecked :exec
update watches set checked_at = now(), error = '' where org_id = @org_id and id = @id;

-- SetWatchError stores why a watch cannot be read, and returns for how many seconds it could not be read.
-- name: SetWatchError :one
update watches set error = @error where org_id = @org_id and id = @id
returning extract(epoch from now() - coalesce(checked_at, created_at))::float8;

-- name: CredentialOfWatch :one
select * from credentials where org_id = @org_id and id = @id;

-- name: WebhookToVerify :one
select * from webhooks where org_id = @org_id and id = @id;

-- A delivery that is there already changes no row: it is a replay.
-- name: AddWebhookDelivery :execrows
with new as (
    insert into webhook_deliveries (org_id, webhook_id, signature, received_at) values (@org_id, @webhook_id, @signature, @received_at)
    on conflict do nothing returning org_id, webhook_id, received_at)
update webhooks w set last_delivery_at = new.received_at from new where w.org_id = new.org_id and w.id = new.webhook_id;

-- name: ForgetWebhookDeliveries :exec
delete from webhook_deliveries where org_id = @org_id and webhook_id = @webhook_id and received_at < @before;

-- name: DueOf :one
select at from due where org_id = @org_id and kind = @kind and id = @id;
