package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// StackConfigs returns the configs that state which outputs the stack of an install has: that of the
// install's release and the newest.
func StackConfigs(ctx context.Context, tx *store.Tx, install store.Install) ([]*appconfig.App, error) {
	config, err := ReleaseConfig(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	app, err := tx.AppByID(ctx, tx.Org, install.AppID)
	if err != nil || app.VersionID == nil {
		return []*appconfig.App{config}, err
	}
	version, err := tx.AppVersionByID(ctx, tx.Org, *app.VersionID)
	if err != nil {
		return nil, err
	}
	current := &appconfig.App{}
	if err := json.Unmarshal(version.Config, current); err != nil {
		return nil, fmt.Errorf("read app version %s: %w", version.ID, err)
	}
	return []*appconfig.App{config, current}, nil
}

// stackOutputsPath is the path below .nuon of the outputs of the install's stack.
var stackOutputsPath = render.Path{"install_stack", "outputs"}

// addStackOutputs adds the newest version of the stack's outputs.
func (s *snapshot) addStackOutputs(raw json.RawMessage) error {
	all, err := stackoutputs.Decode(store.StackOutput{InstallID: s.install.ID, Outputs: raw})
	if err != nil {
		return err
	}
	s.stack = all.Values()
	return nil
}

// stackLeaves returns what a ref reads of the install's stack: its outputs, and whether there are any.
func (s *snapshot) stackLeaves(ref render.Path) []leaf {
	var all []leaf
	if readsKey(ref, 1, "populated") {
		all = append(all, newLeaf(render.Path{"install_stack", "populated"}, s.stack != nil, false))
	}
	if !readsKey(ref, 1, "outputs") {
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(s.stack)) {
		if readsKey(ref, len(stackOutputsPath), name) {
			path := append(slices.Clone(stackOutputsPath), name)
			all = append(all, leaf{path: path, plain: s.stack[name], inDigest: true})
		}
	}
	return all
}

// missingStackOutputs returns why refs cannot be resolved because of the stack outputs that they read,
// with the command that sets them, or "" if they can.
func (s *snapshot) missingStackOutputs(refs []render.Path) string {
	missing, all := map[string]bool{}, false
	for _, ref := range refs {
		switch {
		case !ref.HasPrefix(stackOutputsPath...):
		case len(ref) == len(stackOutputsPath):
			all = all || s.stack == nil
		case !s.hasStackOutput(ref):
			missing[ref[len(stackOutputsPath):].String()] = true
		}
	}
	names := slices.Sorted(maps.Keys(missing))
	switch {
	case len(names) == 0 && !all:
		return ""
	case len(names) == 0:
		return fmt.Sprintf("the outputs of the install's stack are not set; set them: nuon installs stack set %s --file FILE",
			s.address())
	}
	what, verb := "stack output ", " is not set; set it"
	if len(names) > 1 {
		what, verb = "stack outputs ", " are not set; set them"
	}
	return what + joinAnd(names) + verb + ": nuon installs stack set " + s.address() + settingsOf(names)
}

// hasStackOutput reports whether a ref below the stack's outputs has a value. One that ends in an
// element of a list, or goes beyond a text, is left to the rendering.
func (s *snapshot) hasStackOutput(ref render.Path) bool {
	raw, set := s.stack[ref[len(stackOutputsPath)]]
	if !set {
		return false
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return true
	}
	for _, key := range ref[len(stackOutputsPath)+1:] {
		object, isObject := value.(map[string]any)
		if !isObject {
			return true
		}
		if value, set = object[key]; !set {
			return false
		}
	}
	return true
}

// settingsOf returns the arguments that set stack outputs, to follow the name of the install.
func settingsOf(missing []string) string {
	var text, placed = strings.Builder{}, map[string]bool{}
	for _, path := range missing {
		name, _, deeper := strings.Cut(path, ".")
		if placed[name] {
			continue
		}
		placed[name] = true
		switch kind := appconfig.StackOutputType(name); {
		case deeper || kind == appconfig.PathObject:
			text.WriteString(" --set-json '" + name + "={…}'")
		case kind == appconfig.PathList:
			text.WriteString(" --set-json '" + name + "=[…]'")
		default:
			text.WriteString(" " + name + "=VALUE")
		}
	}
	return text.String()
}

// joinAnd joins names for a sentence.
func joinAnd(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
