package terraform

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// plan is the part of a plan's JSON that a report needs. The form is described at
// https://developer.hashicorp.com/terraform/internals/json-format.
type plan struct {
	formatVersion string
	// variables are the values of the root module's variables, and sensitive the names of those that are declared so.
	variables map[string]diff.Raw
	sensitive map[string]bool
	// written is what the configuration sets in each of its resources, by address without keys.
	written map[string]written
	// programs are the kinds of the provisioners of its resources, by the same addresses.
	programs  map[string][]string
	resources elements
	drift     elements
	deferred  elements
	outputs   map[string]change
	relevant  []relevant
	checks    []check
	// conditions are the older form of checks.
	conditions []check
	invoked    []invocation
	// marked are the values that the prior state and the planned values mark as sensitive.
	marked    []diff.Raw
	applyable *bool
	complete  *bool
	errored   bool
	// sections says that it has a section of a plan. Other is what else it is, by a section that no plan has.
	sections bool
	other    string
}

// otherDocuments are sections of other documents of Terraform, with what these are.
var otherDocuments = map[string]string{
	"values": "a state", "lineage": "a state file", "serial": "a state file", "provider_schemas": "a list of provider schemas",
	"function_signatures": "a list of functions", "diagnostics": "the result of a validation",
}

// planSections are the sections of which every plan has some. An empty state has none.
var planSections = map[string]bool{
	"planned_values": true, "configuration": true, "resource_changes": true, "output_changes": true, "resource_drift": true, "prior_state": true,
	"deferred_changes": true, "checks": true, "condition_results": true, "action_invocations": true, "deferred_action_invocations": true,
	"relevant_attributes": true, "variables": true, "applyable": true, "complete": true, "errored": true,
}

// check refuses what is no plan. A state has the form of a plan without changes, so it would look harmless.
func (p *plan) check() error {
	const remedy = "make a plan's with `terraform show -json PLANFILE`"
	if p.other != "" {
		return fmt.Errorf("%w: it is the JSON of %s; %s", ErrNotPlan, p.other, remedy)
	}
	if err := checkVersion(p.formatVersion); err != nil {
		return err
	}
	if !p.sections {
		return fmt.Errorf("%w: it has no section of a plan, as the JSON of an empty state; %s", ErrNotPlan, remedy)
	}
	return nil
}

// elements are the changes of a section that need a line in the report, in its order.
type elements struct {
	list []resource
	// unchanged counts those that do not, and secrets are the values that they mark as sensitive.
	unchanged int
	secrets   []diff.Raw
}

// resource is one change of a resource. Reason is set in a deferred one.
type resource struct {
	address, previousAddress, moduleAddress string
	mode, kind, name, deposed               string
	actionReason, reason                    string
	// hasChange is false when the plan does not say what happens, which is an error.
	hasChange bool
	// generated: Terraform wrote the configuration.
	generated bool
	change    change
}

type change struct {
	actions                         []string
	before, after                   diff.Raw
	afterUnknown                    diff.Raw
	beforeSensitive, afterSensitive diff.Raw
	importing                       *importing
	replacePaths                    []tree.Path
}

// importing says what an existing object is known as: by its id or its identity, or not yet.
type importing struct {
	id       string
	identity diff.Raw
	unknown  bool
}

// relevant is an attribute that the plan depends on, see drift.go. An empty path is the whole resource.
type relevant struct {
	resource string
	path     tree.Path
}

// errWrongType is a value of another type than the form says.
var errWrongType = errors.New("a field has the wrong type")

// checkVersion takes every minor version of formats 0 and 1: Terraform only adds to them.
func checkVersion(v string) error {
	major, _, _ := strings.Cut(v, ".")
	switch major {
	case "0", "1":
		return nil
	case "":
		return fmt.Errorf("%w: it has no format_version; make it with `terraform show -json PLANFILE`", ErrNotPlan)
	}
	return fmt.Errorf("%w: its format version %.20q is newer than this program; update nuon", ErrNotPlan, v)
}

// atLeast says that the plan is of a minor version of format 1, or a newer one.
func (p *plan) atLeast(minor int) bool {
	major, rest, _ := strings.Cut(p.formatVersion, ".")
	var n int
	_, err := fmt.Sscanf(rest, "%d", &n)
	return major == "1" && err == nil && n >= minor
}
