package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// variablesPath is the path below .nuon of the variables of the app.
var variablesPath = render.Path{"app", "variables"}

// addVariable adds a variable of the app, with its plain value or the sealed one.
func (s *snapshot) addVariable(v store.ValuesOfInstallsRow) error {
	variable := store.AppVariable{Name: v.Name, Sealed: v.Sealed, Hash: v.Hash}
	if v.Value != nil {
		if err := json.Unmarshal(v.Value, &variable.Value); err != nil {
			return fmt.Errorf("decode app variable %s: %w", v.Name, err)
		}
	}
	s.variables[v.Name] = variable
	return nil
}

// variableLeaves returns the variables of the app that a ref reads.
func (s *snapshot) variableLeaves(ref render.Path) []leaf {
	if !readsKey(ref, 1, "variables") {
		return nil
	}
	var all []leaf
	for _, name := range slices.Sorted(maps.Keys(s.variables)) {
		if !readsKey(ref, len(variablesPath), name) {
			continue
		}
		path := append(slices.Clone(variablesPath), name)
		if v := s.variables[name]; v.Sealed != nil {
			all = append(all, leaf{path: path, sealed: v.Sealed, hash: v.Hash, inDigest: true, ours: true})
		} else {
			all = append(all, newLeaf(path, *v.Value, true))
		}
	}
	return all
}

// missingVariables returns why refs cannot be resolved because of the app's variables that they read, with the command
// that sets them, or "" if they can.
func (s *snapshot) missingVariables(refs []render.Path) string {
	missing := map[string]bool{}
	for _, ref := range refs {
		if !ref.HasPrefix(variablesPath...) || len(ref) == len(variablesPath) {
			continue
		}
		if name := ref[len(variablesPath)]; s.variables[name].Hash == "" {
			missing[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(missing))
	if len(names) == 0 {
		return ""
	}
	what, verb := "app variable ", " is not set; set it"
	if len(names) > 1 {
		what, verb = "app variables ", " are not set; set them"
	}
	command := "nuon apps variables set " + s.app.Name
	for _, name := range names {
		command += " " + name + "=VALUE"
	}
	return what + joinAnd(names) + verb + ": " + command
}

// sealForRunner opens a value that is sealed to the control plane's key, and seals it to the key of the
// install's runner.
func (s *snapshot) sealForRunner(l leaf, sealed seal.Sealed) (seal.Sealed, error) {
	name := l.path[len(variablesPath)]
	if s.controlKey.IsZero() {
		return seal.Sealed{}, fmt.Errorf("app variable %s is sensitive, and the control plane has no key to open it", name)
	}
	secret, err := s.controlKey.Open(sealed, seal.AppVariableContext(s.org.ID, s.app.ID, name))
	if err != nil {
		return seal.Sealed{}, fmt.Errorf("app variable %s: %w; set it again: nuon apps variables set %s --sensitive %s", name,
			err, s.app.Name, name)
	}
	to, err := seal.ParseRecipient(s.runner.Recipient)
	if err != nil {
		return seal.Sealed{}, fmt.Errorf("read the key of runner %s: %w", s.runner.Name, err)
	}
	return to.Seal(seal.InstallVariableContext(s.install.ID, name), secret.Reveal())
}
