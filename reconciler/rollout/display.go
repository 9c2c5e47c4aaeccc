package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// RenderedText is one template as a deploy or a run would render it now, for display. It has
// a placeholder where the control plane has no value or must not show one.
type RenderedText struct {
	Key       string   // e.g. vars.cidr
	Text      string   // empty if Problem is set
	Sensitive bool     // it contains a sensitive value, which is hidden
	WaitsFor  []string // the conditions for its values to be known, e.g. "network is deployed"
	Problem   string   // why it cannot be rendered, for a person; without values
}

// Placeholders for values.
const (
	sensitivePlaceholder = "‹sensitive›"
	// for a text computed from the value, of which no part may be shown
	sensitiveTextPlaceholder = "‹contains a sensitive value›"
	tooLongPlaceholder       = "‹too long to be shown with the others: request its key alone›"
)

// maxDisplayBytes bounds the text that is shown at once, in bytes, in addition to the bound
// of a single key (render.MaxOutput).
const maxDisplayBytes = 4 << 20

// Display renders templates with the known values of one install, without writing
// anything. It holds no sensitive value.
type Display struct {
	snapshot  *snapshot
	sensitive []render.Path // sensitive inputs, including those that have only a default
}

// LoadDisplay reads the data that the templates of an install need. Rendering needs no transaction.
func LoadDisplay(ctx context.Context, tx *store.Tx, install store.Install) (*Display, error) {
	both, err := loadReadOnly(ctx, tx, []store.Install{install})
	if err != nil {
		return nil, err
	}
	return newDisplay(both[0]), nil
}

func newDisplay(s *snapshot) *Display {
	d := &Display{snapshot: s}
	if s.config == nil {
		return d
	}
	for _, in := range s.config.Inputs {
		if in.Sensitive {
			d.sensitive = append(d.sensitive, render.Path{"inputs", "inputs", in.Name})
		}
	}
	return d
}

// Release returns the number of the release that the install is to have; 0 before the first one.
func (d *Display) Release() int { return int(d.snapshot.release.Number) }

// Config returns the config of that release; nil before the first one.
func (d *Display) Config() *appconfig.App { return d.snapshot.config }

// Templates returns the templates of a component of that release, by key, with what nuon passes to the sandbox.
func (d *Display) Templates(component string) (templates map[string]string, found bool) {
	if p := d.snapshot.components[component]; p != nil && p.config != nil {
		return p.config.Templates(), true
	}
	if d.snapshot.config == nil {
		return nil, false
	}
	c, found := d.snapshot.config.Component(component)
	if !found {
		return nil, false
	}
	return c.Templates(), true
}

// Render renders templates, by key. It stops between two templates when ctx is done.
func (d *Display) Render(ctx context.Context, templates map[string]string) ([]RenderedText, error) {
	all := make([]RenderedText, 0, len(templates))
	size := 0
	for _, key := range slices.Sorted(maps.Keys(templates)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		shown, err := d.renderOne(key, templates[key])
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", key, err)
		}
		if size += len(shown.Text); size > maxDisplayBytes && len(templates) > 1 {
			size -= len(shown.Text)
			shown.Text = tooLongPlaceholder
		}
		all = append(all, shown)
	}
	return all, nil
}

func (d *Display) renderOne(key, text string) (RenderedText, error) {
	shown := RenderedText{Key: key}
	tmpl, err := render.Parse(key, text)
	if err != nil {
		shown.Problem = err.Error()
		return shown, nil //nolint:nilerr // the error is shown
	}
	tree, err := d.tree(tmpl.Refs())
	if err != nil {
		return shown, err
	}
	whole := ""
	printed := onlyPrinted(tmpl)
	for _, ref := range tmpl.Refs() {
		placeholder := d.maskSensitive(tree, ref)
		if placeholder != "" {
			shown.Sensitive = true
		} else if waits := d.missingCondition(tree, ref); waits != "" {
			placeholder = "‹known after " + waits + "›"
			tree.Set(ref, placeholder)
			shown.addWait(waits)
		}
		if placeholder != "" && !printed[ref.String()] {
			whole = placeholder
		}
	}
	switch {
	case whole != "" && shown.Sensitive:
		shown.Text = sensitiveTextPlaceholder
	case whole != "":
		shown.Text = whole
	default:
		shown.render(tmpl, tree)
	}
	return shown, nil
}

func (s *RenderedText) addWait(waits string) {
	if !slices.Contains(s.WaitsFor, waits) {
		s.WaitsFor = append(s.WaitsFor, waits)
	}
}

func (s *RenderedText) render(tmpl *render.Template, tree render.Tree) {
	text, err := tmpl.Execute(tree)
	if err != nil {
		s.Problem = err.Error()
		return
	}
	s.Text = text
}

// onlyPrinted returns the refs that a template only prints, wherever it reads them.
// Only those can have a placeholder instead of their value.
func onlyPrinted(tmpl *render.Template) map[string]bool {
	printed := map[string]bool{}
	for _, use := range tmpl.Uses() {
		before, known := printed[use.Path.String()]
		printed[use.Path.String()] = use.Printed && (before || !known)
	}
	return printed
}

// tree returns the values of refs that the control plane can read. It contains no sealed value.
func (d *Display) tree(refs []render.Path) (render.Tree, error) {
	tree := render.Tree{}
	if d.snapshot.config == nil {
		return tree, nil
	}
	values, err := d.snapshot.valuesWith(refs, nil)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(values.Plain))
	decoder.UseNumber()
	return tree, decoder.Decode(&tree)
}

// maskSensitive replaces what is sensitive below a ref with placeholders. It returns the
// placeholder, or "" if nothing is sensitive.
func (d *Display) maskSensitive(tree render.Tree, ref render.Path) (placeholder string) {
	paths := slices.Clone(d.sensitive)
	for _, l := range d.snapshot.leaves(ref) {
		if l.sealed != nil || l.secret != nil {
			paths = append(paths, l.path)
		}
	}
	for _, path := range paths {
		switch {
		case ref.HasPrefix(path...):
			tree.Set(ref, sensitivePlaceholder)
		case path.HasPrefix(ref...):
			tree.Set(path, sensitivePlaceholder)
		default:
			continue
		}
		placeholder = sensitivePlaceholder
	}
	return placeholder
}

// missingCondition returns the condition for a ref to have a value, or "" if it has one or
// will never have one.
func (d *Display) missingCondition(tree render.Tree, ref render.Path) (waits string) {
	if _, has := tree.Get(ref); has {
		return ""
	}
	s := d.snapshot
	for _, path := range appconfig.PathsOf(ref) {
		switch path.From {
		case appconfig.FromComponent:
			if len(ref) > 1 && s.components[ref[1]] != nil && !s.components[ref[1]].mayBeDeployed() {
				return ref[1] + " is deployed"
			}
		case appconfig.FromSandbox, appconfig.FromDomain:
			if p := s.components[appconfig.SandboxName]; p != nil && !p.mayBeDeployed() {
				return "the sandbox is deployed"
			}
		case appconfig.FromAction:
			if len(ref) > 2 && len(s.outputs[outputOwner{"action", ref[2]}]) == 0 {
				return "action " + ref[2] + " has run"
			}
		case appconfig.FromInput:
			if in := s.missingInput([]render.Path{ref}); in != nil {
				return "input " + in.Name + " is entered"
			}
		case appconfig.FromAccount:
			return "the cloud account of the install is set"
		case appconfig.FromSecret:
			if name := secretOf(ref); name != "" && s.secret(name) != nil {
				return "secret " + name + " is set"
			}
		case appconfig.FromVariable:
			if len(ref) > len(variablesPath) {
				return "app variable " + ref[len(variablesPath)] + " is set"
			}
		case appconfig.FromStackOutput:
			if len(ref) > len(stackOutputsPath) {
				return "stack output " + ref[len(stackOutputsPath):].String() + " is set"
			}
			return "the outputs of the stack are set"
		case appconfig.FromStack:
			return "the install's stack is rendered"
		}
	}
	return ""
}
