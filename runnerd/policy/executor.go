package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Executor selects where jobs run. The zero value runs each as a process of the runner's machine.
type Executor struct {
	// Kind is process or kubernetes. Everything else is for kubernetes alone.
	Kind ExecutorKind `toml:"kind" json:"kind,omitzero"`
	// Namespace is where the pods of jobs run; empty for the runner's own.
	Namespace string `toml:"namespace" json:"namespace,omitempty"`
	// Image is the image of the pods; empty for the runner's own.
	Image string `toml:"image" json:"image,omitempty"`
	// Claim is the name of the PersistentVolumeClaim that holds the runner's directory, and ClaimPath the path of that
	// directory in it; empty for its root.
	Claim     string `toml:"claim" json:"claim,omitempty"`
	ClaimPath string `toml:"claim_path" json:"claim_path,omitempty"`
	// ServiceAccounts are the accounts that pods run as, by kind of job. Other kinds run as the namespace's default
	// account, without a token.
	ServiceAccounts map[string]string `toml:"service_accounts" json:"service_accounts,omitempty"`
	// Roles are the accounts of the jobs that run under a role of the cloud account, by the name of the role.
	Roles map[string]string `toml:"roles" json:"roles,omitempty"`
	// NodeSelector are the labels of the nodes on which pods may run.
	NodeSelector map[string]string `toml:"node_selector" json:"node_selector,omitempty"`
}

// ExecutorKind is a way to run jobs.
type ExecutorKind struct{ name string }

// The kinds of executor.
var (
	ExecutorProcess    = ExecutorKind{"process"}
	ExecutorKubernetes = ExecutorKind{"kubernetes"}
)

// UnmarshalText accepts the known kinds, and none.
func (k *ExecutorKind) UnmarshalText(text []byte) error {
	switch string(text) {
	case "", ExecutorProcess.name, ExecutorKubernetes.name:
		k.name = string(text)
		return nil
	}
	return fmt.Errorf("%q is no executor; there are process and kubernetes", text)
}

// MarshalText returns the kind's name.
func (k ExecutorKind) MarshalText() ([]byte, error) { return []byte(k.name), nil }

// String returns the kind's name.
func (k ExecutorKind) String() string { return k.name }

// objectName matches the names that Kubernetes allows for the objects that an Executor names.
var objectName = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// accountKinds are the kinds of job that service_accounts may name.
func accountKinds() []string {
	return slices.Concat(jobKinds, api.Inspections())
}

// check returns an error for a section that cannot be used.
func (e Executor) check() error {
	if e.Kind != ExecutorKubernetes {
		if e.Namespace+e.Image+e.Claim+e.ClaimPath != "" || e.ServiceAccounts != nil || e.Roles != nil ||
			e.NodeSelector != nil {
			return fmt.Errorf("[executor] has settings of pods, and kind is %q; write kind = \"kubernetes\", or leave them out",
				cmp.Or(e.Kind.name, ExecutorProcess.name))
		}
		return nil
	}
	if e.Claim == "" {
		return errors.New("[executor] has no claim; name the PersistentVolumeClaim that holds the runner's directory, " +
			"which the pods of jobs mount parts of")
	}
	if e.ClaimPath != "" && !filepath.IsLocal(e.ClaimPath) {
		return fmt.Errorf("[executor] has claim_path = %q; write the path of the runner's directory in the volume of the "+
			"claim, such as \"runner\"", e.ClaimPath)
	}
	names := map[string]string{"claim": e.Claim}
	if e.Namespace != "" {
		names["namespace"] = e.Namespace
	}
	for kind, account := range e.ServiceAccounts {
		if !slices.Contains(accountKinds(), kind) {
			return fmt.Errorf("[executor.service_accounts] names %q, which is no kind of job; there are %s", kind,
				strings.Join(accountKinds(), ", "))
		}
		names["service_accounts."+kind] = account
	}
	for role, account := range e.Roles {
		names["roles."+role] = account
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if !objectName.MatchString(names[key]) {
			return fmt.Errorf("[executor] has %s = %q, which is no name of an object of Kubernetes; names consist of "+
				"lower-case letters, digits, dots and dashes", key, names[key])
		}
	}
	return nil
}

// AccountOf returns the service account of a job, empty for the namespace's default account, and whether programs of
// the job act as that account instead of starting a session of the job's role. That is so if the owner named an
// account for the role, unless the session restricts the role: to the time of a grant, or to reading.
func (r Rule) AccountOf(spec api.JobSpec) (account string, isRole bool) {
	account = r.Executor.ServiceAccounts[string(spec.Kind)]
	own, named := r.Executor.Roles[RoleName(spec.Role)]
	switch {
	case !named, r.Roles.OwnIdentity, r.NeedsGrant(spec.Role):
		return account, false
	case spec.Kind == api.JobSpecKindApply, spec.Kind == api.JobSpecKindAction,
		spec.Kind == api.JobSpecKindPlan && !r.Roles.ReadOnlyPlans:
		return own, true
	}
	return account, false
}

// describe returns where jobs run.
func (e Executor) describe() string {
	if e.Kind != ExecutorKubernetes {
		return "processes of this machine"
	}
	where := "the runner's own namespace"
	if e.Namespace != "" {
		where = "the namespace " + e.Namespace
	}
	return "pods in " + where + ", with the volume of the claim " + e.Claim
}
