-- Watches, revisions, and the webhooks that trigger polls (package observe).

-- name: WatchByID :one
select * from watches where org_id = @org_id and id = @id;

-- name: LockWatch :one
select * from watches where org_id = @org_id and id = @id for update;

-- name: AddWatch :exec
insert into watches (org_id, id, url, ref, credential_id) values (@org_id, @id, @url, @ref, @credential_id)
on conflict (org_id, url, ref, credential_id) do nothing;

-- FindWatch returns and locks a watch, so that its reader notices when its due item is deleted.
-- name: FindWatch :one
select * from watches where org_id = @org_id and url = @url and ref = @ref and credential_id = @credential_id for update;

-- WatchesPolled returns the watches that something reads.
-- name: WatchesPolled :many
select w.* from watches w join due d on d.org_id = w.org_id and d.kind = 'watch' and d.id = w.id where w.org_id = @org_id order by w.id;

-- AppsOfWatch returns the apps that read a watch: as their own repository, or as that of one of their components.
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

-- SetWatchRevision and SetWatchChecked return how many seconds ago a webhook last reported a push; infinity for never.
-- name: SetWatchRevision :one
update watches set revision_id = @revision_id, checked_at = now(), polled_at = now(), error = ''
where org_id = @org_id and id = @id
returning coalesce(extract(epoch from now() - delivered_at), 'infinity')::float8;

-- name: SetWatchChecked :one
update watches set checked_at = now(), polled_at = now(), error = '' where org_id = @org_id and id = @id
returning coalesce(extract(epoch from now() - delivered_at), 'infinity')::float8;

-- SetWatchError stores why a watch cannot be read, and returns for how many seconds it could not be read.
-- name: SetWatchError :one
update watches set error = @error, polled_at = now() where org_id = @org_id and id = @id
returning extract(epoch from now() - coalesce(checked_at, created_at))::float8;

-- LockWatches locks in the order of the ids, so that two deliveries do not wait for each other.
-- name: LockWatches :many
select id from watches where org_id = @org_id and id = any(@ids::text[]) order by id for update;

-- RecordDelivery records a delivery at the watches that it is about.
-- name: RecordDelivery :exec
update watches set delivered_at = now(), delivery_forge = @forge, delivery_id = @delivery_id
where org_id = @org_id and id = any(@ids::text[]);

-- SetWatchWebhook makes polls of a watch rare, because a webhook announces its pushes.
-- name: SetWatchWebhook :exec
update watches set webhook_id = @webhook_id::text where org_id = @org_id and id = any(@ids::text[]);

-- ClearWatchWebhook restores the usual interval of polls of a watch.
-- name: ClearWatchWebhook :exec
update watches set webhook_id = null where org_id = @org_id and id = @id;

-- MakeWatchesDue makes a poll of watches due now. A watch that nothing reads has no due item and gets none.
-- name: MakeWatchesDue :exec
update due set at = least(at, now()) where org_id = @org_id and kind = 'watch' and id = any(@ids::text[]);

-- name: CredentialOfWatch :one
select * from credentials where org_id = @org_id and id = @id;

-- WebhookToVerify returns a webhook with its secrets. It has the secret before the last rotation only while that is
-- accepted.
-- name: WebhookToVerify :one
select sealed, (case when previous_until > now() then previous end)::jsonb as previous from webhooks where org_id = @org_id and id = @id;

-- AddWebhookDelivery adds no row for a delivery that was already handled.
-- name: AddWebhookDelivery :execrows
insert into webhook_deliveries (org_id, webhook_id, delivery) values (@org_id, @webhook_id, @delivery)
on conflict do nothing;

-- name: SetWebhookDelivered :exec
update webhooks set last_delivery_at = now(), last_result = @result where org_id = @org_id and id = @id;

-- name: DueOf :one
select at from due where org_id = @org_id and kind = @kind and id = @id;
