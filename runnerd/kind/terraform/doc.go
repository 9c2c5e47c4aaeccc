// Package terraform builds, plans and applies Terraform modules: the component kinds sandbox
// and terraform_module.
//
// It owns the steps of these jobs. A build packs a module with everything that it needs
// into an artifact. A plan renders the values, runs Terraform's plan, describes it,
// and saves everything that its apply needs. An apply restores that at the same path
// and applies only that plan file. A destroy is a plan with its apply, too, and so is restoring
// a version of the state.
//
// It never decides whether to plan, or whether a plan may be applied: its Kind implements the
// steps that package deploy calls. It stores data only through the job's Env, and everything
// that leaves it is sealed, masked or redacted.
package terraform
