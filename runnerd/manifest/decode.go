package manifest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
)

// maxProblems is how many problems are told at once.
const maxProblems = 20

// object is one object of a manifest.
type object struct {
	*unstructured.Unstructured
	// place says where it stands.
	place string
}

// decode reads the objects of a manifest, and all that is wrong with it at once, by place.
func decode(text string) ([]object, error) {
	documents, err := split(text)
	if err != nil {
		return nil, err
	}
	var (
		found    []object
		problems []error
		size     int
	)
	for _, d := range documents {
		grown := sizeOf(d.text)
		if grown > maxDocument {
			problems = append(problems, fmt.Errorf("%s: its aliases stand for more than %d MiB, or it is nested deeper than %d levels; write fewer", d.place(), maxDocument>>20, maxNested))
			continue
		}
		if size += grown; size > maxGrown {
			return nil, fmt.Errorf("%s: with its aliases and those before it, the manifest is larger than %d MiB; write fewer", d.place(), maxGrown>>20)
		}
		read, err := d.objects()
		if err != nil {
			problems = append(problems, err)
		}
		found = append(found, read...)
	}
	return found, joined(problems)
}

// joined is all problems in one error, the first of them if there are many.
func joined(problems []error) error {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Errorf("%s of this kind", diff.Plural(more, "more problem", "more problems")))
	}
	return errors.Join(problems...)
}

// objects are those of one document: one, none where it is null, or those of a List.
func (d document) objects() ([]object, error) {
	plain, err := yaml.YAMLToJSONStrict([]byte(d.text))
	if err != nil {
		return nil, fmt.Errorf("%s: %s; correct the YAML", d.place(), d.inFile(err))
	}
	var value any
	if err := utiljson.Unmarshal(plain, &value); err != nil {
		return nil, fmt.Errorf("%s: %w; correct the YAML", d.place(), err)
	}
	if value == nil {
		return nil, nil
	}
	whole, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: it is no Kubernetes object; write apiVersion, kind and metadata", d.place())
	}
	items, isList := whole["items"].([]any)
	if kind, _ := whole["kind"].(string); !isList || !strings.HasSuffix(kind, "List") {
		one, err := checked(whole, d.place())
		return []object{one}, err
	} else if kind != "List" {
		return nil, fmt.Errorf("%s: a %s cannot be applied; write its items as documents of their own, or into a List of apiVersion v1", d.place(), diff.Neutral(kind))
	}
	var (
		found    []object
		problems []error
	)
	for i, item := range items {
		where := fmt.Sprintf("%s, item %d", d.place(), i+1)
		whole, ok := item.(map[string]any)
		if !ok {
			problems = append(problems, fmt.Errorf("%s: it is no Kubernetes object; write apiVersion, kind and metadata", where))
			continue
		}
		one, err := checked(whole, where)
		if err != nil {
			problems = append(problems, err)
		}
		found = append(found, one)
	}
	return found, joined(problems)
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// inFile is a YAML error with the lines of the whole manifest.
func (d document) inFile(err error) string {
	words := strings.ReplaceAll(err.Error(), "error converting YAML to JSON: ", "")
	return diff.Neutral(lineNumber.ReplaceAllStringFunc(words, func(found string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if err != nil {
			return found
		}
		return fmt.Sprintf("line %d", n+d.line-1)
	}))
}

// checked makes sure that an object names itself in a way that a server takes.
func checked(whole map[string]any, place string) (object, error) {
	made := object{&unstructured.Unstructured{Object: whole}, place}
	version, okVersion := whole["apiVersion"].(string)
	kind, okKind := whole["kind"].(string)
	metadata, okMetadata := whole["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	_, parsed := schema.ParseGroupVersion(version)
	generated, _ := metadata["generateName"].(string)
	switch {
	case !okVersion || version == "" || parsed != nil:
		return made, fmt.Errorf("%s: it has no apiVersion such as v1 or apps/v1; write one", place)
	case !okKind || kind == "":
		return made, fmt.Errorf("%s: it has no kind; write one", place)
	case !okMetadata:
		return made, fmt.Errorf("%s: %s has no metadata; write metadata with a name", place, diff.Neutral(kind))
	case name == "" && generated != "":
		return made, fmt.Errorf("%s: %s has a generateName, and each apply would make one more of it; give it a name", place, diff.Neutral(kind))
	case name == "":
		return made, fmt.Errorf("%s: %s has no metadata.name; give it one, as a text in quotes if it is a number", place, diff.Neutral(kind))
	}
	if wrong := content.IsPathSegmentName(name); len(wrong) > 0 || len(name) > validation.DNS1123SubdomainMaxLength {
		return made, fmt.Errorf("%s: %s %q has a name that no server takes; use letters, digits, dots and dashes, at most 253", place, diff.Neutral(kind), diff.Neutral(short(name)))
	}
	if given, there := metadata["namespace"]; there && given != nil {
		if namespace, ok := given.(string); !ok || namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
			return made, fmt.Errorf("%s: %s %q has a namespace that is no name of one; use at most 63 lower-case letters, digits and -", place, diff.Neutral(kind), diff.Neutral(name))
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		if err := checkTexts(metadata, key); err != nil {
			return made, fmt.Errorf("%s: %s %q: %w", place, diff.Neutral(kind), diff.Neutral(name), err)
		}
	}
	return made, tidy(made)
}

func short(text string) string {
	if len(text) > 80 {
		return text[:80] + "…"
	}
	return text
}

// checkTexts makes sure that a map of texts is one.
func checkTexts(metadata map[string]any, key string) error {
	given := metadata[key]
	if given == nil {
		delete(metadata, key)
		return nil
	}
	texts, ok := given.(map[string]any)
	if !ok {
		return fmt.Errorf("its %s are no map; write them as name: value", key)
	}
	for name, value := range texts {
		if _, ok := value.(string); !ok {
			return fmt.Errorf("its %s %q is no text; put the value in quotes", strings.TrimSuffix(key, "s"), diff.Neutral(short(name)))
		}
	}
	return nil
}

// serverOwned is what the server writes in metadata. A manifest that was made of what runs has it, and an apply must not.
var serverOwned = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "generateName"}

// tidy brings an object into the form in which it is applied: without what the server writes, and a Secret's texts where the server keeps
// them, because fields that it never keeps cannot be taken away again.
func tidy(o object) error {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, key := range serverOwned {
		delete(metadata, key)
	}
	delete(o.Object, "status")
	if o.GetAPIVersion() != "v1" || o.GetKind() != "Secret" {
		return nil
	}
	plain, there := o.Object["stringData"]
	delete(o.Object, "stringData")
	texts, ok := plain.(map[string]any)
	if there && plain != nil && !ok {
		return fmt.Errorf("%s: the stringData of Secret %q is no map; write it as name: value", o.place, diff.Neutral(o.GetName()))
	}
	data, ok := o.Object["data"].(map[string]any)
	if !ok && o.Object["data"] != nil {
		return fmt.Errorf("%s: the data of Secret %q is no map; write it as name: value", o.place, diff.Neutral(o.GetName()))
	}
	if data == nil && len(texts) > 0 {
		data = map[string]any{}
		o.Object["data"] = data
	}
	for key, value := range texts {
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s: %q in the stringData of Secret %q is no text; put it in quotes", o.place, diff.Neutral(short(key)), diff.Neutral(o.GetName()))
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return nil
}
