package format_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// TestHints finds a kind for every hint that people write on the first line of a file, and for every type of component.
func TestHints(t *testing.T) {
	for name, want := range map[string]string{
		"action": "action", "break-glass": "break-glass", "component-root": "component", "container-image": "container-image",
		"docker-build": "docker-build", "full": "full",
		"helm": "helm", "input": "input", "input-group": "input-group", "inputs": "inputs", "install": "install",
		"installer": "installer", "kubernetes-manifest": "kubernetes-manifest",
		"metadata": "metadata", "permissions": "permissions", "policies": "policies", "policy": "policy", "runner": "runner",
		"sandbox": "sandbox", "secret": "secret",
		"secrets": "secrets", "stack": "stack", "terraform": "terraform", "pulumi": "pulumi",
		"terraform_module": "terraform", "helm_chart": "helm", "container_image": "container-image",
		"external_image": "container-image", "docker_build": "docker-build", "kubernetes_manifest": "kubernetes-manifest",
	} {
		if k, ok := format.FindKind(name); !ok || k.Name != want {
			t.Errorf("%s is the kind %q, %v; want %s", name, k.Name, ok, want)
		}
	}
	if k, ok := format.FindKind("job"); ok {
		t.Errorf("found %s for a kind that is none", k.Name)
	}
}

// TestNamesAreUnique: no name or alias finds two kinds.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, k := range format.Kinds() {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if other, ok := seen[name]; ok {
				t.Errorf("%s and %s are both called %s", other, k.Name, name)
			}
			seen[name] = k.Name
		}
	}
}

// TestKeyIsFoundByPath: every key of every kind is found by its own path, and holds the field that its index says.
func TestKeyIsFoundByPath(t *testing.T) {
	for _, k := range format.Kinds() {
		if k.OpenEnded {
			continue
		}
		each(k.Keys(), k.Type, func(key format.Key, in reflect.Type) {
			if found, ok := k.Key(key.Path); !ok || !reflect.DeepEqual(found, key) {
				t.Errorf("%s has no key %s", k.Name, key.Path)
			}
			if name := in.FieldByIndex(key.Index).Tag.Get("toml"); name != key.Name {
				t.Errorf("the field of %s %s is called %s", k.Name, key.Path, name)
			}
		})
		for _, path := range []string{"", ".", "nonsense", k.Keys()[0].Path + ".nonsense", k.Keys()[0].Path + "."} {
			if key, ok := k.Key(path); ok {
				t.Errorf("%s has the key %s for %q", k.Name, key.Path, path)
			}
		}
	}
}

// each visits keys and those below them, with the struct that each is a field of.
func each(keys []format.Key, in reflect.Type, visit func(format.Key, reflect.Type)) {
	for _, k := range keys {
		visit(k, in)
		below := in.FieldByIndex(k.Index).Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		each(k.Keys, below, visit)
	}
}

// words are those of the config tag, each with what its value must look like.
var words = map[string]*regexp.Regexp{
	"required": nil, "template": nil, "file": nil, "set": nil, "idle": nil, "duration": nil, "cron": nil, "regexp": nil,
	"url": nil, "json": nil,
	"one":     regexp.MustCompile(`^[a-z0-9_:|A-Z-]+$`),
	"known":   regexp.MustCompile(`^[a-z_|-]+$`),
	"default": regexp.MustCompile(`^\S+$`),
	"sorted":  regexp.MustCompile(`^[a-z_]+$`),
	"was":     regexp.MustCompile(`^[a-z_|]+$`),
}

// TestTagGrammar: the tags of all fields are as the comment of the package says, and no other tag is there.
func TestTagGrammar(t *testing.T) {
	known := regexp.MustCompile(`^(toml|json|config|values|example|hint):"`)
	keys := 0
	fields(func(owner reflect.Type, f reflect.StructField) {
		keys++
		at := owner.Name() + "." + f.Name
		for rest := string(f.Tag); rest != ""; {
			if !known.MatchString(rest) {
				t.Fatalf("%s has the tag %s", at, rest)
			}
			name, _, _ := strings.Cut(rest, ":")
			quoted := regexp.MustCompile(`^[a-z]+:"(\\.|[^"\\])*" ?`).FindString(rest)
			if quoted == "" || f.Tag.Get(name) == "" {
				t.Fatalf("%s has an empty or broken tag %s", at, name)
			}
			rest = rest[len(quoted):]
		}
		if name := f.Tag.Get("toml"); !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(name) {
			t.Errorf("%s has the key %q", at, name)
		}
		if config, ok := f.Tag.Lookup("config"); ok {
			for word := range strings.SplitSeq(config, ",") {
				word, value, has := strings.Cut(word, "=")
				form, ok := words[word]
				if !ok || has != (form != nil) || has && !form.MatchString(value) {
					t.Errorf("%s has the config word %q with the value %q", at, word, value)
				}
			}
		}
	})
	if keys < 200 {
		t.Errorf("saw %d fields alone", keys)
	}
}

// fields visits every field that has a key, once, of all structs that kinds are made of.
func fields(visit func(owner reflect.Type, f reflect.StructField)) {
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			if !t.Field(i).Anonymous {
				visit(t, t.Field(i))
			}
			walk(t.Field(i).Type)
		}
	}
	for _, k := range format.Kinds() {
		walk(k.Type)
	}
}

// TestKeysMakeSense: what a key says goes together, and says it in whole sentences.
func TestKeysMakeSense(t *testing.T) {
	for _, k := range format.Kinds() {
		if !sentences(k.Description) || len(k.Paths) == 0 {
			t.Errorf("kind %s is described as %q, at %v", k.Name, k.Description, k.Paths)
		}
		visit(k.Keys(), func(key format.Key) {
			at := k.Name + " " + key.Path
			if key.Unsupported || key.Removed {
				if key.Hint == "" || strings.HasSuffix(key.Hint, ".") || strings.ToLower(key.Hint[:1]) != key.Hint[:1] {
					t.Errorf("%s has the hint %q", at, key.Hint)
				}
				return
			}
			if !sentences(key.Description) {
				t.Errorf("%s is described as %q", at, key.Description)
			}
			switch {
			case key.Hint != "":
				t.Errorf("%s has a hint, and is no stray key", at)
			case key.Default != "" && key.Values != nil && !slices.Contains(key.Values, key.Default):
				t.Errorf("the default of %s is none of its values", at)
			case key.Default != "" && key.Required:
				t.Errorf("%s is required and has a default", at)
			case key.File && key.Type != format.String, key.Format != "" && key.Type != format.String, key.Values != nil &&
				key.Type != format.String:
				t.Errorf("%s is not a text, and has what a text has", at)
			case key.SortedBy != "" && (key.Type != format.Tables || !slices.ContainsFunc(key.Keys,
				func(k format.Key) bool { return k.Name == key.SortedBy })):
				t.Errorf("%s is sorted by a key that its tables have not", at)
			case key.Unordered && key.Type != format.Strings:
				t.Errorf("%s is no array of strings, and is a set", at)
			case (key.Type == format.Table || key.Type == format.Tables) != (len(key.Keys) > 0):
				t.Errorf("%s is of type %s and has %d keys", at, key.Type, len(key.Keys))
			}
			for old, current := range key.OldValues {
				if key.Values != nil && (slices.Contains(key.Values, old) || !slices.Contains(key.Values, current)) {
					t.Errorf("%s reads %s as %s", at, old, current)
				}
			}
		})
	}
}

func visit(keys []format.Key, each func(format.Key)) {
	for _, k := range keys {
		each(k)
		visit(k.Keys, each)
	}
}

func sentences(s string) bool {
	return s != "" && strings.HasSuffix(s, ".") && !strings.ContainsAny(s, "\n\t") && s == strings.TrimSpace(s)
}

// TestSpecification holds the keys of every kind to those of the specification: none is missing, and none is
// there that it does not know, but for the additions of nuon.
func TestSpecification(t *testing.T) {
	kinds := map[string]bool{}
	for _, k := range format.Kinds() {
		kinds[k.Name] = true
		var got []string
		visit(k.Keys(), func(key format.Key) { got = append(got, key.Path) })
		want := strings.Fields(specification[k.Name])
		for _, path := range missing(want, got) {
			t.Errorf("%s lacks the key %s", k.Name, path)
		}
		for _, path := range missing(got, want) {
			t.Errorf("%s has the key %s, which is in no table of the specification", k.Name, path)
		}
	}
	for name := range maps.Keys(specification) {
		if !kinds[name] {
			t.Errorf("there is no kind %s", name)
		}
	}
}

func missing(want, got []string) []string {
	var all []string
	for _, w := range want {
		if !slices.Contains(got, w) {
			all = append(all, w)
		}
	}
	return all
}

// below are keys with the name of the table that they are in before them, and that name itself.
func below(table, keys string) string {
	all := " " + table + " "
	for key := range strings.FieldsSeq(keys) {
		all += table + "." + key + " "
	}
	return all
}
