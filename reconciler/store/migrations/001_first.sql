-- The first schema. Every table but orgs and due belongs to one org: its primary and foreign keys
-- include org_id, and row-level security hides the rows of every other org (design, section 10).
-- Life cycles are CHECK constraints here and one Go type each in the package that owns them.

-- The keys of the checksums of tokens (package token): the newest makes checksums, and all of them verify. A reader of a key can make a
-- token that is looked up, but none that is valid.
create table token_keys (
    id         int generated always as identity primary key,
    key        bytea not null check (length(key) = 32),
    created_at timestamptz not null default now()
);
insert into token_keys (key) values (sha256(decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')));

create table orgs (
    id         text primary key,
    name       text not null unique check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    created_at timestamptz not null default now()
);

-- due is the only table that loops over all orgs may read: ids and times.
create table due (
    org_id text not null references orgs on delete cascade,
    kind   text not null check (kind in ('watch', 'attempt', 'install', 'app', 'org', 'health', 'secrets', 'images')),
    id     text not null,
    at     timestamptz not null,
    primary key (org_id, kind, id)
);
create index due_at on due (at);

-- Only waiting requests in River's queue have a unique key. A running one does not block a new one, because it may have read its data
-- before the change.
create function river_job_answered() returns trigger language plpgsql as $$ begin new.unique_key := null; return new; end $$;
create trigger river_job_answered before update of state on river.river_job for each row
    when (new.state = 'running' and new.unique_key is not null) execute function river_job_answered();

-- The column changed has the number of the transaction that wrote a row last. With the oldest transaction that was open at a read
-- (ReadMark), ChangedInstalls finds what changed since.
create function note_change() returns trigger language plpgsql as $$ begin new.changed := pg_current_xact_id()::text::bigint; return new; end $$;

-- replicas are the control planes that share this database, with their heartbeats. They belong to no org.
create table replicas (
    id         text primary key,
    version    text not null,
    schema     int not null,
    -- Whether it has the embedded registry, which only one replica may have.
    embedded   boolean not null default false,
    started_at timestamptz not null default now(),
    seen_at    timestamptz not null default now()
);

-- uptime has one row: since when replicas have written without a gap, and when one did last. Outside of that time no runner could
-- extend a lease, so it counts for none.
create table uptime (
    one     boolean primary key default true check (one),
    since   timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp()
);

-- Who may do what -------------------------------------------------------------------------------

create table tokens (
    org_id     text not null references orgs on delete cascade,
    id         text not null,
    name       text not null,
    role       text not null check (role in ('viewer', 'ci', 'operator', 'approver', 'admin')),
    -- The only app that it is for; null for all.
    app_id     text,
    hash       bytea not null,
    created_by text not null default '',
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, hash)
);
-- A name belongs to one valid token at a time.
create unique index tokens_by_name on tokens (org_id, name) where revoked_at is null;

create table credentials (
    org_id     text not null references orgs on delete cascade,
    id         text not null,
    name       text not null,
    username   text not null default '',
    sealed     jsonb not null,
    -- URLs, or https://host/owner/*, that the credential may be sent to; none until an app names the credential
    repositories text[] not null default '{}',
    -- Addresses of Terraform modules that builds may use it for (build.ModulePattern)
    modules    text[] not null default '{}',
    created_at timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, name)
);

create table webhooks (
    org_id     text not null references orgs on delete cascade,
    id         text not null,
    sealed     jsonb not null,
    -- The secret before the last rotation, and until when it is accepted.
    previous       jsonb,
    previous_until timestamptz,
    created_at timestamptz not null default now(),
    rotated_at timestamptz,
    -- The last delivery with the secret, and the response.
    last_delivery_at timestamptz,
    last_result      text not null default '',
    primary key (org_id, id)
);

-- Handled deliveries, so that a repeated one triggers no poll.
create table webhook_deliveries (
    org_id      text not null,
    webhook_id  text not null,
    -- SHA-256 of the forge, its id of the delivery and the body
    delivery    bytea not null,
    received_at timestamptz not null default now(),
    primary key (org_id, webhook_id, delivery),
    foreign key (org_id, webhook_id) references webhooks on delete cascade
);

create table audit_events (
    org_id  text not null references orgs on delete cascade,
    id      bigint generated always as identity,
    at      timestamptz not null default now(),
    actor   text not null,
    action  text not null,
    subject text not null,
    detail  jsonb not null default '{}',
    primary key (org_id, id)
);
create index audit_events_of_subject on audit_events (org_id, subject, id);

create table idempotency_keys (
    org_id     text not null references orgs on delete cascade,
    key        text not null,
    request    bytea not null,
    response   jsonb not null,
    created_at timestamptz not null default now(),
    primary key (org_id, key)
);
-- Responses to repeated requests that have expired.
create index idempotency_keys_age on idempotency_keys (org_id, created_at);

-- observe: what is in git -----------------------------------------------------------------------

create table watches (
    org_id        text not null references orgs on delete cascade,
    id            text not null,
    url           text not null,
    ref           text not null,
    credential_id text not null default '',
    revision_id   text,
    -- The times of the last successful read and of the last try.
    checked_at    timestamptz,
    polled_at     timestamptz,
    error         text not null default '',
    -- The webhook that announces its pushes, so that polls are rare; null without one.
    webhook_id    text,
    -- The last delivery of any webhook about it: the forge, and the forge's id of the delivery.
    delivered_at   timestamptz,
    delivery_forge text not null default '',
    delivery_id    text not null default '',
    created_at    timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, url, ref, credential_id),
    foreign key (org_id, webhook_id) references webhooks on delete set null (webhook_id)
);
-- The watches of a webhook, for its deletion.
create index watches_of_webhook on watches (org_id, webhook_id) where webhook_id is not null;

create table revisions (
    org_id        text not null,
    id            text not null,
    watch_id      text not null,
    number        int not null,
    commit        text not null,
    tree          text not null,
    previous      text not null default '',
    forced        boolean not null default false,
    subject       text not null default '',
    author        text not null default '',
    changed_paths jsonb,
    reason        text not null,
    outcome       text not null default '',
    trace         text not null default '',
    observed_at   timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, watch_id, number),
    foreign key (org_id, watch_id) references watches on delete cascade
);

-- catalog: apps and what is in them -------------------------------------------------------------

create table apps (
    org_id      text not null references orgs on delete cascade,
    id          text not null,
    name        text not null check (name ~ '^[a-z0-9_-]{1,63}$'),
    watch_id    text,
    directory   text not null default '.',
    version_id  text,
    revision_id text,
    diagnostics jsonb not null default '[]',
    created_at  timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, name),
    foreign key (org_id, watch_id) references watches
);

create table app_versions (
    org_id      text not null,
    id          text not null,
    app_id      text not null,
    number      int not null,
    digest      text not null,
    config      jsonb not null,
    revision_id text,
    reason      text not null,
    created_at  timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, app_id, digest),
    unique (org_id, app_id, number),
    foreign key (org_id, app_id) references apps on delete cascade
);

-- Values of the vendor that are not in git: plain, or sealed to the control plane's key.
create table app_variables (
    org_id     text not null,
    app_id     text not null,
    name       text not null,
    value      text,
    sealed     jsonb,
    hash       text not null,
    updated_by text not null,
    updated_at timestamptz not null default now(),
    primary key (org_id, app_id, name),
    foreign key (org_id, app_id) references apps on delete cascade,
    check ((value is null) <> (sealed is null))
);

-- The token of an app is deleted with it.
alter table tokens add foreign key (org_id, app_id) references apps on delete cascade;

-- The sandbox is the component of kind sandbox, upstream of all others. Code that actions run from repositories is built and released
-- like a component, as kind action_source; installs have no such component.
create table components (
    org_id         text not null,
    id             text not null,
    app_id         text not null,
    name           text not null,
    kind           text not null check (kind in ('sandbox', 'terraform_module', 'helm_chart', 'kubernetes_manifest', 'container_image',
        'docker_build', 'action_source')),
    present        boolean not null default true,
    watch_id       text,
    input_id       text,
    problem        text not null default '',
    problem_digest text not null default '',
    created_at     timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, app_id, name),
    foreign key (org_id, app_id) references apps on delete cascade,
    foreign key (org_id, watch_id) references watches
);

-- build: what was made from it ------------------------------------------------------------------

create table component_inputs (
    org_id       text not null,
    id           text not null,
    component_id text not null,
    digest       text not null,
    recipe       jsonb not null,
    -- The resolution of module calls that its builds start from (build.Resolution), and the digest of the same input without one. Null and
    -- empty for an input that starts from none.
    resolution   jsonb,
    base         text not null default '',
    -- Of a sandbox: the variables that its module declares and nuon may pass (appconfig.ModuleVariable).
    variables    jsonb not null default '[]',
    revision_id  text,
    reason       text not null,
    created_at   timestamptz not null default now(),
    -- When it was created, or a refresh chose it again: the newest of the same code counts.
    chosen_at    timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, component_id, digest),
    foreign key (org_id, component_id) references components on delete cascade,
    check ((resolution is null) = (base = ''))
);
-- The inputs of the same code that start from a resolution.
create index component_inputs_of_base on component_inputs (org_id, component_id, base) where base <> '';

create table builds (
    org_id          text not null,
    id              text not null,
    component_id    text not null,
    input_id        text not null,
    number          int not null,
    status          text not null check (status in ('queued', 'running', 'succeeded', 'failed')),
    repository      text not null,
    commit          text not null,
    -- The packed source in the vendor's registry, and its size; empty if there is none, or if it was deleted.
    source_digest   text not null default '',
    source_bytes    bigint not null default 0,
    artifact_digest text not null default '',
    artifact_bytes  bigint not null default 0,
    reason          text not null,
    error           text not null default '',
    -- The tool that its modules are for, or image for an image; empty if it resolved nothing.
    modules_tool    text not null default '' check (modules_tool in ('', 'terraform', 'tofu', 'image')),
    job_id          text,
    trace           text not null default '',
    created_at      timestamptz not null default now(),
    ended_at        timestamptz,
    primary key (org_id, id),
    unique (org_id, component_id, number),
    foreign key (org_id, component_id) references components on delete cascade,
    foreign key (org_id, input_id) references component_inputs on delete cascade
);
-- The build that counts for an input, which every reconcile of an install reads.
create index builds_of_input on builds (org_id, input_id, number);
-- At most one build of an input is open or has succeeded.
create unique index builds_one_per_input on builds (org_id, input_id) where status <> 'failed';
-- The build of a job that is deleted.
create index builds_of_job on builds (org_id, job_id);

-- The result of each remote module call of a build, or its image, as the runner reported it.
create table build_modules (
    org_id             text not null,
    build_id           text not null,
    key                text not null,
    source             text not null,
    version_constraint text not null default '',
    version            text not null default '',
    repository         text not null default '',
    commit             text not null default '',
    archive            text not null default '',
    tree               text not null,
    directory          text not null,
    primary key (org_id, build_id, key),
    foreign key (org_id, build_id) references builds on delete cascade
);

-- A request to resolve the images and module calls of components again.
create table module_refreshes (
    org_id       text not null,
    id           text not null,
    app_id       text not null,
    status       text not null default 'running' check (status in ('running', 'succeeded', 'failed')),
    -- A dry run reports what would change and changes nothing.
    dry_run      boolean not null,
    requested_by text not null,
    error        text not null default '',
    -- The release with the changes; 0 for none.
    release      int not null default 0,
    created_at   timestamptz not null default now(),
    ended_at     timestamptz,
    primary key (org_id, id),
    foreign key (org_id, app_id) references apps on delete cascade,
    check ((status = 'running') = (ended_at is null))
);
create index module_refreshes_of_app on module_refreshes (org_id, app_id);

create table module_refresh_components (
    org_id       text not null,
    id           text not null,
    refresh_id   text not null,
    component_id text not null,
    -- The component's input when the refresh was requested, its resolution then, and the new one.
    input_id     text not null,
    before       jsonb not null,
    after        jsonb,
    status       text not null default 'running' check (status in ('running', 'succeeded', 'failed')),
    error        text not null default '',
    job_id       text not null,
    -- The new build.
    build_id     text not null default '',
    primary key (org_id, id),
    unique (org_id, refresh_id, component_id),
    foreign key (org_id, refresh_id) references module_refreshes on delete cascade,
    foreign key (org_id, component_id) references components on delete cascade,
    foreign key (org_id, input_id) references component_inputs on delete cascade
);

-- Content of the vendor's registry that no build refers to any more. The row stays for a while after the deletion: a build that found the
-- content before must not rely on it.
create table registry_garbage (
    org_id       text not null references orgs on delete cascade,
    repository   text not null,
    digest       text not null,
    kind         text not null check (kind in ('artifact', 'source')),
    app_id       text not null,
    app          text not null,
    component_id text not null,
    component    text not null,
    build        int not null,
    bytes        bigint not null,
    since        timestamptz not null default now(),
    -- The deletion was begun: the content may be gone.
    begun_at     timestamptz,
    deleted_at   timestamptz,
    primary key (org_id, repository, digest)
);

-- release: what installs get --------------------------------------------------------------------

-- A release is a set of digests: a config and one input for each component that is deployed. Only its status changes.
create table releases (
    org_id       text not null,
    id           text not null,
    app_id       text not null,
    number       int not null,
    digest       text not null,
    version_id   text not null,
    -- The config of a partial release whose components do not all have the config of the version.
    config       jsonb,
    partial      boolean not null default false,
    status       text not null check (status in ('building', 'complete', 'incomplete')),
    -- Why it is not complete.
    reason       text not null default '',
    -- The reason for it.
    cause        text not null,
    -- The commit of every watched repository, or the digest of the upload (release.Commit).
    commits      jsonb not null default '[]',
    created_at   timestamptz not null default now(),
    completed_at timestamptz,
    primary key (org_id, id),
    unique (org_id, app_id, number),
    foreign key (org_id, app_id) references apps on delete cascade,
    foreign key (org_id, version_id) references app_versions on delete cascade
);
-- The newest complete release of an app, which every reconcile of an install reads.
create index releases_complete on releases (org_id, app_id, number) where status = 'complete';

create table release_components (
    org_id       text not null,
    release_id   text not null,
    component_id text not null,
    -- Null if no input could be computed.
    input_id     text,
    -- Why no input could be computed.
    problem      text not null default '',
    -- In a partial release: number of the release that the component is kept from.
    kept_from    int not null default 0,
    primary key (org_id, release_id, component_id),
    foreign key (org_id, release_id) references releases on delete cascade,
    foreign key (org_id, component_id) references components on delete cascade,
    foreign key (org_id, input_id) references component_inputs on delete cascade,
    check ((input_id is null) = (problem <> ''))
);
create index release_components_of_input on release_components (org_id, input_id);

-- runners ---------------------------------------------------------------------------------------

create table runners (
    org_id      text not null references orgs on delete cascade,
    id          text not null,
    name        text not null,
    kind        text not null check (kind in ('build', 'install')),
    shared      boolean not null default false,
    key_hash    bytea,
    -- A requested key that was not used yet. Its first use makes it key_hash.
    next_key_hash bytea,
    key_since   timestamptz,
    registered_at timestamptz,
    recipient   text not null default '',
    -- A person reported that the install key is lost: the next registration may have another.
    new_key     boolean not null default false,
    -- How the machine registered, and the identity that it proved.
    registered_by text not null default '' check (registered_by in ('', 'token', 'identity')),
    identity    jsonb not null default '{}',
    -- A machine was replaced: a person has to confirm the next one that registers by its identity.
    held        boolean not null default false,
    version     text not null default '',
    capacity    int not null default 0,
    policy      jsonb not null default '{}',
    last_seen   timestamptz,
    created_at  timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, name)
);

create table registrations (
    org_id     text not null,
    id         text not null,
    runner_id  text not null,
    hash       bytea not null,
    expires_at timestamptz not null,
    used_at    timestamptz,
    -- The public install key of the machine that used it, empty if the token is void or the machine proved none.
    used_for   text not null default '',
    -- SHA-256 of the nonce that the runner has to decrypt, and the key that it was sealed to; null without an open challenge.
    challenge     bytea,
    challenge_for text not null default '',
    primary key (org_id, id),
    unique (org_id, hash),
    foreign key (org_id, runner_id) references runners on delete cascade
);

-- rollout: installs and who is behind -----------------------------------------------------------

create table installs (
    org_id        text not null,
    id            text not null,
    app_id        text not null,
    name          text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    runner_id     text not null,
    approval      text not null default 'prompt' check (approval in ('prompt', 'approve-all')),
    allow_destroy boolean not null default false,
    -- People must not approve what they requested.
    approvals_by_others boolean not null default false,
    -- The people who changed the desired state since the install last reached it. With approvals_by_others, none of them
    -- may approve a workflow of it.
    desired_by    text[] not null default '{}',
    -- Who set the three settings above, and when; see workflow.ApprovalRuleOf.
    rule          jsonb not null default '{}',
    desired_presence        text not null default 'present' check (desired_presence in ('present', 'absent')),
    provisioned   boolean not null default false,
    -- The release for which the desired states of its components were computed, as lists read them.
    resolved_release_id text not null default '',
    -- The release that it is pinned to; null if it follows the newest complete one.
    pin_release_id text,
    pin_reason    text not null default '',
    pinned_by     text not null default '',
    -- Who manages it: people and programs (manual), or the install files of its app (config).
    managed_by    text not null default 'manual' check (managed_by in ('manual', 'config')),
    labels        jsonb not null default '{}',
    account       jsonb not null default '{}',
    -- The cloud account that a person confirmed, if the account above is empty: {cloud, account, tenant}.
    confirmed_account jsonb not null default '{}',
    -- Components that it switched on (true) or off, by name.
    toggles       jsonb not null default '{}',
    -- Values of components that differ for it, by name; see appconfig.Override.
    overrides     jsonb not null default '{}',
    changed       bigint not null default 0,
    created_at    timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, app_id, name),
    foreign key (org_id, pin_release_id) references releases,
    foreign key (org_id, app_id) references apps on delete cascade,
    foreign key (org_id, runner_id) references runners
);
create index installs_by_name on installs (org_id, name);
-- The installs of a runner that registers.
create index installs_of_runner on installs (org_id, runner_id);
create index installs_changed on installs (org_id, app_id, changed);
create trigger installs_note_change before insert or update on installs for each row execute function note_change();

create table install_inputs (
    org_id     text not null,
    install_id text not null,
    name       text not null,
    value      text,
    sealed     jsonb,
    hash       text not null,
    updated_at timestamptz not null default now(),
    primary key (org_id, install_id, name),
    foreign key (org_id, install_id) references installs on delete cascade,
    check ((value is null) <> (sealed is null))
);

-- What an install's stack reported or a person set, as append-only versions of all of them: {NAME: {value, source, reported}}. reported is the
-- stack's value where a person set another one. changed are the names that differ from the version before.
create table stack_outputs (
    org_id        text not null,
    install_id    text not null,
    version       int not null check (version > 0),
    source        text not null check (source in ('manual', 'phone_home')),
    stack_version text not null default '',
    outputs       jsonb not null,
    changed       text[] not null,
    actor         text not null,
    created_at    timestamptz not null default now(),
    primary key (org_id, install_id, version),
    foreign key (org_id, install_id) references installs on delete cascade
);

-- What the runner of an install reported of the customer's secrets: names, ids of versions and where the copies are, never a value. digest is
-- that of what it was asked last.
create table install_secrets (
    org_id     text not null,
    install_id text not null,
    digest     text not null,
    secrets    jsonb not null default '[]',
    checked_at timestamptz,
    primary key (org_id, install_id),
    foreign key (org_id, install_id) references installs on delete cascade
);

-- The stacks that were rendered for an install, as append-only versions: the files, named by digest, and the number of the release whose config
-- they come from.
create table stack_versions (
    org_id     text not null,
    install_id text not null,
    version    int not null check (version > 0),
    digest     text not null,
    cloud      text not null,
    name       text not null,
    region     text not null,
    files      jsonb not null,
    findings   jsonb not null,
    release    int not null,
    created_at timestamptz not null default now(),
    primary key (org_id, install_id, version),
    foreign key (org_id, install_id) references installs on delete cascade
);

-- One-time nonces for proofs of cloud identities: SHA-256 of the nonce; for a runner also of the proof that it has to decrypt, and the key
-- that the proof was sealed to.
create table identity_nonces (
    org_id     text not null,
    hash       bytea not null,
    install_id text not null,
    recipient  text not null,
    proof      bytea,
    expires_at timestamptz not null,
    primary key (org_id, hash),
    foreign key (org_id, install_id) references installs on delete cascade
);

-- Proven cloud identities for an install. A waiting one has to be confirmed by a person.
create table cloud_claims (
    org_id       text not null,
    id           text not null,
    install_id   text not null,
    purpose      text not null check (purpose in ('runner', 'phone_home')),
    cloud        text not null check (cloud in ('aws', 'azure', 'gcp')),
    account      text not null,
    tenant       text not null,
    name         text not null,
    machine      text not null,
    recipient    text not null,
    -- SHA-256 of a token that is bound to no nonce: it counts for one key only.
    token_hash   bytea,
    confirmed_by text not null default '',
    confirmed_at timestamptz,
    first_seen   timestamptz not null default now(),
    last_seen    timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, install_id, purpose, cloud, account, tenant, name, machine, recipient),
    foreign key (org_id, install_id) references installs on delete cascade
);
create unique index cloud_claims_token on cloud_claims (org_id, token_hash);

-- The reports of stacks, by the id of the cloud's request.
create table phone_homes (
    org_id        text not null,
    install_id    text not null,
    request_id    text not null,
    kind          text not null check (kind in ('create', 'update', 'delete')),
    status        text not null check (status in ('accepted', 'waiting', 'refused')),
    reason        text not null default '',
    stack_id      text not null,
    stack_version text not null,
    subject       jsonb not null,
    claim_id      text not null default '',
    outputs       jsonb not null,
    kept          text[] not null default '{}',
    created_at    timestamptz not null default clock_timestamp(),
    primary key (org_id, install_id, request_id),
    foreign key (org_id, install_id) references installs on delete cascade
);
create index phone_homes_age on phone_homes (org_id, install_id, created_at);

-- Requests of the vendor to act under a break-glass role of an install until a time. The customer grants them, in the stack and on the
-- runner; without a request no job gets such a role.
create table break_glass_requests (
    org_id       text not null,
    id           text not null,
    install_id   text not null,
    role         text not null,
    reason       text not null,
    requested_by text not null,
    created_at   timestamptz not null default clock_timestamp(),
    until        timestamptz not null,
    revoked_at   timestamptz,
    revoked_by   text not null default '',
    primary key (org_id, id),
    foreign key (org_id, install_id) references installs on delete cascade
);
create index break_glass_requests_of_install on break_glass_requests (org_id, install_id, until);

create table install_components (
    org_id             text not null,
    id                 text not null,
    install_id         text not null,
    component_id       text not null,
    name               text not null,
    desired_presence             text not null default 'present' check (desired_presence in ('present', 'absent')),
    desired_digest     text not null default '',
    desired_reason     text not null default '',
    waits_for          text not null default '',
    -- More of the desired state for lists: that something else is applied, as far as known; why it is to be absent although the version
    -- has it; that it waits for a value that no install can have; that it waits for a person or another release.
    behind             boolean not null default false,
    disabled_by                text not null default '' check (disabled_by in ('', 'toggle', 'teardown')),
    unsatisfiable              boolean not null default false,
    stalled              boolean not null default false,
    -- A person tore it down: it stays absent until a deploy of it is requested.
    torn_down          boolean not null default false,
    torn_down_reason   text not null default '',
    applied_digest     text not null default '',
    applied_artifact   text not null default '',
    applied_release_id text,
    applied_config     jsonb,
    applied_values     jsonb,
    applied_at         timestamptz,
    -- Of a manifest: the Kubernetes objects that exist or may exist.
    applied_inventory  jsonb,
    -- The cluster that it is in, as its runner named it, with a keyed hash of that runner's install key.
    applied_cluster    jsonb,
    -- Its health, as its runner reported it last.
    health             jsonb,
    -- What others changed since the last apply, as the newest plan found it (api.Drift).
    drift              jsonb,
    -- Who abandoned its state and why, until it is applied again: earlier resources may still exist.
    abandoned          text not null default '',
    primary key (org_id, id),
    unique (org_id, install_id, component_id),
    foreign key (org_id, install_id) references installs on delete cascade,
    foreign key (org_id, component_id) references components
);

-- A rejection by a person, or a failure that needs a decision, applies to the desired state of that time.
create table rejections (
    org_id               text not null,
    install_component_id text not null,
    desired_digest       text not null,
    kind                 text not null check (kind in ('rejected', 'cancelled', 'stalled')),
    actor                text not null,
    reason               text not null,
    workflow_id          text not null,
    at                   timestamptz not null default now(),
    primary key (org_id, install_component_id, desired_digest),
    foreign key (org_id, install_component_id) references install_components on delete cascade
);
-- The rejections of one workflow.
create index rejections_of_workflow on rejections (org_id, workflow_id);

-- The outputs of an install's components and actions: plain, or sealed to the install's key with a keyed hash.
create table outputs (
    org_id     text not null,
    install_id text not null,
    scope      text not null check (scope in ('component', 'action')),
    owner      text not null,
    name       text not null,
    value      jsonb,
    sealed     jsonb,
    hash       text not null,
    updated_at timestamptz not null default now(),
    primary key (org_id, install_id, scope, owner, name),
    foreign key (org_id, install_id) references installs on delete cascade,
    check ((value is null) <> (sealed is null))
);

-- How the latest run of each action on an install ended, for templates.
create table action_runs (
    org_id      text not null,
    install_id  text not null,
    action      text not null,
    workflow_id text not null,
    status      text not null check (status in ('succeeded', 'failed', 'cancelled')),
    ended_at    timestamptz not null default now(),
    primary key (org_id, install_id, action),
    foreign key (org_id, install_id) references installs on delete cascade
);

-- workflow --------------------------------------------------------------------------------------

create table workflows (
    org_id       text not null,
    id           text not null,
    install_id   text not null,
    number       int not null,
    kind         text not null check (kind in ('provision', 'deploy', 'teardown', 'deprovision', 'action', 'restore')),
    status       text not null check (status in ('running', 'succeeded', 'failed', 'rejected', 'cancelled', 'superseded')),
    reason       text not null,
    outcome      text not null default '',
    requested_by text not null,
    -- The parameters of the request, and who ended it and why (workflow.WorkflowParams).
    request      jsonb not null default '{}',
    cancelled    boolean not null default false,
    plan_only    boolean not null default false,
    -- The rule of an approver for this workflow (workflow.storedRule): who, by which token, when; null for none.
    rule         jsonb,
    -- Number of the release that it was started for; 0 for none.
    release      int not null default 0,
    revision     bigint not null default 0,
    trace        text not null default '',
    changed      bigint not null default 0,
    created_at   timestamptz not null default now(),
    ended_at     timestamptz,
    primary key (org_id, id),
    unique (org_id, install_id, number),
    foreign key (org_id, install_id) references installs on delete cascade
);
create index workflows_running on workflows (org_id, install_id) where status = 'running';
-- Lists of one kind or status, the newest first; and the expired ones.
create index workflows_by_kind on workflows (org_id, kind, id);
create index workflows_by_status on workflows (org_id, status, id);
create index workflows_ended on workflows (org_id, ended_at);
create index workflows_changed on workflows (org_id, changed);
create trigger workflows_note_change before insert or update on workflows for each row execute function note_change();

create table steps (
    org_id               text not null,
    id                   text not null,
    workflow_id          text not null,
    position             int not null,
    kind                 text not null check (kind in ('sync', 'plan', 'approve', 'apply', 'action')),
    component            text not null default '',
    action               text not null default '',
    trigger              text not null default '',
    destroy              boolean not null default false,
    needs                jsonb not null default '[]',
    install_component_id text,
    status               text not null check (status in ('pending', 'running', 'waiting', 'succeeded', 'failed', 'skipped', 'cancelled')),
    reason               text not null default '',
    -- Whether a person skipped it.
    skipped_by_person               boolean not null default false,
    -- Who rejected its plan or script.
    rejected_by          text not null default '',
    tries                int not null default 0,
    -- The number of tries that were interrupted, lost or stale, which are no failures.
    interruptions               int not null default 0,
    -- What the plan under way leads to (workflow.Target); kept with the plan once there is one. Of an action, the code of repositories
    -- that its run has.
    target               jsonb,
    plan_id              text,
    job_id               text,
    started_at           timestamptz,
    ended_at             timestamptz,
    primary key (org_id, id),
    unique (org_id, workflow_id, position),
    foreign key (org_id, workflow_id) references workflows on delete cascade
);

create table plans (
    org_id               text not null,
    id                   text not null,
    step_id              text not null,
    workflow_id          text not null,
    install_id           text not null,
    install_component_id text not null,
    component            text not null,
    destroy              boolean not null default false,
    status               text not null check (status in ('ready', 'empty', 'approved', 'rejected', 'superseded', 'stale', 'consumed', 'applied', 'failed')),
    reason               text not null default '',
    desired_digest       text not null,
    basis                jsonb not null,
    basis_digest         text not null,
    bundle_digest        text not null,
    report               jsonb not null,
    -- A copy from the report, so that lists do not read the report.
    totals               jsonb generated always as (report -> 'totals') stored,
    report_digest        text not null,
    -- Equal for plans of several installs that differ only in the installs' own names; empty for a plan that never equals another.
    group_digest         text not null default '',
    content_digest       text not null,
    destructive          boolean not null,
    -- A finding of the report, or rejected_by, requires an individual approval: in no group, and by no rule.
    individual_approval  boolean not null default false,
    -- Who rejected an earlier plan for the same desired digest, if nobody has approved one since; empty for nobody.
    rejected_by          text not null default '',
    target               jsonb not null,
    consumed_at          timestamptz,
    created_at           timestamptz not null default now(),
    primary key (org_id, id),
    foreign key (org_id, workflow_id) references workflows on delete cascade,
    foreign key (org_id, step_id) references steps on delete cascade,
    foreign key (org_id, install_component_id) references install_components on delete cascade
);
-- The rows that are deleted with a workflow, a step or a component when the install is deleted.
create index plans_of_workflow on plans (org_id, workflow_id);
create index plans_of_step on plans (org_id, step_id);
create index plans_of_component on plans (org_id, install_component_id, desired_digest);

-- Questions for approvers, and their answers: a plan, the scripts of a workflow that were not approved for the install, or a less strict
-- approval rule of the install.
create table approvals (
    org_id         text not null,
    id             text not null,
    kind           text not null default 'plan' check (kind in ('plan', 'scripts', 'settings')),
    plan_id        text,
    step_id        text,
    workflow_id    text,
    install_id     text not null,
    content_digest text not null,
    status         text not null check (status in ('waiting', 'approved', 'rejected', 'withdrawn')),
    reason         text not null default '',
    -- The reason for the plan or the scripts, as it was when they were shown.
    because        text not null default '',
    -- Who requested it.
    author         text not null default '',
    -- The scripts (also those shown with a plan), or the settings.
    subject        jsonb,
    -- How subject is shown, as a diff.Report.
    report         jsonb,
    group_digest   text not null default '',
    -- A finding of the plan or the scripts, or an earlier rejection, requires an individual approval.
    individual_approval boolean not null default false,
    -- The approver who has it, empty for nobody, and who assigned it.
    assignee       text not null default '',
    assigned_by    text not null default '',
    created_at     timestamptz not null default now(),
    ended_at       timestamptz,
    primary key (org_id, id),
    unique (org_id, plan_id),
    check ((kind = 'plan') = (plan_id is not null)),
    check ((kind = 'settings') = (workflow_id is null)),
    foreign key (org_id, plan_id) references plans on delete cascade,
    foreign key (org_id, workflow_id) references workflows on delete cascade,
    foreign key (org_id, install_id) references installs on delete cascade
);
-- The open questions of an org, which are few; and of one install, for its status.
create index approvals_by_status on approvals (org_id, status, id);
create index approvals_waiting_of_install on approvals (org_id, install_id) where status = 'waiting';
-- The rows that are deleted with a workflow or an install.
create index approvals_of_workflow on approvals (org_id, workflow_id);
create index approvals_of_install on approvals (org_id, install_id, kind, id);
create unique index approvals_one_setting on approvals (org_id, install_id) where kind = 'settings' and status = 'waiting';

create table approval_responses (
    org_id         text not null,
    id             text not null,
    approval_id    text not null,
    content_digest text not null,
    answer         text not null check (answer in ('approve', 'reject')),
    reason         text not null default '',
    actor          text not null,
    -- The rule that answered: that of the install (its content, its digest, and who set it), or that of the actor for the workflow.
    rule           jsonb,
    at             timestamptz not null default now(),
    primary key (org_id, id),
    unique (org_id, approval_id),
    foreign key (org_id, approval_id) references approvals on delete cascade
);

-- The newest answer of approvers about scripts for each install and digest of the scripts.
create table script_answers (
    org_id     text not null,
    install_id text not null,
    digest     text not null,
    action     text not null,
    answer     text not null check (answer in ('approve', 'reject')),
    -- The digested text that was shown: the next one is shown as a diff from it.
    content    jsonb not null,
    reason     text not null default '',
    actor      text not null,
    approval_id text not null,
    at         timestamptz not null default now(),
    primary key (org_id, install_id, digest),
    foreign key (org_id, install_id) references installs on delete cascade
);

-- jobs: the lease table --------------------------------------------------------------------

create table jobs (
    org_id     text not null,
    id         text not null,
    runner_id  text not null,
    kind       text not null check (kind in ('build', 'sync', 'plan', 'apply', 'action', 'health', 'secrets', 'logs', 'debug_command', 'shell')),
    status     text not null check (status in ('queued', 'offered', 'running', 'succeeded', 'failed', 'cancelled', 'lost')),
    owner_kind text not null check (owner_kind in ('build', 'refresh', 'step', 'health', 'secrets', 'inspection')),
    owner_id   text not null,
    -- The kind of its component; empty for an action. A runner's file may forbid it.
    component_kind text not null default '',
    trace      text not null default '', -- W3C traceparent
    plan_id    text,
    install_id text,
    spec       jsonb not null,
    -- Whether a plan first copies its artifact, as a sync does: a runner's file may forbid that.
    copies     boolean not null generated always as (kind = 'plan' and coalesce(spec #>> '{plan,from,digest}', '') <> '') stored,
    -- The role of the customer's account that it runs under, without its path; and its name in the config if it is a break-glass role.
    role        text not null generated always as (regexp_replace(coalesce(spec #>> '{role,name}', ''), '^.*/', '')) stored,
    break_glass text not null generated always as (case when spec #>> '{role,kind}' = 'break_glass' then spec #>> '{role,key}' else '' end) stored,
    attempt    int not null default 0,
    reason     text not null,
    waits      text not null default '',
    cancel     boolean not null default false,
    result     jsonb,
    error      text not null default '',
    created_at timestamptz not null default now(),
    ended_at   timestamptz,
    primary key (org_id, id),
    foreign key (org_id, runner_id) references runners
);
create index jobs_claim on jobs (org_id, runner_id, created_at, id) where status = 'queued';
-- The jobs that have not ended, which are few.
create index jobs_open on jobs (org_id, kind) where ended_at is null;
-- The jobs of a step, a build or an install's health or secrets; and the expired ones.
create index jobs_of_owner on jobs (org_id, owner_id);
create index jobs_ended on jobs (org_id, ended_at);
-- Only one job ever applies a plan. A job that ended before it started loses its plan (DetachUnstartedApply).
create unique index jobs_one_apply_per_plan on jobs (org_id, plan_id) where kind = 'apply';

create table attempts (
    org_id      text not null,
    job_id      text not null,
    number      int not null,
    runner_id   text not null,
    status      text not null check (status in ('offered', 'running', 'expired', 'succeeded', 'failed', 'cancelled', 'lost', 'withdrawn')),
    -- The tokens, one for each time that it was accepted: only its runner knows which of the responses arrived.
    token_hashes bytea[] not null default '{}',
    offered_at  timestamptz not null default now(),
    accepted_at timestamptz,
    lease_until timestamptz not null,
    -- The newest kept version of the state when the attempt was accepted: what it writes follows that one, or its own.
    base_version int not null default 0,
    log_bytes   bigint not null default 0,
    -- How often it has received a credential: each time adds an audit event.
    credential_uses int not null default 0,
    ended_at    timestamptz,
    primary key (org_id, job_id, number),
    foreign key (org_id, job_id) references jobs on delete cascade
);
-- The open attempts of a runner.
create index attempts_open on attempts (org_id, runner_id) where status in ('offered', 'running', 'expired');

create table log_chunks (
    org_id  text not null,
    job_id  text not null,
    attempt int not null,
    seq     bigint not null,
    lines   bytea not null, -- gzip of the JSON of an array of lines
    at      timestamptz not null default now(),
    primary key (org_id, job_id, attempt, seq),
    foreign key (org_id, job_id) references jobs on delete cascade
);
-- It is compressed already, so Postgres need not try.
alter table log_chunks alter lines set storage external;
-- The expired ones.
create index log_chunks_age on log_chunks (org_id, at);

-- Interactive shells, and what passed through them.
create table shells (
    org_id       text not null,
    job_id       text not null,
    -- The token that started it: only its holder may type.
    token_id     text not null,
    -- How many chunks there are, and how many messages and bytes arrived in each direction.
    chunks       bigint not null default 0,
    inputs       bigint not null default 0,
    outputs      bigint not null default 0,
    input_bytes  bigint not null default 0,
    output_bytes bigint not null default 0,
    -- When the person's program last showed that it is there, and whether it has left.
    attended_at  timestamptz not null default now(),
    abandoned    boolean not null default false,
    primary key (org_id, job_id),
    foreign key (org_id, job_id) references jobs on delete cascade
);

create table shell_chunks (
    org_id  text not null,
    job_id  text not null,
    seq     bigint not null, -- order in the transcript
    input   boolean not null,
    number  bigint not null, -- of its message, in its direction
    data    bytea not null,
    columns int not null,
    rows    int not null,
    at      timestamptz not null,
    primary key (org_id, job_id, seq),
    foreign key (org_id, job_id) references shells on delete cascade
);

-- The newest part of a runner's own log.
create table runner_logs (
    org_id    text not null,
    runner_id text not null,
    seq       bigint not null,
    lines     bytea not null, -- gzip of the JSON of an array of lines
    many      int not null, -- lines
    size      int not null, -- of the JSON, in bytes
    at        timestamptz not null default now(),
    primary key (org_id, runner_id, seq),
    foreign key (org_id, runner_id) references runners on delete cascade
);
alter table runner_logs alter lines set storage external;
create index runner_logs_age on runner_logs (org_id, at);

-- Terraform states, sealed in the customer's account before they are sent.
create table states (
    org_id               text not null,
    install_component_id text not null,
    version              int not null,
    serial               bigint not null,
    lineage              text not null,
    digest               text not null,
    -- Null for a withheld version, and for one that was dismissed before it arrived.
    sealed               jsonb,
    -- The size of the sealed bytes, so that lists do not read those.
    key_id               text not null default '',
    bytes                int not null default 0,
    job_id               text not null,
    attempt              int not null,
    -- A version of a superseded attempt, or one that does not follow the newest kept one, is contested until a person restores or
    -- dismisses it. A withheld one exceeded a limit: its runner still has it.
    status               text not null default 'kept' check (status in ('kept', 'contested', 'dismissed', 'withheld')),
    reason               text not null default '',
    created_at           timestamptz not null default now(),
    -- When a person resolved it, if it was contested or withheld. Its age counts from the later of the two times.
    resolved_at          timestamptz,
    check (sealed is not null or status in ('withheld', 'dismissed')),
    primary key (org_id, install_component_id, version),
    foreign key (org_id, install_component_id) references install_components on delete cascade
);
create index states_contested on states (org_id, install_component_id) where status in ('contested', 'withheld');
-- The expired ones.
create index states_age on states (org_id, (greatest(created_at, resolved_at)));

create table state_locks (
    org_id               text not null,
    install_component_id text not null,
    lock_id              text not null,
    info                 jsonb not null,
    job_id               text not null,
    attempt              int not null,
    locked_at            timestamptz not null default now(),
    primary key (org_id, install_component_id),
    foreign key (org_id, install_component_id) references install_components on delete cascade
);

-- Who may see what ------------------------------------------------------------------------------

do $$
declare t text;
begin
    for t in select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where n.nspname = 'public' and c.relkind = 'r' and c.relname not in ('orgs', 'due', 'replicas', 'uptime', 'schema_version', 'token_keys')
    loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format('create policy org_only on %I using (org_id = nullif(current_setting(''nuon.org'', true), '''')) '
                       'with check (org_id = nullif(current_setting(''nuon.org'', true), ''''))', t);
    end loop;
end $$;

-- A transaction for a token of one app sees only that app: everything else of an app is joined with these five tables.
-- Without a scope nothing is hidden. (With coalesce, the planner estimates half of the rows, and not almost none.)
do $$
declare t text;
begin
    foreach t in array array['apps', 'app_versions', 'releases', 'components', 'installs']
    loop
        execute format('create policy app_only on %I as restrictive using (coalesce(%I = nullif(current_setting(''nuon.app'', true), ''''), true))',
                       t, case t when 'apps' then 'id' else 'app_id' end);
    end loop;
end $$;

-- The role belongs to the server, not to the database: the migration of another database may be creating it now.
do $$
begin
    begin
        create role nuon_app nologin nobypassrls;
    exception when duplicate_object or unique_violation then null;
    end;
    if not pg_has_role(current_user, 'nuon_app', 'member') then
        execute format('grant nuon_app to %I', current_user);
    end if;
end $$;
grant usage on schema public to nuon_app;
grant select, insert, update, delete on all tables in schema public to nuon_app;
grant usage on all sequences in schema public to nuon_app;
-- The audit log is append-only, also for the program.
revoke update, delete on audit_events from nuon_app;
-- So are the versions of stacks and of their outputs, which are deleted with their install, except for old reports of stacks.
revoke update, delete on stack_outputs, stack_versions from nuon_app;
-- A stack reports versions of its outputs without a person, so only the newest 50 of an install are stored. The role of the
-- program may delete no version. This function deletes those beyond the bound, in the org that the transaction names.
create function prune_stack_outputs(org text, install text) returns void
language sql security definer set search_path = public, pg_temp as $$
    delete from stack_outputs s
    where s.org_id = org and s.org_id = current_setting('nuon.org', true) and s.install_id = install and s.source = 'phone_home'
      and s.version not in (
        select k.version from stack_outputs k where k.org_id = org and k.install_id = install and k.source = 'phone_home'
        order by k.version desc limit 50)
$$;
revoke execute on function prune_stack_outputs from public;
grant execute on function prune_stack_outputs to nuon_app;
revoke insert, update, delete on token_keys from nuon_app;
