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
