// Package values opens the values that a job's templates read, and determines which texts are
// secret because of them.
//
// It owns the opening of sealed values, each only at the path that it was sealed for;
// the rendering of templates; the list of texts that must not be shown; and the form
// in which an output leaves the runner: plain or sealed, with a keyed hash by which the runner
// recognizes it when the control plane sends it back.
//
// It never stores or sends anything, and contains nothing specific to a kind of component.
// Every secret that it opens is added to the job's redactor before the caller gets it.
package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Values are the opened values that templates read below .nuon. They hold secrets.
type Values struct {
	// Secrets contains every secret text that was found so far.
	Secrets *Secrets

	tree render.Tree
	// masked is the tree with other values in place of the secrets: where a template renders
	// differently with masked than with tree, the result contains a secret.
	masked render.Tree
	sealed []render.Path
	// secrets are the paths of the customer's secrets.
	secrets []render.Path
	// authenticPaths are the paths whose values a holder of the install key reported.
	authenticPaths []render.Path
}

// Open opens the sealed values of a job for an install and puts each at its path. Before it
// returns, every secret is added to the redactor. A value opens only at the path that it was
// sealed for, and an output only if its keyed hash matches. The error names the path of a value
// that cannot be opened, and the reason.
func Open(install string, given api.Values, key seal.Identity, known *redact.Set) (*Values, error) {
	made := &Values{Secrets: NewSecrets(known)}
	var err error
	if made.tree, err = decodePlain(given.Plain); err != nil {
		return nil, err
	}
	if made.masked, err = decodePlain(given.Plain); err != nil {
		return nil, err
	}
	made.verifyPlain(install, given.Proofs, key)
	for _, each := range given.Sealed {
		path := render.Canonical(render.Path(each.Path))
		opened, err := openSealedValue(install, path, each, key)
		if err != nil {
			return nil, err
		}
		value := decodeSecret(path, opened)
		made.Secrets.addLeaves(value)
		made.tree.Set(path, value)
		made.masked.Set(path, maskLeaves(value))
		made.sealed = append(made.sealed, path)
		made.authenticPaths = slices.DeleteFunc(made.authenticPaths,
			func(p render.Path) bool { return p.HasPrefix(path...) || path.HasPrefix(p...) })
		if each.Hash != "" {
			made.authenticPaths = append(made.authenticPaths, path)
		}
	}
	return made, nil
}

// openSealedValue opens the sealed value of one path.
func openSealedValue(install string, path render.Path, given api.SealedValue, key seal.Identity) (seal.Secret, error) {
	context, err := valueContext(install, path, given.Component)
	if err != nil {
		return seal.Secret{}, fmt.Errorf("open .nuon.%s: %w", path, err)
	}
	opened, err := key.Open(given.Sealed, context)
	switch {
	case errors.Is(err, seal.ErrContext):
		return seal.Secret{}, fmt.Errorf("open .nuon.%s: %w: the control plane sent it for another place than it "+
			"is sealed for; do "+
			"not run this job, check the audit log", path, err)
	case err != nil:
		return seal.Secret{}, fmt.Errorf("open .nuon.%s: %w; enter the value again, or give the runner the key file that "+
			"it had before", path, err)
	case context.Kind == seal.KindOutput && !sameHash(context.Hash(key, opened.Reveal()), given.Hash):
		return seal.Secret{}, fmt.Errorf("open .nuon.%s: no runner of this install reported this output: its keyed hash is "+
			"missing or wrong; deploy what it comes from again", path)
	case context.Kind != seal.KindOutput && given.Hash != "":
		return seal.Secret{}, fmt.Errorf("open .nuon.%s: a value that is no output came with the hash of one; this is a "+
			"bug in the control plane; report it", path)
	}
	return opened, nil
}

func decodePlain(plain json.RawMessage) (render.Tree, error) {
	tree := render.Tree{}
	if len(plain) == 0 {
		return tree, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil || tree == nil {
		return nil, fmt.Errorf("the values of this job are not a JSON object; this is a bug in the control plane; " +
			"report it")
	}
	return tree, nil
}

// decodeSecret decodes a sealed value. Jobs seal outputs as JSON. A person's input is sealed as
// plain text: an input is always a string, and must not be decoded as a number.
func decodeSecret(path render.Path, opened seal.Secret) any {
	text := opened.Reveal()
	if path.HasPrefix("inputs") || path.HasPrefix("app") {
		return string(text)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(text)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return string(text)
	}
	return value
}

// maskLeaves returns a value of the same shape with other leaves.
func maskLeaves(value any) any {
	switch value := value.(type) {
	case string:
		if value == "" {
			return "" // as an optional input that nobody entered
		}
		return "nuon-disguise-" + fmt.Sprint(len(value))
	case json.Number:
		return json.Number("271828")
	case bool:
		return !value
	case []any:
		masked := make([]any, len(value))
		for i, element := range value {
			masked[i] = maskLeaves(element)
		}
		return masked
	case map[string]any:
		masked := make(map[string]any, len(value))
		for key, element := range value {
			masked[key] = maskLeaves(element)
		}
		return masked
	}
	return value
}

// Get returns a plain or opened value as text, and false when there is
// none or it is not a text.
func (v *Values) Get(path ...string) (string, bool) {
	value, _ := v.tree.Get(render.Canonical(render.Path(path)))
	text, found := value.(string)
	return text, found
}

// Render renders one template; name is its name in errors. The parts of the result that depend
// on a secret become secrets, too.
func (v *Values) Render(name, text string) (string, error) {
	rendered, _, err := v.RenderMasked(name, text)
	return rendered, err
}

// RenderMasked is Render. It also returns what the template renders to with other values in place of the secrets, so
// that a caller can tell which parts depend on one; empty if it renders to nothing with these.
func (v *Values) RenderMasked(name, text string) (rendered, masked string, err error) {
	template, err := parse(name, text)
	if err != nil {
		return "", "", err
	}
	return v.execute(template)
}

// parse parses a template of a component's config.
func parse(name, text string) (*render.Template, error) {
	template, err := render.Parse(name, text)
	if err != nil {
		return nil, fmt.Errorf("%w; correct the component's config", err)
	}
	return template, nil
}

// execute is RenderMasked for a parsed template.
func (v *Values) execute(template *render.Template) (rendered, masked string, err error) {
	if rendered, err = template.Execute(v.tree); err != nil {
		return "", "", fmt.Errorf("%w; correct the component's config, or deploy first what it reads", err)
	}
	if !v.referencesSealed(template) {
		return rendered, rendered, nil
	}
	if masked, err = template.Execute(v.masked); err != nil {
		masked = "" // it fails with another value: then the whole text is secret
	}
	v.Secrets.addDifference(rendered, masked)
	return rendered, masked, nil
}

// referencesSealed reports whether a template can read a sealed value or a secret of the customer.
func (v *Values) referencesSealed(template *render.Template) bool {
	return references(template, v.sealed) || references(template, v.secrets)
}

// references reports whether a template can read a value at, above or below one of the paths.
func references(template *render.Template, paths []render.Path) bool {
	for _, ref := range template.Refs() {
		ref = render.Canonical(ref)
		for _, path := range paths {
			if ref.HasPrefix(path...) || path.HasPrefix(ref...) {
				return true
			}
		}
	}
	return false
}

// AddSecret puts the value of a secret of the customer at .nuon.install.secrets.NAME, and makes it secret.
func (v *Values) AddSecret(name, value string) {
	path := render.Path{"install", "secrets", name}
	v.Secrets.Add(value)
	v.tree.Set(path, value)
	v.masked.Set(path, maskLeaves(value))
	v.secrets = append(v.secrets, path)
}

// RenderAuthentic renders a template that reads only outputs that a holder of the install key reported, such as the
// address of a secret. It returns an error for any other, so that the control plane cannot choose the result.
func (v *Values) RenderAuthentic(name, text string) (string, error) {
	template, err := render.Parse(name, text)
	if err != nil {
		return "", fmt.Errorf("%w; correct the app's config", err)
	}
	refs := template.Refs()
	for _, ref := range refs {
		if !v.IsAuthentic(ref) {
			return "", fmt.Errorf("%s reads .nuon.%s, which no runner of this install reported as an output", name, ref)
		}
	}
	if len(refs) != 1 || !isOneReference.MatchString(text) {
		return "",
			fmt.Errorf("%s is not the output of a component alone, such as {{ .nuon.components.db.outputs.secret_arn }}",
				name)
	}
	return v.Render(name, text)
}

// isOneReference matches a template that is nothing but one value.
var isOneReference = lazyregexp.New(`^\{\{-?\s*\.nuon(\.[A-Za-z0-9_]+)+\s*-?\}\}$`)

// RenderPublic renders a template whose result others on the machine can see: the words of a command. It returns an
// error for one that reads a secret of the customer.
func (v *Values) RenderPublic(name, text string) (string, error) {
	return v.renderVisible(name, text, nil)
}

// RenderReported renders a template whose result is sent to the control plane in clear, such as a namespace. It returns
// an error for one that reads a sealed value or a secret of the customer.
func (v *Values) RenderReported(name, text string) (string, error) {
	return v.renderVisible(name, text, v.sealed)
}

// renderVisible renders a template that may read neither a secret of the customer, whether it has a value or not, nor
// the sealed values at some paths.
func (v *Values) renderVisible(name, text string, sealed []render.Path) (string, error) {
	template, err := parse(name, text)
	switch {
	case err != nil:
		return "", err
	case references(template, v.secrets) || slices.ContainsFunc(template.Refs(), isCustomerSecret):
		return "", fmt.Errorf("%s reads a secret of the customer, and others can see the result; let the program read it "+
			"from its environment or a file", name)
	case references(template, sealed):
		return "", fmt.Errorf("%s reads a sensitive value, and the result is reported in clear; use a value that is not "+
			"sensitive", name)
	}
	rendered, _, err := v.execute(template)
	return rendered, err
}

// isCustomerSecret reports whether a reference is to a secret of the customer, or to all of them.
func isCustomerSecret(ref render.Path) bool {
	return render.Canonical(ref).HasPrefix("install", "secrets")
}

// RenderAll renders a map of templates. In errors each is named kind.key.
func (v *Values) RenderAll(kind string, templates map[string]string) (map[string]string, error) {
	made := make(map[string]string, len(templates))
	for _, key := range slices.Sorted(maps.Keys(templates)) {
		rendered, err := v.Render(kind+"."+key, templates[key])
		if err != nil {
			return nil, err
		}
		made[key] = rendered
	}
	return made, nil
}
