// Package tool finds the Terraform executable that a component asks for, and gives it an environment that depends on nothing of
// the machine's user.
//
// It owns which executable runs: the one that NUON_TERRAFORM names, one on PATH of exactly the asked version, one fetched before,
// or one that is fetched now from the publisher's release site, checksum and signature checked. It owns the CLI configuration
// that Terraform runs under.
//
// It never runs a module and never chooses a version that nobody asked for without saying so. Package module calls it, in the
// job's own process.
package tool
