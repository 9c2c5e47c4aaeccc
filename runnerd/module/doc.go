// Package module builds, plans and applies Terraform modules: the component kinds sandbox and
// terraform_module.
//
// It owns what such a job does, step by step: a build packs a module and all that it needs into an
// artifact; a plan renders the values, plans, describes the plan and saves everything that its
// apply will need; an apply restores that at the same path and applies that plan file and no other.
// A destroy is a plan like any other, and then its apply. To make a version of the state the newest
// is a plan, too.
//
// It never decides whether to plan, or whether a plan may be applied: its Kind does the steps that
// package deploy asks for. It never stores anything but through the job's Env, and lets nothing
// leave that is not sealed, masked or redacted.
package module
