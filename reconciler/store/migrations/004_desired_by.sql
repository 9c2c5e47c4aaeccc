-- The people who changed the desired state of an install since it last reached it. With approvals_by_others, none of
-- them may approve a workflow of it.
alter table installs add column desired_by text[] not null default '{}';
