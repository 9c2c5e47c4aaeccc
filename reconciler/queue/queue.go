// Package queue names the reconciler's own work: one small struct of ids for each package's reconcile function. A row in River's
// schema is only a request to look; what there is to do is always worked out from the state (design, law 2), so a job that runs
// twice, late or on another replica does no harm. Rooms enqueue in the transaction that changed something, through store.Tx.
package queue

import "github.com/riverqueue/river"

// The queues. What waits for git or a registry has one of its own: a remote that answers slowly must not keep an approved apply, or the
// end of a lease, waiting. So has what nobody waits for, of which there may be very much at once.
const (
	Remote     = "remote"
	Background = "background"
	Local      = river.QueueDefault // waits for nothing but Postgres
)

// Priorities within Background, as River has them: the lower goes first.
const (
	first = 1
	usual = 2
	last  = 3
)

// Poll looks at one watched ref (observe).
type Poll struct {
	Org   string `json:"org"`
	Watch string `json:"watch"`
}

// Catalog reads the config of one app at its newest revision (catalog).
type Catalog struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// Build works out the inputs of an app's components and builds what is missing (build).
type Build struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// Rollout works out what one install wants and whether it is behind (rollout).
type Rollout struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// Resync is Rollout for an install about which nobody asked for a while (rollout).
type Resync struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// FanOut has every install of an app roll out (rollout).
type FanOut struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// RolloutRange is Rollout for the installs of an app from one id to another, both included (rollout).
type RolloutRange struct {
	Org   string `json:"org"`
	App   string `json:"app"`
	First string `json:"first"`
	Last  string `json:"last"`
}

// Advance takes one workflow as far as it goes (workflow).
type Advance struct {
	Org      string `json:"org"`
	Workflow string `json:"workflow"`
}

// Expire looks at one attempt whose lease has run out (dispatch). ID is job/number.
type Expire struct {
	Org string `json:"org"`
	ID  string `json:"id"`
}

// Health has the runner of one install look at how what it deployed is (health).
type Health struct {
	Org     string `json:"org"`
	Install string `json:"install"`
}

// Retain removes what an org has kept for long enough (retain).
type Retain struct {
	Org string `json:"org"`
}

// Kind is River's name of the work.
func (Poll) Kind() string         { return "poll" }
func (Catalog) Kind() string      { return "catalog" }
func (Build) Kind() string        { return "build" }
func (Rollout) Kind() string      { return "rollout" }
func (Resync) Kind() string       { return "resync" }
func (FanOut) Kind() string       { return "fan_out" }
func (RolloutRange) Kind() string { return "rollout_range" }
func (Advance) Kind() string      { return "advance" }
func (Expire) Kind() string       { return "expire" }
func (Health) Kind() string       { return "health" }
func (Retain) Kind() string       { return "retain" }

// InsertOpts names the queue and the priority in it.
func (Poll) InsertOpts() river.InsertOpts    { return river.InsertOpts{Queue: Remote} }
func (Catalog) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Remote} }
func (Build) InsertOpts() river.InsertOpts   { return river.InsertOpts{Queue: Remote} }

// InsertOpts names the queue and the priority in it.
func (FanOut) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: first}
}

// InsertOpts names the queue and the priority in it.
func (RolloutRange) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: usual}
}

// InsertOpts names the queue and the priority in it.
func (Resync) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: last}
}

// InsertOpts names the queue and the priority in it.
func (Health) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: last}
}

// InsertOpts names the queue and the priority in it.
func (Retain) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Background, Priority: last}
}
