package kyverno

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

const (
	maxNodes = 100_000 // nodes that are read of one text; aliases may expand to far more than is written
	maxDepth = 100     // nested nodes
)

// reader fills the types of a policy from YAML, and reports everything that does not match them.
type reader struct {
	*source.Text
	nodes, depth int
	fields       map[reflect.Type][]field
	variables    []variable
	scope        *scope // of what is read now
}

// variable is a scalar that may contain Kyverno's variables.
type variable struct {
	node  *yaml.Node
	scope *scope
}

// scope is a part of a policy with its own context: the policy itself, a rule, or an entry of foreach. The
// names of a context have values there and in the scopes within it.
type scope struct {
	outer *scope
	names []string
}

// has reports whether a context gives a name a value in a scope.
func (s *scope) has(name string) bool {
	return s != nil && (slices.Contains(s.names, name) || s.outer.has(name))
}

// all returns the names that have values in a scope.
func (s *scope) all() []string {
	if s == nil {
		return nil
	}
	return slices.Concat(s.names, s.outer.all())
}

// field is one field of a type.
type field struct {
	index []int
	name  string
	check string
	enum  []string
}

// fieldsOf returns the fields of a type. It computes them once per text.
func (r *reader) fieldsOf(t reflect.Type) []field {
	all, known := r.fields[t]
	if known {
		return all
	}
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" {
			fieldOfType := field{index: f.Index, name: name, check: f.Tag.Get("check")}
			if enum := f.Tag.Get("enum"); enum != "" {
				fieldOfType.enum = strings.Split(enum, ",")
			}
			all = append(all, fieldOfType)
		}
	}
	if r.fields == nil {
		r.fields = map[reflect.Type][]field{}
	}
	r.fields[t] = all
	return all
}

// span returns the offset and width of a node.
func (r *reader) span(n *yaml.Node) (offset, width int) {
	const widest = 1000 // a longer value is not underlined as a whole; aliases may repeat it often
	offset = r.Offset(n.Line, n.Column)
	if n.Kind != yaml.ScalarNode || n.Value == "" || len(n.Value) > widest {
		return offset, 0
	}
	for _, written := range []string{n.Value, `"` + n.Value + `"`, "'" + n.Value + "'"} {
		if strings.HasPrefix(r.Bytes[offset:], written) && !strings.Contains(written, "\n") {
			return offset, len(written)
		}
	}
	return offset, 0
}

func (r *reader) reportError(n *yaml.Node, rule, message, hint string) {
	offset, width := r.span(n)
	r.Error(offset, width, rule, message, hint)
}

func (r *reader) reportWarning(n *yaml.Node, rule, message, hint string) {
	offset, width := r.span(n)
	r.Warning(offset, width, rule, message, hint)
}

// enter counts a node. It returns false if there are too many nodes or they are nested too deeply.
func (r *reader) enter(n *yaml.Node) bool {
	r.nodes++
	if r.nodes > maxNodes || r.depth >= maxDepth {
		if r.nodes <= maxNodes+1 {
			r.reportError(n, "kyverno-limit", fmt.Sprintf("the policy has more than %d values, or they are more than %d deep",
				maxNodes, maxDepth), "split it into several policies")
			r.nodes = maxNodes + 1
		}
		return false
	}
	r.depth++
	return true
}

func (r *reader) leave() { r.depth-- }

// read fills a value from a node.
func (r *reader) read(n *yaml.Node, into reflect.Value, f field) {
	if n = resolve(n); n == nil || isNull(n) || source.HasPlaceholder(n.Value) {
		return
	}
	if into.Type() == reflect.TypeFor[*yaml.Node]() {
		into.Set(reflect.ValueOf(n))
		r.readAny(n)
		return
	}
	if !r.enter(n) {
		return
	}
	defer r.leave()
	if into.Type() == reflect.TypeFor[Conditions]() && n.Kind == yaml.SequenceNode {
		r.conditionList(n, into, f)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		r.readStruct(n, into.Elem(), f.name)
	case reflect.Struct:
		r.readStruct(n, into, f.name)
	case reflect.Slice:
		r.readList(n, into, f)
	case reflect.Map:
		r.readMap(n, into, f)
	default:
		r.readScalar(n, into, f)
	}
}

func (r *reader) readList(n *yaml.Node, into reflect.Value, f field) {
	if n.Kind != yaml.SequenceNode {
		r.reportShape(n, f.name, "a list")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	outer := r.scope
	defer func() { r.scope = outer }()
	for i, item := range n.Content {
		switch into.Index(i).Interface().(type) {
		case Rule, ForeachValidate, ForeachMutate:
			r.scope = &scope{outer: outer}
		}
		if isNull(resolve(item)) {
			r.reportError(item, "kyverno-shape", kindName(f.name)+" is empty", "remove the entry, or write what is missing")
			continue
		}
		r.read(item, into.Index(i), f)
		if entry, ok := into.Index(i).Interface().(ContextEntry); ok {
			r.scope.names = append(r.scope.names, entry.Name)
		}
	}
}

func (r *reader) readMap(n *yaml.Node, into reflect.Value, f field) {
	if n.Kind != yaml.MappingNode {
		r.reportShape(n, f.name, "a map of texts")
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	r.eachPair(n, func(key, value *yaml.Node) {
		text := reflect.New(into.Type().Elem()).Elem()
		r.read(value, text, field{name: key.Value})
		into.SetMapIndex(reflect.ValueOf(key.Value), text)
	})
}

func (r *reader) readScalar(n *yaml.Node, into reflect.Value, f field) {
	if n.Kind != yaml.ScalarNode {
		r.reportShape(n, f.name, describeKind(into.Kind()))
		return
	}
	tag := n.ShortTag()
	switch into.Kind() {
	case reflect.String:
		if tag != "!!str" && tag != "!!timestamp" {
			r.reportError(n, "kyverno-shape", fmt.Sprintf("%s must be a text, and %s is not one", f.name,
				source.Quote(n.Value)), "put it in quotes")
			return
		}
		into.SetString(n.Value)
		r.variables = append(r.variables, variable{n, r.scope})
		r.checkEnum(n, f)
	case reflect.Bool:
		// These are the spellings that Kubernetes' YAML parser accepts.
		yes := slices.Contains([]string{"true", "yes", "on", "y"}, strings.ToLower(n.Value))
		if no := slices.Contains([]string{"false", "no", "off", "n"}, strings.ToLower(n.Value)); n.Style != 0 ||
			!yes && !no {
			r.reportShape(n, f.name, "true or false")
			return
		}
		into.SetBool(yes)
	case reflect.Int:
		var number int
		if tag != "!!int" || n.Decode(&number) != nil {
			r.reportShape(n, f.name, describeKind(reflect.Int))
			return
		}
		into.SetInt(int64(number))
	}
}

func (r *reader) checkEnum(n *yaml.Node, f field) {
	if f.enum == nil || slices.Contains(f.enum, n.Value) || strings.Contains(n.Value, "{{") {
		return
	}
	hint := diagnostic.DidYouMean(n.Value, f.enum)
	if hint == "" {
		hint = "write one of " + strings.Join(f.enum, ", ")
	}
	r.reportError(n, "kyverno-value", fmt.Sprintf("%s cannot be %s", f.name, source.Quote(n.Value)), hint)
}

func describeKind(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	}
	return "a text"
}

func (r *reader) reportShape(n *yaml.Node, name, want string) {
	r.reportError(n, "kyverno-shape", fmt.Sprintf("%s must be %s, and is %s", name, want, kindOf(n)),
		"write "+name+" as "+want)
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!bool":
		return "true or false"
	case "!!int":
		return "a whole number"
	case "!!float":
		return "a number"
	}
	return "a text"
}

// conditionList reads the older form of conditions.
func (r *reader) conditionList(n *yaml.Node, into reflect.Value, f field) {
	r.readList(n, into.FieldByName("All"), f)
}

// readStruct reads a map whose keys are the fields of a type.
func (r *reader) readStruct(n *yaml.Node, into reflect.Value, name string) {
	if n.Kind != yaml.MappingNode {
		r.reportShape(n, kindName(name), "a map")
		return
	}
	fields := r.fieldsOf(into.Type())
	seen := map[string]bool{}
	r.eachPair(n, func(key, value *yaml.Node) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if i < 0 {
			r.reportUnknownKey(key, fields, name)
			return
		}
		f := fields[i]
		seen[f.name] = !isNull(resolve(value))
		if f.check == "later" && seen[f.name] {
			r.reportNotEvaluated(key, f.name)
		}
		r.read(value, into.FieldByIndex(f.index), f)
	})
	for _, f := range fields {
		if f.check == "required" && !seen[f.name] {
			r.reportError(n, "kyverno-missing", fmt.Sprintf("%s has no %s", kindName(name), f.name), "add "+f.name)
		}
	}
}

func (r *reader) reportUnknownKey(key *yaml.Node, fields []field, name string) {
	var known []string
	for _, f := range fields {
		known = append(known, f.name)
	}
	hint := diagnostic.DidYouMean(key.Value, known)
	if hint == "" {
		hint = "remove it"
	}
	r.reportWarning(key, "kyverno-unknown-field",
		fmt.Sprintf(
			"%s has no field %s: a strict API server rejects the policy, and Kyverno's own CLI drops it without a word",
			kindName(name), source.Quote(key.Value)), hint)
}

// kindName returns the name of an object under a field: an entry of rules is a rule.
func kindName(name string) string {
	switch name {
	case "":
		return "a policy"
	case "rules":
		return "a rule"
	case "any", "all", "kinds", "names", "namespaces", "foreach", "context":
		return "an entry of " + name
	}
	return name
}

// reportNotEvaluated reports a part that only Kyverno in the cluster evaluates.
func (r *reader) reportNotEvaluated(key *yaml.Node, what string) {
	r.reportWarning(key, "kyverno-not-evaluated",
		what+" is not evaluated here: the Kyverno of the install's cluster decides", clusterHint)
}

// clusterHint is the hint for a part that is not evaluated here.
const clusterHint = "try it in a test install; a preview here says nothing about it"

// eachPair calls each for the keys and values of a map, and then for those of merged maps that the map
// does not set. It reports duplicate keys and keys that are not strings.
func (r *reader) eachPair(n *yaml.Node, each func(key, value *yaml.Node)) {
	seen := map[string]bool{}
	var walk func(n *yaml.Node, merged bool)
	walk = func(n *yaml.Node, merged bool) {
		if n = resolve(n); n == nil || !r.enter(n) {
			return
		}
		defer r.leave()
		if merged && n.Kind == yaml.SequenceNode {
			for _, one := range n.Content {
				walk(one, true)
			}
			return
		}
		if n.Kind != yaml.MappingNode {
			r.reportShape(n, "what is merged", "a map")
			return
		}
		var merges []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := resolve(n.Content[i]), n.Content[i+1]
			switch {
			case key == nil || key.Kind != yaml.ScalarNode:
				r.reportShape(n.Content[i], "a key", "a text")
			case key.ShortTag() == "!!merge":
				merges = append(merges, value)
			case source.HasPlaceholder(key.Value):
			case seen[key.Value] && !merged:
				r.reportError(key, "kyverno-duplicate",
					"the key "+source.Quote(key.Value)+" is here twice", "remove one of them")
			case !seen[key.Value]:
				seen[key.Value] = true
				each(key, value)
			}
		}
		for _, from := range merges {
			walk(from, true)
		}
	}
	walk(n, false)
}

// readAny reads a value of any form. Only its variables, its anchors and its size are checked.
func (r *reader) readAny(n *yaml.Node) {
	n = resolve(n)
	if n == nil || !r.enter(n) {
		return
	}
	defer r.leave()
	switch n.Kind {
	case yaml.ScalarNode:
		r.variables = append(r.variables, variable{n, r.scope})
	case yaml.SequenceNode:
		for _, item := range n.Content {
			r.readAny(item)
		}
	case yaml.MappingNode:
		r.eachPair(n, func(key, value *yaml.Node) {
			r.variables = append(r.variables, variable{key, r.scope})
			r.readAny(value)
		})
	}
}

// resolve returns the node that an alias refers to.
func resolve(n *yaml.Node) *yaml.Node {
	for range 10 {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
