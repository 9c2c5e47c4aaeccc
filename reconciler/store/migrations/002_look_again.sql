-- An app is looked at again now and then, as an install is, so that work on it that was given up is not given up for good.
alter table due drop constraint due_kind_check;
alter table due add constraint due_kind_check check (kind in ('watch', 'attempt', 'install', 'app'));

-- The build that counts for an input, and what each component's current input has: read for every install that is looked at.
create index builds_of_input on builds (org_id, input_id, number);
-- What waits on one install, for its status.
create index approvals_waiting_of_install on approvals (org_id, install_id) where status = 'waiting';
-- What goes with a workflow, a step or an install's component when the install is forgotten.
create index plans_of_workflow on plans (org_id, workflow_id);
create index plans_of_step on plans (org_id, step_id);
create index plans_of_component on plans (org_id, install_component_id);
-- The installs of a runner that registers.
create index installs_of_runner on installs (org_id, runner_id);
-- Answers that are too old to be given again.
create index idempotency_keys_age on idempotency_keys (org_id, created_at);
