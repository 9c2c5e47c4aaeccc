package terraform

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// plan is the part of a plan's JSON that a report needs. The format is documented at
// https://developer.hashicorp.com/terraform/internals/json-format.
type plan struct {
	formatVersion string
	// variables holds the values of the root module's variables; sensitive the names of those that
	// are declared as sensitive.
	variables map[string]diff.Raw
	sensitive map[string]bool
	// written holds what the configuration sets in each resource, by address without keys.
	written map[string]written
	// programs holds the kinds of the provisioners of each resource, by the same addresses.
	programs  map[string][]string
	resources elements
	drift     elements
	deferred  elements
	outputs   map[string]change
	relevant  []relevant
	checks    []check
	// conditions is the older form of checks.
	conditions []check
	invoked    []actionInvocation
	// marked holds the sensitive values of the prior state and the planned values.
	marked    []diff.Raw
	applyable *bool
	complete  *bool
	errored   bool
	// sections reports that a section of a plan was found; other names the kind of document to
	// which a section belongs that no plan has.
	sections bool
	other    string
}

// otherDocuments maps sections of other Terraform documents to the names of these documents.
var otherDocuments = map[string]string{
	"values": "a state", "lineage": "a state file", "serial": "a state file",
	"provider_schemas": "a list of provider schemas", "function_signatures": "a list of functions",
	"diagnostics": "the result of a validation",
}

// planSections lists sections of which every plan has at least one. An empty state has none.
var planSections = map[string]bool{
	"planned_values": true, "configuration": true, "resource_changes": true, "output_changes": true,
	"resource_drift": true, "prior_state": true, "deferred_changes": true, "checks": true, "condition_results": true,
	"action_invocations": true, "deferred_action_invocations": true, "relevant_attributes": true, "variables": true,
	"applyable": true, "complete": true, "errored": true,
}

// check refuses a document that is no plan. A state has the form of a plan without changes and would
// look harmless.
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

// elements holds the changes of a section that the report lists, in their order.
type elements struct {
	list []resource
	// unchanged counts the others; secrets holds the sensitive values of those.
	unchanged int
	secrets   []diff.Raw
}

// resource is one change of a resource. reason is set for a deferred change.
type resource struct {
	address, previousAddress, moduleAddress string
	mode, kind, name, deposed               string
	actionReason, reason                    string
	// hasChange is false if the plan does not contain the change, which is an error.
	hasChange bool
	// generated reports that Terraform generated the configuration.
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

// importing identifies an imported object by id or identity, which may be unknown until apply.
type importing struct {
	id       string
	identity diff.Raw
	unknown  bool
}

// relevant is an attribute on which the plan depends, see drift.go. An empty path refers to the
// whole resource.
type relevant struct {
	resource string
	path     tree.Path
}

// errWrongType reports a value of another type than the format defines.
var errWrongType = errors.New("a field has the wrong type")

// checkVersion accepts every minor version of formats 0 and 1, because minor versions only add.
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

// atLeast reports whether the plan has at least the given minor version of format 1.
func (p *plan) atLeast(minor int) bool {
	major, rest, _ := strings.Cut(p.formatVersion, ".")
	var n int
	_, err := fmt.Sscanf(rest, "%d", &n)
	return major == "1" && err == nil && n >= minor
}
