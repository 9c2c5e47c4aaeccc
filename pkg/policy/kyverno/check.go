package kyverno

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// Check returns all problems of a text with one or more policies that can be found without a
// cluster. name becomes the File of the diagnostics; the result is nil if the policies can be used
// and all of their parts are evaluated here.
func Check(name, text string) []diagnostic.Diagnostic {
	_, found := Read(name, text)
	return found
}

// Read is Check, and also returns the policies, or nil if there are errors. It leaves out policies
// of kinds that are not evaluated here.
func Read(name, text string) ([]Policy, []diagnostic.Diagnostic) {
	t, ok := source.New(name, text)
	if !ok {
		return nil, t.Diagnostics()
	}
	r := &reader{Text: t}
	policies := r.readAll()
	if t.Failed() {
		policies = nil
	}
	return policies, t.Diagnostics()
}

// readAll reads every document of the text.
func (r *reader) readAll() []Policy {
	text, ok := r.withoutTemplates()
	if !ok {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var policies []Policy
	documents := 0
	for {
		var document yaml.Node
		err := decode(decoder, &document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.reportYAML(err)
			return nil
		}
		if len(document.Content) == 0 || isNull(resolve(document.Content[0])) {
			continue
		}
		documents++
		if policy, ok := r.readPolicy(resolve(document.Content[0])); ok {
			policies = append(policies, policy)
		}
	}
	if documents == 0 {
		r.reportEmpty()
	}
	return policies
}

// decode decodes a document. It returns an error if the YAML library panics.
func decode(decoder *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("its form is one that the reader did not expect")
		}
	}()
	return decoder.Decode(into)
}

func (r *reader) reportEmpty() {
	const hint = "write a policy, or remove the file"
	if strings.TrimSpace(r.Bytes) == "" {
		r.Error(0, 0, "kyverno-empty", "the policy is empty", hint)
		return
	}
	r.Warning(0, 0, "kyverno-empty", "the text has no policy in it, so it never says anything", hint)
}

// position matches the line in an error of the YAML library.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`line (\d+): (.*)`) })

func (r *reader) reportYAML(err error) {
	line, message := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := position().FindStringSubmatch(message); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line, message = n, m[2]
		}
	}
	r.Error(r.Offset(min(line, r.Lines()), 1), 0, "kyverno-yaml", "the text is not YAML: "+source.Plain(message),
		"check indentation, colons and quotes here and in the line before")
}

// Expressions of this product's templates, which may occur among Kyverno's own variables, and those
// of them that start a block.
var (
	nuonExpression = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{\{-?[^{}]*\.nuon\b[^{}]*\}\}`)
	})
	nuonBlock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{\{-?\s*(?:if|range|with)\s[^{}]*\.nuon\b[^{}]*\}\}`)
	})
)

// withoutTemplates replaces this product's expressions by placeholders of the same length, which
// preserves positions. If blocks are among them, the text is YAML only after it is rendered, and
// nothing is checked.
func (r *reader) withoutTemplates() ([]byte, bool) {
	if !strings.Contains(r.Bytes, ".nuon") {
		return []byte(r.Bytes), true
	}
	if nuonBlock().MatchString(r.Bytes) {
		return nil, false
	}
	return nuonExpression().ReplaceAllFunc([]byte(r.Bytes), func(e []byte) []byte {
		placeholder := []byte(source.Placeholder(len(e)))
		for i, c := range e {
			if c == '\n' && i > len("\uE000") {
				placeholder[i] = '\n'
			}
		}
		return placeholder
	}), true
}

// readPolicy reads one document. ok is false if it is not a policy that is evaluated here.
func (r *reader) readPolicy(n *yaml.Node) (policy Policy, ok bool) {
	if n.Kind != yaml.MappingNode {
		r.reportShape(n, "a policy", "a map")
		return policy, false
	}
	if !r.isSupported(n) {
		return policy, false
	}
	r.variables, r.scope = nil, &scope{}
	r.readStruct(n, reflect.ValueOf(&policy).Elem(), "")
	r.checkPolicy(n, &policy)
	r.checkVariables()
	return policy, true
}

// isSupported reports whether a document is of a supported kind, and adds a diagnostic if not.
func (r *reader) isSupported(n *yaml.Node) bool {
	versionAt, version := lookup(n, "apiVersion")
	kindAt, kind := lookup(n, "kind")
	if versionAt == nil || kindAt == nil {
		return true // the missing key is reported elsewhere
	}
	group, _, _ := strings.Cut(version, "/")
	known := []string{"ClusterPolicy", "Policy"}
	others := []string{"CleanupPolicy", "ClusterCleanupPolicy", "PolicyException", "GlobalContextEntry"}
	switch {
	case (version == "kyverno.io/v1" || version == "kyverno.io/v2beta1") && slices.Contains(known, kind):
		return true
	case group == "policies.kyverno.io", group == "kyverno.io" && slices.Contains(others, kind),
		group == "admissionregistration.k8s.io":
		r.reportWarning(kindAt, "kyverno-not-evaluated",
			fmt.Sprintf("a %s of %s is not evaluated here: the install's cluster decides",
				source.Plain(kind), source.Plain(version)), clusterHint)
	case group == "kyverno.io" && !slices.Contains(known, kind):
		hint := diagnostic.DidYouMean(kind, slices.Concat(known, others))
		if hint == "" {
			hint = "write ClusterPolicy or Policy"
		}
		r.reportError(kindAt, "kyverno-kind", "Kyverno has no kind "+source.Quote(kind), hint)
	case kind == "ClusterPolicy" || kind == "Policy":
		r.reportError(versionAt, "kyverno-kind",
			"there is no "+source.Plain(kind)+" of "+source.Quote(version), "write kyverno.io/v1")
	default:
		r.reportError(kindAt, "kyverno-kind", fmt.Sprintf("a %s of %s is no Kyverno policy", source.Quote(kind),
			source.Quote(version)), "put other objects into a component; write a ClusterPolicy of kyverno.io/v1 here")
	}
	return false
}

// lookup returns the value of a key of a map.
func lookup(n *yaml.Node, name string) (*yaml.Node, string) {
	if n = resolve(n); n == nil || n.Kind != yaml.MappingNode {
		return nil, ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			if value := resolve(n.Content[i+1]); !isNull(value) {
				return value, value.Value
			}
		}
	}
	return nil, ""
}
