// Package state is the only place where a job's Terraform finds its state: an HTTP endpoint on the loopback address, inside the
// job's own process.
//
// It owns the http backend protocol towards Terraform and the sealing towards everybody else: a state that Terraform writes is
// sealed to the install key and on the runner's disk before Terraform hears that it was kept, and one that comes from the control
// plane is opened here. The plain state is only ever in the memory of this process.
//
// It never decides whether a state is the right one; Terraform and package module do. Package module starts one endpoint per job.
package state
