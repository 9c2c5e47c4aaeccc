package initialize

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// kustomization is a directory with a kustomization file.
type kustomization struct{ namespace string }

// manifests are the files of a directory that contain Kubernetes objects.
type manifests []manifest

// manifest is one file with Kubernetes objects.
type manifest struct {
	file      string // relative to the repository
	text      string
	namespace string // of the first object that has one
}

// maxManifests is the maximum number of files of a directory that become components.
const maxManifests = 30

// kustomization finds a kustomization in a directory, and marks the directories that
// it reads from as used.
func (s *searcher) kustomization(dir string, files map[string]bool) (found find, ok bool, err error) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if !files[name] {
			continue
		}
		text, ok := s.read(path.Join(dir, name))
		if !ok {
			return find{}, false, fmt.Errorf("its %s cannot be read", name)
		}
		all, err := documents(text)
		if err != nil || len(all) == 0 {
			return find{}, false, errors.Join(fmt.Errorf("its %s is empty", name), err)
		}
		if scalarAt(all[0], "kind") == "Component" {
			return find{}, false, nil // a part of other kustomizations
		}
		for _, key := range []string{"resources", "bases", "components"} {
			s.use(dir, nodeAt(all[0], key))
		}
		return find{about: "kustomization", part: kustomization{namespace: scalarAt(all[0], "namespace")}}, true, nil
	}
	return find{}, false, nil
}

// use marks the directories that a kustomization reads from as used.
func (s *searcher) use(dir string, list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for _, n := range list.Content {
		at := path.Join(dir, n.Value)
		if n.Kind != yaml.ScalarNode || !fs.ValidPath(at) || strings.Contains(n.Value, "://") {
			continue
		}
		if isYAML(at) {
			at = path.Dir(at)
		}
		if at != dir {
			s.used[at] = true
		}
	}
}

// name returns the component name of a kustomization: the name of its directory, or of
// those above it if that name is generic.
func (kustomization) name(dir string) string {
	base, above := path.Base(dir), path.Dir(dir)
	switch {
	case base == "base" && above != ".":
		return path.Base(above)
	case path.Base(above) == "overlays" && path.Dir(above) != ".":
		return path.Base(path.Dir(above)) + "_" + base
	}
	return base
}

func (k kustomization) addTo(a *app, dir string) {
	name := a.componentName(k.name(dir))
	text := fmt.Sprintf(`# kubernetes-manifest
type      = "kubernetes_manifest"
name      = %s
namespace = %s # of objects that name none

[kustomize]
path = %s

[public_repo]
repo      = "." # the repository that this file is in, at the same commit
directory = "."
`, appconfig.Quote(name), appconfig.Quote(a.namespace(k.namespace)), appconfig.Quote("./"+strings.TrimPrefix(dir, ".")))
	a.components = append(a.components, component{name: name, text: text})
	a.notes = append(a.notes, fmt.Sprintf("The component %s is built by kustomize from %s.", name, placeOf(dir)))
}

// manifests finds files that contain only Kubernetes objects.
func (s *searcher) manifests(dir string, files map[string]bool) (found find, ok bool, err error) {
	var all manifests
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isYAML(name) {
			continue
		}
		file := path.Join(dir, name)
		text, fits := s.read(file)
		if !fits {
			continue
		}
		if namespace, is := objects(text); is {
			if _, err := render.Parse(file, string(text)); err != nil {
				s.leaveOut(file, err)
				continue
			}
			all = append(all, manifest{file: file, text: string(text), namespace: namespace})
		}
		if len(all) > maxManifests {
			return find{}, false, fmt.Errorf("it has more than %d manifests; combine them with a kustomization.yaml",
				maxManifests)
		}
	}
	about := fmt.Sprintf("%d Kubernetes manifests", len(all))
	if len(all) == 1 {
		about = "Kubernetes manifest " + path.Base(all[0].file)
	}
	return find{about: about, part: all}, len(all) > 0, nil
}

// objects reports whether a text contains only Kubernetes objects, and returns the
// namespace of the first object that has one.
func objects(text []byte) (namespace string, is bool) {
	all, err := documents(text)
	if err != nil {
		return "", false
	}
	for _, n := range all {
		top := nodeAt(n)
		if top == nil || top.Kind == yaml.ScalarNode && top.Value == "" {
			continue // an empty document
		}
		name := scalarAt(n, "metadata", "name") + scalarAt(n, "metadata", "generateName")
		if scalarAt(n, "apiVersion") == "" || scalarAt(n, "kind") == "" || name == "" &&
			!strings.HasSuffix(scalarAt(n, "kind"), "List") {
			return "", false
		}
		is = true
		if namespace == "" {
			namespace = scalarAt(n, "metadata", "namespace")
		}
	}
	return namespace, is
}

func (m manifests) addTo(a *app, dir string) {
	var names []string
	namespace := "" // the first one in the directory, for files without one
	for _, one := range m {
		namespace = cmp.Or(namespace, one.namespace)
	}
	for _, one := range m {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(one.file), ".yaml"), ".yml")
		if len(m) > 1 && dir != "." {
			name = path.Base(dir) + "_" + name
		}
		name = a.componentName(name)
		names = append(names, name)
		reference, inside := a.place.reference(one.file)
		if !inside {
			reference = "./manifests/" + name + ".yaml"
			a.extra = append(a.extra, file{"components/manifests/" + name + ".yaml", one.text})
			a.notes = append(a.notes, fmt.Sprintf("components/manifests/%s.yaml is a copy of %s, because "+
				"components can only refer to files in the app's directory.",
				name, one.file))
		}
		text := fmt.Sprintf("# kubernetes-manifest\ntype = \"kubernetes_manifest\"\nname = %s\nnamespace = %s # of objects "+
			"that name none\nmanifest = %s\n",
			appconfig.Quote(name), appconfig.Quote(a.namespace(cmp.Or(one.namespace, namespace))),
			appconfig.Quote(reference))
		a.components = append(a.components, component{name: name, text: text})
	}
	words := "The component " + names[0] + " is the manifest in " + dir + "."
	if len(names) > 1 {
		words = fmt.Sprintf("The components %s are the manifests in %s.", strings.Join(names, ", "), dir)
	}
	a.notes = append(a.notes, words)
}

// namespace returns the namespace that was found if it is valid, and otherwise the app's own.
func (a *app) namespace(found string) string {
	if found != "" && label(found) == found {
		return found
	}
	return label(a.name)
}

// reference returns the path by which a component file refers to a file of the
// repository; false if the file is outside the app's directory.
func (p place) reference(file string) (string, bool) {
	below := file
	if dir := p.inRoot("."); dir != "." {
		var inside bool
		if below, inside = strings.CutPrefix(file, dir+"/"); !inside {
			return "", false
		}
	}
	return "../" + below, true
}
