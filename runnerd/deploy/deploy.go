// Package deploy plans and applies components of every kind. It is the one place that decides
// whether what is applied is what was approved.
//
// A plan opens the values, lets the kind plan, and returns the masked report; what the apply needs
// is stored in a plan bundle, which is sealed and authenticated with the install key. An apply
// pulls that bundle, checks that it is this component's, that it belongs to the approved plan, and
// that nothing that the plan was made from has changed; it computes the report again, and only when
// that is the approved one does the kind apply. Otherwise the result is stale and nothing is done.
//
// A Kind (Terraform modules, Helm charts, Kubernetes manifests) knows how to do these steps for its
// components. It never reads the approved basis or a report digest, and it never sees a bundle that
// was not checked. The job process runs the handlers; the table of kinds is in runnerd's main
// package.
package deploy

import (
	"context"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Kind plans and applies one kind of component.
type Kind interface {
	// Open prepares one plan or apply. The caller closes the session.
	Open(ctx context.Context, op *Operation) (Session, error)
}

// Session is one plan or apply of one component. For a plan Plan is called, and then Standing when
// there is nothing to apply. For an apply Observe, Report and Apply are called in this order, each
// only when everything before it agrees with the approved plan. Nothing but Apply may change
// anything.
type Session interface {
	// Plan returns what an apply would do.
	Plan(ctx context.Context) (Plan, error)
	// Standing returns the outputs and the health of a component that needs no apply.
	Standing(ctx context.Context) (Outcome, error)
	// Observe returns what an apply finds where the plan was made.
	Observe(ctx context.Context) (Observation, error)
	// Report computes the report of the stored plan again.
	Report(ctx context.Context) (*diff.Report, error)
	// Apply does what the report says. An error with a Health fails the job and reports both.
	Apply(ctx context.Context) (Outcome, error)
	// Close frees what Open took. ctx may have ended.
	Close(ctx context.Context) error
}

// Operation is what a Kind is given: one plan, or one apply of a stored plan.
type Operation struct {
	Env    *job.Env
	Deploy api.DeploySpec
	// Destroy is set when all of the component is to be removed, and Restore when a version of its
	// state is to become the newest.
	Destroy bool
	Restore api.Restore
	// Inventory lists the objects that the component may have, as the control plane recorded them; for a plan.
	Inventory []api.ObjectRef
	// Values are what templates read.
	Values *values.Values
	// Secrets are the texts that reports and outputs are masked with. An apply has those of its plan.
	Secrets *values.Secrets
	// Stored is what the plan stored; nil for a plan.
	Stored *Stored
}

// Stored is the part of a plan bundle that belongs to its kind, after the bundle was checked.
type Stored struct {
	// Files are the Plan.Files, and Environ is the Plan.Environ.
	Files   []artifact.File
	Environ map[string]string
}

// Plan is what a Kind planned.
type Plan struct {
	Report   *diff.Report
	Observed Observation
	// Files are what the apply needs beside the component's artifact, and Environ are the
	// environment variables that it runs with. They may be left out when the report is not
	// applyable.
	Files   []artifact.File
	Environ map[string]string
	// Inventory lists the objects that the apply leaves, for a kind that keeps an inventory.
	Inventory []api.ObjectRef
}

// Observation is what a plan is made from beside the artifact and the values. Each kind sets what it has.
type Observation struct {
	// StateSerial and StateLineage name a version of a Terraform state.
	StateSerial  int64
	StateLineage string
	// Cluster is the identity of a cluster, and Observed the digest of what was found in it.
	Cluster  string
	Observed string
	// Changed explains, at an apply, why Observed is not that of the plan.
	Changed string
}

// Outcome is how a component stands, after an apply or without one.
type Outcome struct {
	Outputs []api.Output
	Health  api.Health
}

// RefusedError is what a server says against a change. At a plan it is the job's error. At an apply
// it means that the plan is stale: the server accepted the same change when the plan was made.
type RefusedError struct{ Err error }

// Error returns the server's reason.
func (r *RefusedError) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *RefusedError) Unwrap() error { return r.Err }

// ClusterIdentity names a cluster so that this install can recognize it. The hash is keyed with the
// install key and bound to the component: nobody else can make one for a cluster that the component
// was never applied to.
func ClusterIdentity(key seal.Identity, installComponent, identity string) api.ClusterIdentity {
	return api.ClusterIdentity{Identity: identity, Hash: key.Hash("cluster/"+installComponent, []byte(identity))}
}
