// Package policy is the runner file: what the owner of a runner lets it do.
//
// It owns the file's format, the window of time, and what both come to at a moment: which kinds of job this runner takes now, and
// why not the others. A file that cannot be understood means that the runner takes nothing.
//
// It never talks to anyone and never ends a job. Package runner asks it before it takes an offer and sends what it says with every
// lease; the job process holds the spec that it fetched against it; `runnerd check` prints it.
package policy
