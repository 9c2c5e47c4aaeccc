// Package jobenv selects the part of a runner's environment that a job may see.
//
// It owns the one list of variables that pass from runnerd to a job process, and from
// there to the tools and scripts that it runs; which of their values are masked in logs;
// and which of them select the target of a plan. All other variables of runnerd's
// environment stay with runnerd.
//
// Package runner uses it for job processes, packages tfbinary, cluster and action for the programs that they run,
// jobrole for the role of these programs, job for the redactor, and deploy for the target of a plan.
package jobenv
