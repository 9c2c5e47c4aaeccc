// Package state serves Terraform its state in a job: an HTTP endpoint on the loopback address,
// inside the job's own process.
//
// It owns the http backend protocol towards Terraform and the sealing towards everything else.
// A state that Terraform writes is sealed to the install key and on the runner's disk
// before Terraform gets its response, and a state from the control plane is opened here.
// The plain state exists only in the memory of this process.
//
// It never decides whether a state is the right one; Terraform and package module do.
// Package module starts one endpoint per job.
package state
