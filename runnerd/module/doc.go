// Package module builds, plans and applies Terraform modules: the component kinds sandbox and terraform_module.
//
// It owns what such a job does, step by step: a build packs a module and all that it needs into an artifact; a plan renders the
// values, plans, describes the plan and seals everything that its apply will need into a bundle; an apply restores that bundle,
// checks that the world is still the one that was planned for, and applies that plan file and no other. A destroy is a plan like
// any other, and then its apply.
//
// It never decides whether to plan or to apply, never stores anything but through the job's Env, and lets nothing leave that is
// not sealed, masked or redacted. The job process runs its handlers; main wires them.
package module
