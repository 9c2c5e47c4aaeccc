package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file reads the results that runners send. A runner belongs to the customer:
// everything is bounded and checked before it is stored, and a result that does not
// pass fails the step with a reason.

// Bounds of the results of one job.
const (
	maxOutputs      = 1000
	maxOutputBytes  = 256 << 10 // of one value or ciphertext
	maxOutputsBytes = 4 << 20   // of all together
	maxReportBytes  = 16 << 20
)

var (
	sha256Digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	outputName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}$`)
	outputHash   = regexp.MustCompile(`^[a-z0-9]+:[0-9a-f]{1,128}$`)
)

// output is one checked output: exactly one of value and sealed is set.
type output struct {
	name   string
	value  json.RawMessage
	sealed json.RawMessage
	hash   string
}

// checkOutputs checks and converts outputs. The hash is keyed with the install's key,
// which only the runner has, so it cannot be checked here.
func checkOutputs(given []api.Output) ([]output, error) {
	if len(given) > maxOutputs {
		return nil, fmt.Errorf("there are %d outputs, and at most %d are allowed", len(given), maxOutputs)
	}
	seen, size := map[string]bool{}, 0
	var all []output
	for _, o := range given {
		if !outputName.MatchString(o.Name) {
			return nil, fmt.Errorf("an output has the name %.60q; use letters, digits, dots, dashes and underscores", o.Name)
		}
		if seen[o.Name] {
			return nil, fmt.Errorf("output %s is set twice", o.Name)
		}
		seen[o.Name] = true
		kept, err := checkOutput(o)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", o.Name, err)
		}
		if size += len(kept.value) + len(kept.sealed); size > maxOutputsBytes {
			return nil, fmt.Errorf("the outputs together are larger than %d bytes", maxOutputsBytes)
		}
		all = append(all, kept)
	}
	return all, nil
}

func checkOutput(o api.Output) (output, error) {
	plain, sealed := len(o.Value) > 0, !o.Sealed.IsZero()
	switch {
	case plain == sealed:
		return output{}, errors.New("it must be either plain or sealed")
	case len(o.Value) > maxOutputBytes || len(o.Sealed.Ciphertext) > maxOutputBytes:
		return output{}, fmt.Errorf("it is larger than %d bytes", maxOutputBytes)
	case sealed && (o.Sealed.KeyID == "" || len(o.Sealed.KeyID) > 100):
		return output{}, errors.New("it names no key")
	case sealed && !outputHash.MatchString(o.Hash):
		return output{}, errors.New("it has no hash")
	case sealed:
		raw, err := encode(o.Sealed)
		return output{name: o.Name, sealed: raw, hash: o.Hash}, err
	}
	value, err := canonicalJSON(o.Value)
	if err != nil {
		return output{}, err
	}
	if o.Hash != "" && !outputHash.MatchString(o.Hash) {
		return output{}, errors.New("its hash is malformed")
	}
	return output{name: o.Name, value: value, hash: o.Hash}, nil
}

// canonicalJSON returns JSON in one canonical form: numbers as written, keys sorted.
func canonicalJSON(raw json.RawMessage) (json.RawMessage, error) {
	v, err := store.DecodeJSON(raw)
	if err != nil {
		return nil, err
	}
	return encode(v)
}

// checkPlan returns the report of a plan result, or an error if the result cannot be
// used. A person approves the report, so it must be valid, match its digest, and
// agree with the rest of the result.
func checkPlan(r api.PlanResult, target Target) (*diff.Report, error) {
	switch {
	case r.Basis.DesiredDigest != target.Digest:
		return nil, errors.New("its desired digest is not the requested one")
	case r.Basis.Artifact != target.Deploy.Artifact.Digest && !target.restores():
		return nil, errors.New("it was made from a different artifact")
	case len(r.Basis.StateLineage) > 200 || r.Basis.StateSerial < 0:
		return nil, errors.New("its basis is malformed")
	case r.Applyable && !sha256Digest.MatchString(r.Bundle.Digest):
		return nil, errors.New("its bundle has no digest")
	case r.Applyable && r.Bundle.Repository != target.Deploy.Repository:
		return nil, errors.New("its bundle is in another repository")
	case !sha256Digest.MatchString(r.ReportDigest):
		return nil, errors.New("its report has no digest")
	case len(r.Basis.Cluster) > maxObjectBytes || len(r.Basis.Observed) > maxObjectBytes:
		return nil, errors.New("its basis is malformed")
	case len(r.Report) > maxReportBytes:
		return nil, fmt.Errorf("its report is larger than %d bytes", maxReportBytes)
	}
	if err := checkInventory(r.Inventory); err != nil {
		return nil, err
	}
	var report diff.Report
	if err := json.Unmarshal(r.Report, &report); err != nil {
		return nil, fmt.Errorf("its report cannot be read: %w", err)
	}
	if err := report.Validate(); err != nil {
		return nil, fmt.Errorf("its report is inconsistent: %w", err)
	}
	switch {
	case report.Digest() != r.ReportDigest:
		return nil, errors.New("its report does not match its digest")
	case report.Destructive() && !r.Destructive:
		return nil, errors.New("its report destroys something, but the runner reports that it does not")
	}
	return &report, nil
}

// Bounds of a runner's data about Kubernetes objects.
const (
	maxObjects          = 10_000
	maxObjectBytes      = 1000 // of one name, and of one reason
	maxUnhealthyObjects = 20
)

// checkInventory checks that the references can be names of objects.
func checkInventory(given []api.ObjectRef) error {
	if len(given) > maxObjects {
		return fmt.Errorf("there are %d objects, and at most %d are allowed; divide the component into smaller ones",
			len(given),
			maxObjects)
	}
	for _, o := range given {
		if o.Kind == "" || o.Name == "" || len(o.Group)+len(o.Version)+len(o.Kind)+len(o.Namespace)+
			len(o.Name) > maxObjectBytes {
			return fmt.Errorf("%.60q is not the name of an object", o.Name)
		}
	}
	return nil
}

// CheckHealth checks a runner's health report, and returns it with its texts cut and
// cleaned of control sequences. A report that cannot be stored is an error.
func CheckHealth(given api.Health) (api.Health, error) {
	if !given.Status.Valid() || given.At.IsZero() || len(given.Objects) > maxUnhealthyObjects {
		return api.Health{}, errors.New("the runner's report on the health of the objects is malformed")
	}
	var refs []api.ObjectRef
	for i := range given.Objects {
		o := &given.Objects[i]
		if !o.Status.Valid() {
			return api.Health{}, errors.New("the runner's report on the health of the objects is malformed")
		}
		o.Reason = diff.EscapeText(strings.ToValidUTF8(o.Reason[:min(len(o.Reason), maxObjectBytes)], ""))
		refs = append(refs, o.Object)
	}
	return given, checkInventory(refs)
}

// contentDigest returns the digest that an approval is bound to: of the bundle that
// will be applied, the report that was shown, and the basis of both.
func contentDigest(bundle, report, basis string) string {
	return sha256digest.Of([]byte("nuon plan content 1\n" + bundle + "\n" + report + "\n" + basis + "\n"))
}

func decodeBasis(raw json.RawMessage) (api.Basis, error) {
	var b api.Basis
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, fmt.Errorf("decode a plan's basis: %w", err)
	}
	return b, nil
}
