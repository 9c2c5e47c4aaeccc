// Package jobenv selects the part of a runner's environment that a job may see.
//
// It owns the one list of variables that pass from runnerd to a job process, and from
// there to the tools and scripts that it runs; which of their values are masked in logs;
// and which of them select the target of a plan. All other variables of runnerd's
// environment stay with runnerd.
//
// It never sets a variable. Package runner uses it for job processes, packages tool and action
// for the programs that they run, job for the redactor, and module for the target of a plan.
package jobenv
