// Package queue names the reconciler's own work: one small struct of ids for each room's reconcile function. A row in River's
// schema is only a request to look; what there is to do is always worked out from the state (design, law 2), so a job that runs
// twice, late or on another replica does no harm. Rooms enqueue in the transaction that changed something, through store.Tx.
package queue

import "github.com/riverqueue/river"

// The two queues. What waits for git or a registry has one of its own: a remote that answers slowly must not keep an approved
// apply, or the end of a lease, waiting.
const (
	Remote = "remote"
	Local  = river.QueueDefault // waits for nothing but Postgres
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
func (Poll) Kind() string    { return "poll" }
func (Catalog) Kind() string { return "catalog" }
func (Build) Kind() string   { return "build" }
func (Rollout) Kind() string { return "rollout" }
func (Advance) Kind() string { return "advance" }
func (Expire) Kind() string  { return "expire" }
func (Health) Kind() string  { return "health" }
func (Retain) Kind() string  { return "retain" }

// InsertOpts names the queue.
func (Poll) InsertOpts() river.InsertOpts    { return river.InsertOpts{Queue: Remote} }
func (Catalog) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Remote} }
func (Build) InsertOpts() river.InsertOpts   { return river.InsertOpts{Queue: Remote} }
