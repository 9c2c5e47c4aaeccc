package helmsdk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// maxRendered bounds the bytes of all templates of one rendering.
const maxRendered = 32 << 20

// noValue is the text that the engine removes from every rendering.
const noValue = "<no value>"

// compose sorts rendered templates into objects, hooks and notes, as Helm does. It
// returns an error for what cannot be applied. Objects without a namespace get that of the
// release; it is empty for a stored rendering, which was checked when it was rendered.
func compose(name, namespace string, templates []File) (*Rendered, error) {
	made := &Rendered{Templates: slices.Clone(templates)}
	slices.SortFunc(made.Templates, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	files, size := map[string]string{}, 0
	for _, f := range made.Templates {
		if size += len(f.Content); size > maxRendered {
			return nil, fmt.Errorf("the templates of the chart %s come to more than %d MiB; take large texts out of the objects",
				name, maxRendered>>20)
		}
		if bytes.Contains(f.Content, []byte(noValue)) {
			return nil, fmt.Errorf(
				"the template %s comes to a text with %q, which Helm takes out each time it renders; write something else",
				f.Path, noValue)
		}
		switch {
		case f.Path == path.Join(name, "templates", "NOTES.txt"):
			made.Notes = string(f.Content)
		case strings.HasSuffix(f.Path, "NOTES.txt"): // of a subchart
		default:
			files[f.Path] = string(f.Content)
		}
	}
	if err := checkObjects(namespace, made.Templates, files); err != nil {
		return nil, err
	}
	hooks, objects, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, fmt.Errorf("the templates of the chart %s: %s; correct the template", name, bounded(err))
	}
	var all strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&all, "---\n# Source: %s\n%s\n", o.Name, o.Content)
	}
	made.Manifest, made.hooks = all.String(), hooks
	for _, h := range hooks {
		made.Hooks = append(made.Hooks, newHook(h))
	}
	return made, nil
}

// documents splits YAML as Helm does, in order.
func documents(text string) []string {
	split := releaseutil.SplitManifests(text)
	keys := make([]string, 0, len(split))
	for key := range split {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // manifest-9 before manifest-10
	})
	made := make([]string, len(keys))
	for i, key := range keys {
		made[i] = split[key]
	}
	return made
}

// objectHeader holds the fields that every object needs.
type objectHeader struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string         `json:"name"`
		Namespace   string         `json:"namespace"`
		Annotations map[string]any `json:"annotations"`
	} `json:"metadata"`
	// Items is not nil if the key exists, regardless of its value: every Kubernetes client
	// then treats the object as a list.
	Items json.RawMessage `json:"items"`
}

// checkObjects reads every document and returns an error with the place of the first that is
// not an object. Before it reads the first, it checks the total size with all aliases expanded.
func checkObjects(namespace string, templates []File, files map[string]string) error {
	type document struct{ where, text string }
	var parts []document
	all := &budget{most: 2 * maxRendered}
	for _, f := range templates {
		for i, text := range documents(files[f.Path]) {
			where := f.Path
			if i > 0 {
				where = fmt.Sprintf("%s, document %d", f.Path, i+1)
			}
			if err := all.guard(where, []byte(text)); err != nil {
				return err
			}
			parts = append(parts, document{where, text})
		}
	}

	seen := map[string]string{}
	for _, part := range parts {
		objects, err := checkObject(part.where, part.text)
		if err != nil {
			return err
		}
		for _, object := range objects {
			identity := object.identity(namespace)
			if other := seen[identity]; other != "" {
				return fmt.Errorf("%s: the %s is in %s already; let the chart have it once", part.where, identity, other)
			}
			seen[identity] = part.where
		}
	}
	return nil
}

// identity returns the name by which the cluster knows an object of a release in a namespace.
func (o objectHeader) identity(namespace string) string {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	if !grouped {
		group = ""
	}
	namespace = cmp.Or(o.Metadata.Namespace, namespace)
	if namespaced, known := schema.Builtin().Namespaced(group, o.Kind); known && !namespaced {
		namespace = ""
	}
	return strings.TrimSuffix(o.Kind+"."+group, ".") + " " + strings.TrimPrefix(namespace+"/"+o.Metadata.Name, "/")
}

// isHook reports whether an object has the annotation of a hook.
func (o objectHeader) isHook() bool {
	_, hook := o.Metadata.Annotations[release.HookAnnotation]
	return hook
}

// checkObject returns the objects of a document that may exist only once: hooks may have the name of an
// object, and exist once for each event.
func checkObject(where, document string) ([]objectHeader, error) {
	plain, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return nil, fmt.Errorf("%s does not come to YAML: %s; correct the template, or the values that it reads", where,
			bounded(err))
	}
	if string(plain) == "null" {
		return nil, nil
	}
	var object objectHeader
	if err := yaml.Unmarshal(plain, &object); err != nil {
		return nil, fmt.Errorf("%s does not come to a Kubernetes object: %s; correct the template", where, bounded(err))
	}
	switch {
	case object.APIVersion == "" || object.Kind == "":
		return nil, fmt.Errorf("%s comes to a document without apiVersion or kind; correct the template", where)
	case object.Items != nil:
		return checkItems(where, object)
	case object.Metadata.Name == "":
		return nil, fmt.Errorf(
			"%s: a %s has no metadata.name; Helm needs one to find the object again, generateName is not enough", where,
			object.Kind)
	}
	if object.isHook() {
		return nil, nil
	}
	return []objectHeader{object}, nil
}

// checkItems returns the objects of a list. It returns an error for an object that Helm would treat as a
// list by mistake, for a list without items, and for a hook in a list, which Helm would create with the
// other objects.
func checkItems(where string, list objectHeader) ([]objectHeader, error) {
	if !strings.HasSuffix(list.Kind, "List") {
		return nil, fmt.Errorf("%s: a %s with items is a list to Helm, which makes the items and not the %s; remove items",
			where, list.Kind, list.Kind)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list.Items, &items); err != nil {
		return nil, fmt.Errorf("%s: the items of a %s are no list; correct the template", where, list.Kind)
	}
	var objects []objectHeader
	for i, item := range items {
		var object objectHeader
		if err := json.Unmarshal(item, &object); err != nil || string(item) == "null" {
			return nil, fmt.Errorf("%s: item %d of a %s is no object; correct the template", where, i+1, list.Kind)
		}
		if object.isHook() {
			return nil, fmt.Errorf("%s: item %d of a %s has the annotation %s, which Helm ignores in a list; "+
				"write the hook as a document of its own", where, i+1, list.Kind, release.HookAnnotation)
		}
		if object.Kind == "" && object.APIVersion == "" { // of a typed list
			object.Kind, object.APIVersion = strings.TrimSuffix(list.Kind, "List"), list.APIVersion
		}
		objects = append(objects, object)
	}
	if list.isHook() {
		return nil, nil
	}
	return objects, nil
}
