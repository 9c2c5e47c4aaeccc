-- The repositories of an org, for people: the watched refs of apps and components.

-- ViewRepos is ordered by URL and ref. The cursor is the URL, the ref and the id of the last row.
-- name: ViewRepos :many
select w.id, w.url, w.ref, w.checked_at, w.polled_at, w.error, w.webhook_id, w.delivered_at, w.delivery_forge, w.delivery_id,
    d.at as next_poll_at, coalesce(k.name, '') as credential, coalesce(r.commit, '') as commit, read.apps::text[] as apps
from (
    select watch_id, array_agg(name order by name) as apps from (
        select a.watch_id, a.name from apps a where a.org_id = @org_id and a.watch_id is not null
        union
        select c.watch_id, a.name from components c join apps a on a.org_id = c.org_id and a.id = c.app_id
        where c.org_id = @org_id and c.present and c.watch_id is not null) reader
    group by watch_id) read
join watches w on w.org_id = @org_id and w.id = read.watch_id
left join credentials k on k.org_id = w.org_id and k.id = w.credential_id
left join revisions r on r.org_id = w.org_id and r.id = w.revision_id
left join due d on d.org_id = w.org_id and d.kind = 'watch' and d.id = w.id
where (@id::text = '' or w.id = @id) and (w.url, w.ref, w.id) > (@after_url::text, @after_ref::text, @after_id::text)
order by w.url, w.ref, w.id limit @most;

-- name: ViewRevisionsOfRepo :many
select sqlc.embed(r), w.url, w.ref from revisions r join watches w on w.org_id = r.org_id and w.id = r.watch_id
where r.org_id = @org_id and r.watch_id = @watch_id order by r.number desc limit @most;

-- WatchesByID returns the watches of a page of apps.
-- name: WatchesByID :many
select * from watches where org_id = @org_id and id = any(@ids::text[]);
