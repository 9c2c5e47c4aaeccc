// Package ambient is the environment that a runner was started in, as far as a job may see it.
//
// It owns the one list of variables that go from runnerd to a job process, and from there to the tools and scripts that it runs;
// which of their values stay out of logs; and which of them choose what a plan is for. Everything else that runnerd happened to
// be started with stays with runnerd.
//
// It never sets a variable. Package runner asks it for a job process, packages tool and action for what they run, job for what to
// redact, and module for what a plan was made for.
package ambient
