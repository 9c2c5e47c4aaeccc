// Package tfbinary finds the Terraform executable for a component, and gives it an environment
// that does not depend on the machine's user.
//
// It owns which executable runs: the one that NUON_TERRAFORM names, one on PATH with exactly
// the required version, one that was fetched before, or one that it fetches from the
// publisher's release site with checksum and signature verified. It owns the CLI configuration
// that Terraform runs under.
//
// It never runs a module, and never uses another version than the required one without logging
// it. Package module calls it, in the job's own process.
package tfbinary
