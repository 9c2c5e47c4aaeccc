// Package queue defines the reconciler's own work: one small struct of ids for each package's
// reconcile function. A row in River's schema is only a request to check; the work is always
// derived from the state, so a job that runs twice, late or on another replica does
// no harm. Packages enqueue in the transaction that changed something, through store.Tx.
package queue

import "github.com/riverqueue/river"

// The queues. Work that waits for git or a registry has a separate one: a slow remote must not
// delay an approved apply or the end of a lease. So has low-priority work, of which much may arrive
// at once.
const (
	Remote     = "remote"
	Background = "background"
	Local      = river.QueueDefault // waits for nothing but Postgres
)

// Priorities within Background, as River defines them: lower runs first.
const (
	first = 1
	usual = 2
	last  = 3
)

// Poll polls one watched ref (observe).
type Poll struct {
	Org   string `json:"org"`
	Watch string `json:"watch"`
}

// Catalog reads the config of one app at its newest revision (catalog).
type Catalog struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// Build determines the inputs of an app's components and builds what is missing (build).
type Build struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// Rollout determines the desired state of one install and whether the install is behind (rollout).
type Rollout struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// Resync is Rollout for an install that has had no request for a while (rollout).
type Resync struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// FanOut enqueues a rollout of every install of an app (rollout).
type FanOut struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// RolloutRange is Rollout for the installs of an app from one id to another, both included
// (rollout).
type RolloutRange struct {
	Org   string `json:"org"`
	App   string `json:"app"`
	First string `json:"first"`
	Last  string `json:"last"`
}

// Advance runs one workflow as far as it can go (workflow).
type Advance struct {
	Org      string `json:"org"`
	Workflow string `json:"workflow"`
}

// Expire handles one attempt whose lease has run out (package jobs). ID is job/number.
type Expire struct {
	Org string `json:"org"`
	ID  string `json:"id"`
}

// Health enqueues a health check for the runner of one install (health).
type Health struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// Secrets enqueues a check of the customer's secrets for the runner of one install (secrets).
type Secrets struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// RefreshImages resolves the images of an app again (build).
type RefreshImages struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// Retain removes an org's data whose retention period is over (retain).
type Retain struct {
	Org string `json:"org"`
}

// Kind returns River's name of the work.
func (Poll) Kind() string          { return "poll" }
func (Catalog) Kind() string       { return "catalog" }
func (Build) Kind() string         { return "build" }
func (Rollout) Kind() string       { return "rollout" }
func (Resync) Kind() string        { return "resync" }
func (FanOut) Kind() string        { return "fan_out" }
func (RolloutRange) Kind() string  { return "rollout_range" }
func (Advance) Kind() string       { return "advance" }
func (Expire) Kind() string        { return "expire" }
func (Health) Kind() string        { return "health" }
func (Secrets) Kind() string       { return "secrets" }
func (RefreshImages) Kind() string { return "images" }
func (Retain) Kind() string        { return "retain" }

// InsertOpts returns the queue and the priority in it.
func (Poll) InsertOpts() river.InsertOpts    { return river.InsertOpts{Queue: Remote} }
func (Catalog) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Remote} }
func (Build) InsertOpts() river.InsertOpts   { return river.InsertOpts{Queue: Remote} }

// InsertOpts returns the queue and the priority in it.
func (FanOut) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: first}
}

// InsertOpts returns the queue and the priority in it.
func (RolloutRange) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: usual}
}

// InsertOpts returns the queue and the priority in it.
func (Resync) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: last}
}

// InsertOpts returns the queue and the priority in it.
func (Health) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: last}
}

// InsertOpts returns the queue and the priority in it.
func (Secrets) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: first}
}

// InsertOpts returns the queue and the priority in it.
func (RefreshImages) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: first}
}

// InsertOpts returns the queue and the priority in it.
func (Retain) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: last}
}
