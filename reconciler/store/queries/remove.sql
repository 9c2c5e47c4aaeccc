-- Removal of apps, runners, credentials for git and webhooks by people.

-- name: InstallNamesOfApp :many
select name from installs where org_id = @org_id and app_id = @app_id order by name limit @most;

-- OpenJobsOfApp returns the builds and refreshes of modules of an app that may be running.
-- name: OpenJobsOfApp :many
select j.id from jobs j join builds b on b.org_id = j.org_id and j.owner_kind = 'build' and b.id = j.owner_id
join components c on c.org_id = b.org_id and c.id = b.component_id
where j.org_id = @org_id and c.app_id = @app_id and j.ended_at is null
union all
select j.id from jobs j join module_refresh_components m on m.org_id = j.org_id and j.owner_kind = 'refresh' and m.id = j.owner_id
join components c on c.org_id = m.org_id and c.id = m.component_id
where j.org_id = @org_id and c.app_id = @app_id and j.ended_at is null;

-- OpenJobsOfInstall returns the jobs of an install that have not ended, each with its runner.
-- name: OpenJobsOfInstall :many
select sqlc.embed(j), r.name as runner from jobs j join runners r on r.org_id = j.org_id and r.id = j.runner_id
where j.org_id = @org_id and j.install_id = @install_id::text and j.ended_at is null order by j.created_at, j.id;

-- DropApp deletes an app with its versions, components and builds, but not its installs.
-- name: DropApp :execrows
delete from apps a where a.org_id = @org_id and a.id = @id
  and not exists (select 1 from installs i where i.org_id = a.org_id and i.app_id = a.id);

-- name: InstallNamesOfRunner :many
select (a.name || '/' || i.name)::text as name from installs i join apps a on a.org_id = i.org_id and a.id = i.app_id
where i.org_id = @org_id and i.runner_id = @runner_id order by 1 limit @most;

-- DropJobsOfRunner deletes the ended jobs of a removed runner, and the builds and refreshes that are queued for it.
-- Such builds wait for another runner, and such refreshes fail.
-- name: DropJobsOfRunner :exec
with gone as (
    delete from jobs j where j.org_id = @org_id and j.runner_id = @runner_id and (j.ended_at is not null or j.owner_kind in ('build', 'refresh') and j.status = 'queued')
    returning j.id
), failed as (
    update module_refresh_components c set status = 'failed', error = 'its build runner was deleted'
    where c.org_id = @org_id and c.job_id in (select id from gone) and c.status = 'running' returning c.refresh_id
), ended as (
    update module_refreshes m set status = 'failed', error = 'its build runner was deleted', ended_at = now()
    where m.org_id = @org_id and m.id in (select refresh_id from failed) and m.status = 'running')
update builds b set job_id = null where b.org_id = @org_id and b.job_id in (select id from gone);

-- name: OpenJobsOfRunner :one
select count(*) from jobs where org_id = @org_id and runner_id = @runner_id;

-- name: DropRunner :execrows
delete from runners where org_id = @org_id and id = @id;

-- LockCredential locks a credential for git, so that it is not deleted before the work that uses it ends. It takes an id
-- or a name. An id is never taken for a name.
-- name: LockCredential :one
select * from credentials where org_id = @org_id and (id = @key or name = @key) order by id = @key desc limit 1 for key share;

-- TakeCredential takes an id or a name. An id is never taken for a name.
-- name: TakeCredential :one
select * from credentials where org_id = @org_id and (id = @key or name = @key) order by id = @key desc limit 1 for update;

-- AppsOfCredential returns the apps that read something with a credential for git.
-- name: AppsOfCredential :many
select distinct a.name from apps a
join watches w on w.org_id = a.org_id and w.credential_id = @credential_id::text and (w.id = a.watch_id or exists (
    select 1 from components c where c.org_id = a.org_id and c.app_id = a.id and c.present and c.watch_id = w.id))
where a.org_id = @org_id order by a.name limit @most;

-- name: DropCredential :execrows
delete from credentials where org_id = @org_id and id = @id;

-- ViewWebhooks returns one webhook, or all for an empty id, without secrets.
-- name: ViewWebhooks :many
select id, created_at, rotated_at, previous_until, last_delivery_at, last_result from webhooks
where org_id = @org_id and (@id::text = '' or id = @id) order by created_at, id;

-- MakeWatchesOfWebhookDue makes polls of the watches that a webhook announced due now.
-- name: MakeWatchesOfWebhookDue :exec
update due d set at = least(d.at, now()) where d.org_id = @org_id and d.kind = 'watch'
and d.id in (select w.id from watches w where w.org_id = @org_id and w.webhook_id = @webhook_id::text);

-- name: DropWebhook :execrows
delete from webhooks where org_id = @org_id and id = @id;
