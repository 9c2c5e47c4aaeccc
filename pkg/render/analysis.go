package render

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// origin describes where a value comes from, as far as the analysis can determine it.
type origin struct {
	kind originKind
	path Path // set if kind is below
	ends bool // path is cut at its maximum length and includes everything below it
	at   span // where the text names the value

	printed bool // true if the use that is about to be recorded only prints the value
}

type originKind int

const (
	other     originKind = iota // a literal, or a value whose sources are already recorded
	root                        // the object with the single key "nuon"
	nuonValue                   // the value at path below .nuon; not yet recorded
)

// Longer paths are cut: a read of a deeply nested value counts as a read of the value that contains
// it. Without a bound, a megabyte of text could produce gigabytes of paths.
const (
	maxPathKeys  = 32
	maxPathBytes = 1024
)

// follow returns the origin of the value that the keys lead to from o.
func (o origin) follow(keys ...string) origin {
	if o.kind == root && len(keys) > 0 {
		if keys[0] != "nuon" {
			return origin{}
		}
		o, keys = origin{kind: nuonValue, path: Path{}}, keys[1:]
	}
	if o.kind != nuonValue || o.ends || len(keys) == 0 {
		return o
	}
	size := 0
	for _, key := range o.path {
		size += len(key)
	}
	path := slices.Clip(o.path) // other origins may share it: the first append copies
	for _, key := range keys {
		size += len(key)
		if len(path) == maxPathKeys || size > maxPathBytes {
			o.ends = true
			break
		}
		path = append(path, key)
	}
	o.path = path
	return o
}

// variable is a declared $name. A variable that is never read is evaluated nevertheless, so in the
// end it counts as read.
type variable struct {
	name string
	from origin
	used bool
}

// scope contains the meaning of names at one place of the template.
type scope struct {
	dot  origin
	vars []*variable
}

func (s *scope) find(name string) *variable {
	for _, v := range slices.Backward(s.vars) {
		if v.name == name {
			return v
		}
	}
	return nil
}

// inner returns the scope inside a control structure. Variables that are declared in it end with
// it.
func (s *scope) inner(dot origin) *scope {
	return &scope{dot: dot, vars: slices.Clip(s.vars)}
}

// analysis walks a parsed template once and collects the paths that it can read, over all branches.
// It is complete because it records a value whose origin is not `other` as soon as the template
// uses the value.
type analysis struct {
	name, text string
	lines      textLines
	refs       map[string]Path
	uses       []use
	positions  map[int]position
	declared   []*variable
	depth      int
	err        *Error
}

func newAnalysis(name, text string) *analysis {
	return &analysis{name: name, text: text, lines: linesOf(text), refs: map[string]Path{}, positions: map[int]position{}}
}

func (a *analysis) start() *scope {
	start := &variable{name: "$", from: origin{kind: root}}
	return &scope{dot: origin{kind: root}, vars: []*variable{start}}
}

// sorted completes the analysis and returns the refs, sorted.
func (a *analysis) sorted() []Path {
	for _, v := range a.declared {
		if !v.used && v.from.kind == nuonValue && len(v.from.path) > 0 {
			a.recordRead(v.from)
		}
	}
	var refs []Path
	for _, path := range a.refs {
		refs = append(refs, path)
	}
	slices.SortFunc(refs, slices.Compare[Path])
	return refs
}

// recordRead records that the template reads a value, and where in the text.
func (a *analysis) recordRead(o origin) {
	a.uses = append(a.uses, use{path: a.addRef(o.path), at: o.at, printed: o.printed})
}

// addRef adds a ref and returns the one shared copy of its path.
func (a *analysis) addRef(path Path) Path {
	path = Canonical(path)
	key := strings.Join(path, "\x00")
	if shared, ok := a.refs[key]; ok {
		return shared
	}
	a.refs[key] = path
	if len(path) == 1 && path[0] == "install" {
		// Aliases are visible below install, so a template that reads install as a whole also reads
		// their targets.
		a.addRef(Path{"inputs", "inputs"})
		a.addRef(Path{"sandbox"})
	}
	return path
}

// recordUse records that the template uses a value.
func (a *analysis) recordUse(node parse.Node, o origin) {
	switch {
	case o.kind == other:
	case o.kind == root || len(o.path) == 0:
		a.reject(node, "this reads everything below .nuon", "name the value that is meant, such as .nuon.install.id")
	default:
		a.recordRead(o)
	}
}

// recordCondition records that the template only tests a value for truth. `.nuon` always exists and
// `.nuon.install` always has an id, so a test reads neither as a whole.
func (a *analysis) recordCondition(node parse.Node, o origin) {
	switch {
	case o.kind == root, o.kind == nuonValue && len(o.path) == 0:
	case o.kind == nuonValue && len(o.path) == 1 && o.path[0] == "install":
		o.path = Path{"install", "id"}
		a.recordRead(o)
	default:
		a.recordUse(node, o)
	}
}

// reject stores the first reason to reject the template.
func (a *analysis) reject(node parse.Node, message, hint string) {
	if a.err != nil {
		return
	}
	at := a.lines.place(a.span(node))
	a.err = &Error{Name: a.name, Line: at.Line, Column: at.Column, Width: at.Width, Message: message, Hint: hint}
}

func (a *analysis) list(list *parse.ListNode, s *scope) {
	if list == nil || a.err != nil {
		return
	}
	if a.depth++; a.depth > maxNesting+1 { // the template itself is one level
		a.reject(list, fmt.Sprintf("if, with and range are nested more than %d levels deep", maxNesting), "")
		return
	}
	defer func() { a.depth-- }()
	for _, node := range list.Nodes {
		a.node(node, s)
	}
}

func (a *analysis) node(node parse.Node, s *scope) {
	switch node := node.(type) {
	case *parse.ActionNode:
		o := a.pipe(node.Pipe, s)
		if len(node.Pipe.Decl) == 0 {
			o.printed = true
			a.recordUse(node.Pipe, o)
		}
	case *parse.IfNode:
		inner := s.inner(s.dot)
		a.recordCondition(node.Pipe, a.pipe(node.Pipe, inner))
		a.list(node.List, inner.inner(inner.dot))
		a.list(node.ElseList, inner.inner(inner.dot))
	case *parse.WithNode:
		inner := s.inner(s.dot)
		o := a.pipe(node.Pipe, inner)
		a.recordCondition(node.Pipe, o)
		a.list(node.List, inner.inner(o))
		a.list(node.ElseList, inner.inner(inner.dot))
	case *parse.RangeNode:
		if isNumber(node.Pipe) {
			a.reject(node.Pipe, "a range over a number", "range over a list or an object")
			return
		}
		inner := s.inner(s.dot)
		declared := len(a.declared)
		a.recordUse(node.Pipe, a.pipe(node.Pipe, inner))
		for _, v := range a.declared[declared:] {
			v.from = origin{} // elements of the value that was just recorded
		}
		a.list(node.List, inner.inner(origin{}))
		a.list(node.ElseList, inner.inner(inner.dot))
	case *parse.TemplateNode:
		a.reject(node, "templates cannot call other templates", "write the text where it is used")
	}
}

// isNumber reports whether a pipeline always results in a number.
func isNumber(pipe *parse.PipeNode) bool {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	switch first := last.Args[0].(type) {
	case *parse.NumberNode:
		return true
	case *parse.PipeNode:
		return len(last.Args) == 1 && isNumber(first)
	case *parse.IdentifierNode:
		return functions[first.Ident].number
	}
	return false
}

func (a *analysis) pipe(pipe *parse.PipeNode, s *scope) origin {
	var value origin
	for i, cmd := range pipe.Cmds {
		var piped []origin
		if i > 0 {
			piped = []origin{value}
		}
		value = a.command(cmd, piped, s)
	}
	for _, decl := range pipe.Decl {
		name := decl.Ident[0]
		if !pipe.IsAssign {
			v := &variable{name: name, from: value}
			s.vars = append(s.vars, v)
			if a.declared = append(a.declared, v); len(a.declared) > maxVariables {
				a.reject(decl, fmt.Sprintf("more than %d variables are declared", maxVariables),
					"write what they stand for in their place")
			}
			continue
		}
		// After an assignment in a branch or a loop, the variable can have either value.
		if v := s.find(name); v != nil {
			a.recordUse(decl, v.from)
			a.recordUse(decl, value)
			v.from = origin{}
		}
	}
	return value
}

// command evaluates one command of a pipeline. piped contains the value of the previous command, if
// there is one.
func (a *analysis) command(cmd *parse.CommandNode, piped []origin, s *scope) origin {
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return a.call(name, cmd.Args[1:], piped, s)
	}
	value := a.operand(cmd.Args[0], s)
	if len(cmd.Args) == 1 && len(piped) == 0 {
		return value
	}
	// The command is not a function but has arguments, which fails when the template runs.
	a.recordUse(cmd, value)
	for _, arg := range cmd.Args[1:] {
		a.recordUse(arg, a.operand(arg, s))
	}
	for _, o := range piped {
		a.recordUse(cmd, o)
	}
	return origin{}
}

func (a *analysis) operand(node parse.Node, s *scope) origin {
	switch node := node.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return a.chain(node, s.dot, node.Ident)
	case *parse.VariableNode:
		v := s.find(node.Ident[0])
		if v == nil {
			return origin{}
		}
		v.used = true
		return a.chain(node, v.from, node.Ident[1:])
	case *parse.ChainNode:
		return a.chain(node, a.operand(node.Node, s), node.Field)
	case *parse.PipeNode:
		return a.pipe(node, s)
	case *parse.IdentifierNode:
		return a.call(node, nil, nil, s)
	}
	return origin{} // a literal
}

// chain follows fields and records the place for errors during rendering.
func (a *analysis) chain(node parse.Node, from origin, keys []string) origin {
	if len(keys) == 0 {
		return from // a bare $name refers to the expression that was named before
	}
	from = from.follow(keys...)
	from.at = a.span(node)
	at := position{at: from.at}
	if from.kind == nuonValue {
		at.path = from.path
	}
	a.positions[int(node.Position())] = at
	return from
}

func (a *analysis) call(name *parse.IdentifierNode, args []parse.Node, piped []origin, s *scope) origin {
	values := make([]origin, 0, len(args)+1)
	for _, arg := range args {
		values = append(values, a.operand(arg, s))
	}
	values = append(values, piped...)
	switch {
	case name.Ident == "index" && len(args) > 0:
		return a.callIndex(name, args, values)
	case name.Ident == "dig" && len(values) > 2:
		keys := min(len(args), len(values)-2)
		last := len(values) - 1
		values[last] = structural(values[last], args[:keys])
	case name.Ident == "hasKey" && len(args) == 2:
		values[0] = structural(values[0], args[1:])
	}
	for _, o := range values {
		a.recordUse(name, o)
	}
	return origin{}
}

// callIndex follows literal keys, so that `index .nuon.components "a-b" "outputs"` reads the same
// path as a chain of fields. It stops at the first key that is not a literal.
func (a *analysis) callIndex(name parse.Node, args []parse.Node, values []origin) origin {
	target := values[0]
	for i := 1; i < len(values); i++ {
		if i < len(args) {
			if key, ok := args[i].(*parse.StringNode); ok {
				target = target.follow(key.Text)
				target.at.end = max(target.at.end, int(key.Pos)+len(key.Quoted))
				continue
			}
		}
		a.recordUse(name, target)
		target = origin{}
		a.recordUse(name, values[i])
	}
	return target
}

// structural follows literal keys through the levels of .nuon that only group values (components,
// then the component), because no template intends to read a whole group. It stops where the values
// start.
func structural(o origin, keys []parse.Node) origin {
	for _, node := range keys {
		key, ok := node.(*parse.StringNode)
		if !ok {
			return o
		}
		if o.kind == nuonValue && !isGroup(o.path) {
			return o
		}
		o = o.follow(key.Text)
	}
	return o
}

func isGroup(path Path) bool {
	path = Canonical(path)
	switch len(path) {
	case 0, 1:
		return true
	case 2:
		return path[0] == "components" || path.String() == "inputs.inputs" || path.String() == "actions.workflows"
	case 3:
		return path.HasPrefix("actions", "workflows")
	}
	return false
}
