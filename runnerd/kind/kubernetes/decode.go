package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// maxProblems bounds how many problems are reported at once.
const maxProblems = 20

// object is one object of a manifest.
type object struct {
	*unstructured.Unstructured
	// place is the object's position in the manifest.
	place string
}

// decode parses the objects of a manifest. The error lists all problems with their positions.
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
			problems = append(problems, fmt.Errorf("%s: its aliases stand for more than %d MiB, or it is nested deeper than "+
				"%d levels; write fewer", d.place(), maxDocument>>20, maxNested))
			continue
		}
		if size += grown; size > maxGrown {
			return nil, fmt.Errorf("%s: with its aliases and those before it, the manifest is larger than %d MiB; write fewer",
				d.place(), maxGrown>>20)
		}
		read, err := d.objects()
		if err != nil {
			problems = append(problems, err)
		}
		found = append(found, read...)
	}
	return found, joined(problems)
}

// joined joins all problems into one error, or only the first ones if there are many.
func joined(problems []error) error {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems],
			fmt.Errorf("%s of this kind", diff.Plural(more, "more problem", "more problems")))
	}
	return errors.Join(problems...)
}

// objects returns the objects of one document: one, none if it is null, or the items of a List.
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
		return nil, fmt.Errorf("%s: it is not a Kubernetes object; write apiVersion, kind and metadata", d.place())
	}
	items, isList := whole["items"].([]any)
	if kind, _ := whole["kind"].(string); !isList || !strings.HasSuffix(kind, "List") {
		one, err := checkObject(whole, d.place())
		return []object{one}, err
	} else if kind != "List" {
		return nil, fmt.Errorf("%s: a %s cannot be applied; write its items as documents of their own, or into a List of "+
			"apiVersion v1", d.place(), diff.EscapeText(kind))
	}
	var (
		found    []object
		problems []error
	)
	for i, item := range items {
		where := fmt.Sprintf("%s, item %d", d.place(), i+1)
		whole, ok := item.(map[string]any)
		if !ok {
			problems = append(problems, fmt.Errorf("%s: it is not a Kubernetes object; write apiVersion, kind and "+
				"metadata", where))
			continue
		}
		one, err := checkObject(whole, where)
		if err != nil {
			problems = append(problems, err)
		}
		found = append(found, one)
	}
	return found, joined(problems)
}

var lineNumber = lazyregexp.New(`\bline (\d+)`)

// inFile returns the text of a YAML error with line numbers of the whole manifest.
func (d document) inFile(err error) string {
	words := strings.ReplaceAll(err.Error(), "error converting YAML to JSON: ", "")
	return diff.EscapeText(lineNumber.Compiled().ReplaceAllStringFunc(words, func(found string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if err != nil {
			return found
		}
		return fmt.Sprintf("line %d", n+d.line-1)
	}))
}

// checkObject returns an error unless an object's type and name are valid for a server.
func checkObject(whole map[string]any, place string) (object, error) {
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
		return made, fmt.Errorf("%s: %s has no metadata; write metadata with a name", place, diff.EscapeText(kind))
	case name == "" && generated != "":
		return made, fmt.Errorf("%s: %s has a generateName, and each apply would make one more of it; give it a name",
			place, diff.EscapeText(kind))
	case name == "":
		return made, fmt.Errorf("%s: %s has no metadata.name; give it one, as a text in quotes if it is a number",
			place, diff.EscapeText(kind))
	}
	if wrong := content.IsPathSegmentName(name); len(wrong) > 0 || len(name) > validation.DNS1123SubdomainMaxLength {
		return made, fmt.Errorf("%s: %s %q has a name that no server takes; use letters, digits, dots and dashes, "+
			"at most 253", place, diff.EscapeText(kind), excerpt(name))
	}
	if given, there := metadata["namespace"]; there && given != nil {
		if namespace, ok := given.(string); !ok || namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
			return made, fmt.Errorf("%s: %s %q has a namespace that is no name of one; use at most 63 lower-case letters, "+
				"digits and -", place, diff.EscapeText(kind), diff.EscapeText(name))
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		if err := checkTexts(metadata, key); err != nil {
			return made, fmt.Errorf("%s: %s %q: %w", place, diff.EscapeText(kind), diff.EscapeText(name), err)
		}
	}
	return made, normalize(made)
}

// excerpt returns the start of a text from elsewhere, for a message.
func excerpt(text string) string { return diff.EscapeText(truncate.Text(text, 80)) }

// checkTexts returns an error unless the value of a key is a map of texts.
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
			return fmt.Errorf("its %s %q is no text; put the value in quotes", strings.TrimSuffix(key, "s"),
				excerpt(name))
		}
	}
	return nil
}

// serverOwned are the metadata fields that the server writes. A manifest that was made from
// a live object has them, and an apply must not.
var serverOwned = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink",
	"generateName"}

// normalize converts an object to the form in which it is applied: without the fields that the
// server writes, and with a Secret's stringData moved to data, where the server stores it,
// because an apply cannot remove fields that the server never stores.
func normalize(o object) error {
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
		return fmt.Errorf("%s: the stringData of Secret %q is no map; write it as name: value", o.place,
			diff.EscapeText(o.GetName()))
	}
	data, ok := o.Object["data"].(map[string]any)
	if !ok && o.Object["data"] != nil {
		return fmt.Errorf("%s: the data of Secret %q is no map; write it as name: value", o.place,
			diff.EscapeText(o.GetName()))
	}
	if data == nil && len(texts) > 0 {
		data = map[string]any{}
		o.Object["data"] = data
	}
	for key, value := range texts {
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s: %q in the stringData of Secret %q is no text; put it in quotes", o.place,
				excerpt(key), diff.EscapeText(o.GetName()))
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return nil
}
