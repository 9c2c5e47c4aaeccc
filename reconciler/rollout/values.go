package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// leaf is one value below .nuon as the control plane stores it: plain JSON, or sealed
// to the install's key with a hash.
type leaf struct {
	path     render.Path
	plain    json.RawMessage
	sealed   json.RawMessage
	hash     string // of a sealed value
	proof    string // keyed hash of an output, as its runner reported it
	from     string // id of the install component that an output comes from; empty for an action
	inDigest bool   // it is part of the desired digest
	ours     bool   // it is sealed to the control plane's key, and to the install's only in a job

	secret  *api.SecretReference // of a secret of the customer: only the runner has the value
	version string               // of that secret
}

// absentDigest is the digest of a missing value.
const absentDigest = "absent"

// leaves returns the values that a canonical ref reads: the value at the ref, one
// above it, or all below it. It builds no other leaves, so its cost is that of what
// is read, even if the install has many outputs.
func (s *snapshot) leaves(ref render.Path) []leaf {
	if len(ref) == 0 {
		return nil
	}
	var all []leaf
	for _, source := range appconfig.SourcesOf(ref[0]) {
		switch source {
		case appconfig.FromInput:
			all = append(all, s.inputLeaves(ref)...)
		case appconfig.FromSandbox:
			all = append(all, s.leavesOfComponent(ref, appconfig.SandboxName, "sandbox")...)
		case appconfig.FromComponent:
			all = append(all, s.componentsLeaves(ref)...)
		case appconfig.FromAction:
			all = append(all, s.actionsLeaves(ref)...)
		case appconfig.FromStackOutput:
			all = append(all, s.stackLeaves(ref)...)
		case appconfig.FromSecret:
			all = append(all, s.secretLeaves(ref)...)
		case appconfig.FromVariable:
			all = append(all, s.variableLeaves(ref)...)
		default:
			all = append(all, s.literalLeaves(ref, source)...)
		}
	}
	return all
}

// literalLeaves returns the leaves that a ref reads of a source whose paths are all literal.
func (s *snapshot) literalLeaves(ref render.Path, source appconfig.ValueSource) []leaf {
	var all []leaf
	for _, path := range appconfig.PathsOf(ref) {
		if path.From != source {
			continue
		}
		if value, has := s.literalValue(path.Path); has {
			all = append(all, newLeaf(path.Keys(), value, !path.State))
		}
	}
	return all
}

// literalValue returns the value of a path of the table of template paths that contains no names.
func (s *snapshot) literalValue(path string) (value any, has bool) {
	switch path {
	case "install.id":
		return s.install.ID, true
	case "install.name":
		return s.install.Name, true
	case "app.id":
		return s.app.ID, true
	case "app.name":
		return s.app.Name, true
	case "org.id":
		return s.org.ID, true
	case "org.name":
		return s.org.Name, true
	case "app.status", "org.status":
		return statusActive, true
	case "app.populated", "org.populated", "runner.populated":
		return true, true
	case "runner.id", "runner.runner_group_id":
		return s.install.RunnerID, true
	case "runner.status":
		return activeIf(s.runner.RegisteredAt != nil), true
	case "install.public_domain", "domain.public_domain":
		return s.domain("public_domain")
	case "install.internal_domain", "domain.internal_domain":
		return s.domain("internal_domain")
	case "install_stack.status":
		return string(s.stackStatus().State), true
	case "install_stack.checksum":
		return s.stackNewest.Digest, s.stackNewest.Digest != ""
	case "domain.populated":
		_, has := s.domain("public_domain")
		return has, true
	}
	if keys := strings.Split(path, "."); keys[0] == "cloud_account" && len(keys) == 3 {
		return s.accountValue(keys[1], keys[2])
	}
	return nil, false
}

// reportedAccount has the output of the stack for each part of a cloud account.
var reportedAccount = map[string]string{"aws.region": "region", "azure.location": "resource_group_location",
	"gcp.project_id": "project_id", "gcp.region": "region"}

// accountValue returns a part of the cloud account: as it was set, else as the stack reported it.
func (s *snapshot) accountValue(cloud, key string) (value any, has bool) {
	if set := s.account[cloud+"_account"][key]; set != "" {
		return set, true
	}
	var reported string
	raw := s.stack[reportedAccount[cloud+"."+key]]
	if raw == nil || json.Unmarshal(raw, &reported) != nil {
		return nil, false
	}
	return reported, reported != ""
}

// domain returns one of the domains that the sandbox made.
func (s *snapshot) domain(which string) (name any, has bool) {
	for _, o := range s.outputs[outputOwner{"component", appconfig.SandboxName}] {
		var dns map[string]any
		if o.Name != "nuon_dns" || o.Value == nil || json.Unmarshal(o.Value, &dns) != nil {
			continue
		}
		name, has = render.Tree(dns).Get(render.Path{which, "name"})
		if _, text := name.(string); has && text {
			return name, true
		}
	}
	return nil, false
}

// Statuses that templates see.
const (
	statusActive  = "active"
	statusPending = "pending"
)

func activeIf(active bool) string {
	if active {
		return statusActive
	}
	return statusPending
}

// newLeaf returns the leaf of a plain value.
func newLeaf(path render.Path, value any, inDigest bool) leaf {
	raw, _ := json.Marshal(value) // texts and booleans always encode
	return leaf{path: path, plain: raw, inDigest: inDigest}
}

// readsKey reports whether a ref passes through a key at a depth of the tree, or ends above it.
func readsKey(ref render.Path, depth int, key string) bool {
	return len(ref) <= depth || ref[depth] == key
}

// inputLeaves returns the inputs of the release that a ref reads.
func (s *snapshot) inputLeaves(ref render.Path) []leaf {
	if s.config == nil {
		return nil
	}
	if len(ref) > 2 && ref[1] == "inputs" {
		in, known := s.config.Input(ref[2])
		if !known {
			return nil
		}
		return s.appendInputLeaf(nil, *in)
	}
	var all []leaf
	if readsKey(ref, 1, "populated") {
		all = append(all, newLeaf(render.Path{"inputs", "populated"}, true, false))
	}
	if !readsKey(ref, 1, "inputs") {
		return all
	}
	for _, in := range s.config.Inputs {
		all = s.appendInputLeaf(all, in)
	}
	return all
}

// appendInputLeaf adds the leaf of one input: the install's value, else the default, else
// an empty text unless the input is required.
func (s *snapshot) appendInputLeaf(all []leaf, in appconfig.Input) []leaf {
	path := render.Path{"inputs", "inputs", in.Name}
	given, has := s.inputs[in.Name]
	switch {
	case has && given.Sealed != nil:
		return append(all, leaf{path: path, sealed: given.Sealed, hash: given.Hash, inDigest: true})
	case !has && in.Default == nil && in.Required:
		return all
	}
	var plain string
	switch {
	case has && given.Value != nil:
		plain = *given.Value
	case in.Default != nil:
		plain = *in.Default
	}
	return append(all, newLeaf(path, plain, true))
}

func (s *snapshot) componentsLeaves(ref render.Path) []leaf {
	if len(ref) > 1 && ref[1] == "populated" && s.components[ref[1]] == nil {
		return []leaf{newLeaf(render.Path{"components", "populated"}, true, false)}
	}
	if len(ref) > 1 {
		if ref[1] == appconfig.SandboxName || s.components[ref[1]] == nil {
			return nil
		}
		return s.leavesOfComponent(ref, ref[1], "components", ref[1])
	}
	var all []leaf
	for _, name := range s.names() {
		if name != appconfig.SandboxName {
			all = append(all, s.leavesOfComponent(ref, name, "components", name)...)
		}
	}
	return all
}

// leavesOfComponent returns what a ref reads of one component: its outputs, and its state for templates.
func (s *snapshot) leavesOfComponent(ref render.Path, name string, prefix ...string) []leaf {
	all := s.outputLeaves(ref, outputOwner{"component", name}, append(slices.Clone(prefix), "outputs")...)
	if p := s.components[name]; p != nil {
		all = append(all, p.stateLeaves(ref, prefix)...)
	}
	return all
}

// stateLeaves returns what templates may read of a component apart from its outputs.
func (p *installComponent) stateLeaves(ref render.Path, prefix render.Path) []leaf {
	if len(ref) > len(prefix) && ref[len(prefix)] == "outputs" {
		return nil
	}
	var all []leaf
	for _, path := range appconfig.PathsOf(ref) {
		keys := path.Keys()
		if len(keys) != len(prefix)+1 {
			continue
		}
		if value, has := p.stateValue(keys[len(prefix)]); has {
			all = append(all, newLeaf(append(slices.Clone(prefix), keys[len(prefix)]), value, !path.State))
		}
	}
	return all
}

// stateValue returns one value of a component that is not an output.
func (p *installComponent) stateValue(key string) (value any, has bool) {
	switch key {
	case "name":
		return p.row.Name, true
	case "status":
		return activeIf(p.row.AppliedDigest != ""), true
	case "populated":
		return p.row.AppliedDigest != "", true
	case "component_id":
		return p.row.ComponentID, true
	case "install_component_id":
		return p.row.ID, true
	case "build_id":
		return p.applied.DigestInputs.BuildID, p.mayBeDeployed() && p.applied.DigestInputs.BuildID != ""
	case "version":
		return p.applied.DigestInputs.Commit, p.mayBeDeployed() && p.applied.DigestInputs.Commit != ""
	case "type":
		if p.config != nil && p.config.Pulumi != nil {
			return "pulumi", true
		}
		return "terraform", true
	}
	return nil, false
}

// actionsLeaves returns what a ref reads of the actions.
func (s *snapshot) actionsLeaves(ref render.Path) []leaf {
	var all []leaf
	if readsKey(ref, 1, "populated") {
		all = append(all, newLeaf(render.Path{"actions", "populated"}, true, false))
	}
	if !readsKey(ref, 1, "workflows") {
		return all
	}
	if len(ref) > 2 {
		return append(all, s.actionLeaves(ref, ref[2])...)
	}
	names := map[string]bool{}
	for owner := range s.outputs {
		if owner.scope == "action" {
			names[owner.name] = true
		}
	}
	for name := range s.runs {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, s.actionLeaves(ref, name)...)
	}
	return all
}

// actionLeaves returns what a ref reads of one action: the outputs of its latest successful run, and how its
// latest run ended.
func (s *snapshot) actionLeaves(ref render.Path, name string) []leaf {
	all := s.outputLeaves(ref, outputOwner{"action", name}, "actions", "workflows", name, "outputs")
	run, ran := s.runs[name]
	for _, part := range []struct {
		key   string
		value any
	}{{"status", orDefault(run.Status, statusPending)}, {"id", run.ID}, {"populated", ran}} {
		if readsKey(ref, 3, part.key) {
			all = append(all, newLeaf(render.Path{"actions", "workflows", name, part.key}, part.value, false))
		}
	}
	return all
}

// outputLeaves returns the outputs of one owner that a ref reads. The output of an
// action's step is named steps.<step>.<key>, and has a separate path.
func (s *snapshot) outputLeaves(ref render.Path, owner outputOwner, prefix ...string) []leaf {
	if !readsKey(ref, len(prefix)-1, "outputs") {
		return nil
	}
	var all []leaf
	from := ""
	if p := s.components[owner.name]; p != nil && owner.scope == "component" {
		from = p.row.ID
	}
	for i := range s.outputs[owner] {
		o := &s.outputs[owner][i]
		if owner.scope == "component" && !readsKey(ref, len(prefix), o.Name) {
			continue
		}
		path := append(slices.Clone(render.Path(prefix)), outputKeys(o)...)
		if !ref.HasPrefix(path...) && !path.HasPrefix(ref...) {
			continue
		}
		all = append(all, leaf{path: path, plain: o.Value, sealed: o.Sealed, hash: o.Hash, proof: o.Hash, from: from,
			inDigest: true})
	}
	return all
}

func outputKeys(o *store.Output) []string {
	if parts := strings.SplitN(o.Name, ".", 3); o.Scope == "action" && len(parts) == 3 && parts[0] == "steps" {
		return parts
	}
	return []string{o.Name}
}

// values returns what the runner puts below .nuon for templates that read refs: plain
// values as a tree, sealed values as they are, and those that are sealed to the control plane's
// key sealed to the runner's.
func (s *snapshot) values(refs []render.Path) (api.Values, error) {
	return s.valuesWith(refs, s.sealForRunner)
}

// valuesWith is values with the function that seals values to the runner's key. Without one, these values are left out.
func (s *snapshot) valuesWith(refs []render.Path,
	sealed func(leaf, seal.Sealed) (seal.Sealed, error)) (api.Values, error) {
	tree := render.Tree{}
	out := api.Values{Sealed: []api.SealedValue{}}
	placed := map[string]bool{}
	for _, ref := range refs {
		for _, l := range s.leaves(ref) {
			if placed[l.path.String()] {
				continue
			}
			placed[l.path.String()] = true
			if l.ours && sealed == nil {
				continue
			}
			if err := l.addTo(tree, &out, sealed); err != nil {
				return api.Values{}, err
			}
		}
		s.addEmptyParents(tree, ref)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return api.Values{}, fmt.Errorf("encode values: %w", err)
	}
	out.Plain = raw
	return out, nil
}

// addEmptyParents adds the objects that exist but are empty, so that a template can test for missing keys.
func (s *snapshot) addEmptyParents(tree render.Tree, ref render.Path) {
	empty := render.Path(nil)
	switch {
	case ref.HasPrefix("components") && len(ref) >= 2 && s.components[ref[1]] != nil &&
		s.components[ref[1]].mayBeDeployed():
		empty = render.Path{"components", ref[1], "outputs"}
	case ref.HasPrefix("sandbox") && s.components["sandbox"] != nil && s.components["sandbox"].mayBeDeployed():
		empty = render.Path{"sandbox", "outputs"}
	case ref.HasPrefix("actions", "workflows") && len(ref) >= 3:
		empty = render.Path{"actions", "workflows", ref[2], "outputs"}
	case ref.HasPrefix("inputs"):
		empty = render.Path{"inputs", "inputs"}
	case ref.HasPrefix("secrets") && s.config != nil && len(ref) > 1 && s.secret(ref[1]) != nil:
		empty = render.Path{"secrets", ref[1]}
	case ref.HasPrefix("app") && readsKey(ref, 1, variablesPath[1]):
		empty = variablesPath
	case ref.HasPrefix("install_stack") && s.stack != nil:
		empty = stackOutputsPath
	default:
		return
	}
	if _, ok := tree.Get(empty); !ok {
		tree.Set(empty, map[string]any{})
	}
}

func (l leaf) addTo(tree render.Tree, out *api.Values,
	sealToRunner func(leaf, seal.Sealed) (seal.Sealed, error)) error {
	if l.secret != nil {
		out.Secrets = append(out.Secrets, *l.secret)
		return nil
	}
	if l.sealed != nil {
		var sealed seal.Sealed
		err := json.Unmarshal(l.sealed, &sealed)
		if err == nil && l.ours {
			sealed, err = sealToRunner(l, sealed)
		}
		if err != nil {
			return fmt.Errorf("read the sealed value %s: %w", l.path, err)
		}
		out.Sealed = append(out.Sealed, api.SealedValue{Path: l.path, Component: l.from, Hash: l.proof, Sealed: sealed})
		return nil
	}
	var v any
	if err := decodeExact(l.plain, &v); err != nil {
		return fmt.Errorf("decode the value %s: %w", l.path, err)
	}
	if l.proof != "" {
		out.Proofs = append(out.Proofs, api.ValueProof{Path: l.path, Component: l.from, Hash: l.proof})
	}
	tree.Set(l.path, v)
	return nil
}

// foreignKey returns the path of the first sealed value that refs read and that the
// install's runner cannot open.
func (s *snapshot) foreignKey(refs []render.Path) (path render.Path, foreign bool) {
	for _, ref := range refs {
		for _, l := range s.leaves(ref) {
			var sealed seal.Sealed
			if l.sealed == nil || l.ours && s.runnerKey != "" {
				continue
			}
			if err := json.Unmarshal(l.sealed, &sealed); err != nil || s.runnerKey == "" || sealed.KeyID != s.runnerKey {
				return l.path, true
			}
		}
	}
	return nil, false
}

// missingInput returns the first required input without a value that refs read; nil
// if there is none.
func (s *snapshot) missingInput(refs []render.Path) *appconfig.Input {
	for _, ref := range refs {
		if !ref.HasPrefix("inputs", "inputs") || len(ref) < 3 {
			continue
		}
		if in, known := s.config.Input(ref[2]); known && in.Required && len(s.leaves(ref)) == 0 {
			return in
		}
	}
	return nil
}

// missingValue returns why a component cannot be planned although all others are up to date: a value that
// only a person, or another sandbox, can provide. It returns "" if there is none.
func (s *snapshot) missingValue(refs []render.Path) string {
	for _, ref := range refs {
		paths := appconfig.PathsOf(ref)
		if len(paths) != 1 || len(paths[0].Keys()) > len(ref) || len(s.leaves(ref)) > 0 {
			continue
		}
		switch path := paths[0]; {
		case path.NotYet:
			return fmt.Sprintf(".nuon.%s has no value: nothing fills it yet; write the value itself, or make it an input", ref)
		case path.From == appconfig.FromAccount:
			key := strings.Join(path.Keys()[1:], ".")
			return fmt.Sprintf(".nuon.%s has no value; set it: nuon installs update %s --account %s=VALUE", path.Path,
				s.address(), key)
		case path.From == appconfig.FromDomain:
			return fmt.Sprintf(".nuon.%s has no value: the sandbox has no output nuon_dns.%s.name; write the domain itself, "+
				"or make it an input", path.Path, path.Keys()[1])
		}
	}
	return ""
}

func (s *snapshot) names() []string { return slices.Sorted(maps.Keys(s.components)) }

// sandboxFirst returns the names in display order.
func (s *snapshot) sandboxFirst() []string {
	return slices.SortedFunc(maps.Keys(s.components), appconfig.SandboxFirst)
}
