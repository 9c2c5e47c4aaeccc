// Package deploy plans and applies components of every kind. It is the one place that decides
// whether what is applied is what was approved.
//
// A plan opens the values, calls the kind's Plan, evaluates the app's policies, and returns the masked report.
// The data that the apply needs is stored in a plan bundle, which is sealed and authenticated
// with the install key. An apply pulls that bundle and checks that it belongs to this component
// and to the approved plan, and that no input of the plan has changed. It then computes
// the report again, and calls the kind's Apply only when that report is the approved one.
// Otherwise the result is stale and nothing is changed.
//
// A Kind (Terraform modules, Helm charts, Kubernetes manifests) implements these
// steps for its components. It never reads the approved basis or a report digest,
// and it never sees a bundle that was not checked. The job process runs the handlers;
// the table of kinds is in runnerd's main package.
package deploy

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/planpolicy"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Kind plans and applies one kind of component.
type Kind interface {
	// Open prepares one plan or apply. The caller closes the session.
	Open(ctx context.Context, op *Operation) (Session, error)
}

// Session is one plan or apply of one component. A plan calls Plan, and then CurrentState when
// there is nothing to apply. An apply calls Observe, Report and Apply in this order, each only
// when everything before it agrees with the approved plan. Only Apply may change anything.
type Session interface {
	// Plan returns what an apply would do.
	Plan(ctx context.Context) (Plan, error)
	// CurrentState returns the current outputs and health of a component that needs no apply.
	CurrentState(ctx context.Context) (ComponentState, error)
	// Observe returns the current observation, to compare with that of the plan.
	Observe(ctx context.Context) (Observation, error)
	// Report computes the report of the stored plan again.
	Report(ctx context.Context) (*diff.Report, error)
	// Apply makes the changes of the report. An error with a Health fails the
	// job and reports both.
	Apply(ctx context.Context) (ComponentState, error)
	// Close releases what Open acquired. ctx may have ended.
	Close(ctx context.Context) error
}

// Operation is the input of a Kind: one plan, or one apply of a stored plan.
type Operation struct {
	Env    *job.Env
	Deploy api.DeploySpec
	// Destroy is set when the whole component is to be removed, and Restore when a version
	// of its state is to become the newest.
	Destroy bool
	Restore api.Restore
	// Inventory lists the objects that the component may have, as the control plane recorded
	// them. It is set for a plan.
	Inventory []api.ObjectRef
	// Values are the values that templates read.
	Values *values.Values
	// Secrets are the texts to mask in reports and outputs. An apply has those of its plan.
	Secrets *values.Secrets
	// Stored is the content that the plan stored. It is nil for a plan.
	Stored *Stored
}

// Stored is the part of a plan bundle that belongs to its kind, after the bundle was checked.
type Stored struct {
	// Files are the Plan.Files, and Environ is the Plan.Environ.
	Files   []artifact.File
	Environ map[string]string
}

// Plan is the result of planning a component.
type Plan struct {
	Report   *diff.Report
	Observed Observation
	// Files are the files that the apply needs beside the component's artifact,
	// and Environ holds the environment variables that it runs with. Both may be empty when
	// the report is not applyable.
	Files   []artifact.File
	Environ map[string]string
	// Inventory lists the objects that exist after the apply, for a kind with an inventory.
	Inventory []api.ObjectRef
	// Reviewed is what the app's policies read of the plan.
	Reviewed planpolicy.Input
}

// Observation identifies the inputs of a plan other than the artifact and the values.
// Each kind sets the fields that apply to it.
type Observation struct {
	// StateSerial and StateLineage identify a version of a Terraform state.
	StateSerial  int64
	StateLineage string
	// Cluster is the identity of a cluster, and Observed is the digest of
	// the objects found in it.
	Cluster  string
	Observed string
	// Changed explains, during an apply, why Observed differs from that of the plan.
	Changed string
}

// ComponentState holds a component's outputs and health, after an apply or without one.
type ComponentState struct {
	Outputs []api.Output
	Health  api.Health
}

// RejectedError is a server's rejection of a change. During a plan it is the job's error.
// During an apply it means that the plan is stale: the server accepted the same change
// when the plan was made.
type RejectedError struct{ Err error }

// Error returns the server's reason.
func (e *RejectedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RejectedError) Unwrap() error { return e.Err }

// ClusterIdentity returns a cluster's identity with a hash by which this install recognizes it.
// The hash is keyed with the install key and bound to the component, by its id on the install, which its objects are
// labeled with, and its name, which the owner's rules mention: nobody else can make one for a cluster that the
// component was never applied to, or pass one component off as another.
func ClusterIdentity(key seal.Identity, installComponent, component, identity string) api.ClusterIdentity {
	context := fmt.Sprintf("cluster/%q/%q", installComponent, component)
	return api.ClusterIdentity{Identity: identity, Hash: key.Hash(context, []byte(identity))}
}
