package render

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

// parseName is the name that every template has inside text/template. Errors carry the caller's name instead, which may hold any
// characters.
const parseName = "t"

// Template is a checked template. It is safe for use by several goroutines.
type Template struct {
	name  string
	text  string
	tree  *parse.Tree // nil for a text without .nuon
	refs  []Path
	sites map[string]site // by text/template's location "t:line:byte"
}

// site is where a template reads a path.
type site struct {
	line, column int
	path         Path   // nil if it is not known which path below .nuon it is
	label        string // the path for people, never a value
}

// Parse checks and compiles text. name is used in errors (file:line:col or a key path). The error is an *Error. A text without
// `.nuon` is never refused.
func Parse(name, text string) (*Template, error) {
	t := &Template{name: name, text: text}
	if !strings.Contains(text, ".nuon") {
		return t, nil
	}
	if refused := bounds(name, text); refused != nil {
		return nil, refused
	}
	trees := map[string]*parse.Tree{}
	tree, err := parse.New(parseName).Parse(text, "", "", trees, parseNames())
	if err != nil {
		return nil, parseError(name, err)
	}
	for _, other := range trees {
		if other != tree {
			return nil, &Error{
				Name: name, Message: "templates cannot define other templates",
				Hint: "write the text where it is used, without define and block",
			}
		}
	}
	if parse.IsEmptyTree(tree.Root) {
		t.tree = tree // only comments: renders to what little text there is
		return t, nil
	}
	a := newAnalysis(name, text)
	a.list(tree.Root, a.start())
	if a.refused != nil {
		return nil, a.refused
	}
	t.tree, t.refs, t.sites = tree, a.sorted(), a.sites
	if err := instrument(tree.Root); err != nil {
		return nil, &Error{Name: name, Message: err.Error()}
	}
	return t, nil
}

// bounds refuses what the parser should not even see.
func bounds(name, text string) *Error {
	switch {
	case len(text) > MaxText:
		return &Error{Name: name, Message: fmt.Sprintf("the template is larger than %d bytes", MaxText)}
	case !utf8.ValidString(text):
		return &Error{Name: name, Message: "the template is not UTF-8 text"}
	case strings.Count(text, "{{") > maxActions:
		return &Error{Name: name, Message: fmt.Sprintf("the template has more than %d actions", maxActions)}
	}
	return nil
}

// Refs are the chains of keys below .nuon that the template reads, sorted and unique, in their canonical spelling ([Canonical]).
// A ref stands for everything below it: a value that is handed to a function, tested or looped over whole is one ref. `index`
// with literal keys counts as a chain; `dig` counts as the object that it looks into.
func (t *Template) Refs() []Path { return t.refs }

// Execute renders the template. It sees the values at Refs and no others. The error is an *Error that names the template and the
// path, never a value.
func (t *Template) Execute(root Tree) (out string, err error) {
	if t.tree == nil {
		return t.text, nil
	}
	values, err := root.visible(t.refs)
	if err != nil {
		return "", &Error{Name: t.name, Message: err.Error()}
	}
	b := &budget{left: maxWork}
	compiled, err := template.New(parseName).Option("missingkey=error").Funcs(bind(b)).AddParseTree(parseName, t.tree)
	if err != nil {
		return "", &Error{Name: t.name, Message: "it cannot be compiled"}
	}
	defer func() {
		// text/template passes Go's own run-time errors on as panics. None is known to be reachable; if one is, it must not end
		// the program that renders.
		if recover() != nil {
			out, err = "", &Error{Name: t.name, Message: "it cannot be evaluated with these values"}
		}
	}()
	var written limitedWriter
	if err := compiled.Execute(&written, values); err != nil {
		return "", t.runError(err)
	}
	return string(written.data), nil
}

// instrument adds the hooks: what is printed goes through printHook, what is looped over through rangeHook, and every round
// begins with roundHook.
func instrument(root *parse.ListNode) error {
	hooks := map[string]*parse.ActionNode{}
	for _, name := range []string{printHook, roundHook, rangeHook} {
		trees, err := parse.Parse(parseName, "{{"+name+"}}", "", "", map[string]any{name: true})
		if err != nil {
			return fmt.Errorf("compile: %w", err)
		}
		action, ok := trees[parseName].Root.Nodes[0].(*parse.ActionNode)
		if !ok {
			return errors.New("compile: unexpected hook")
		}
		hooks[name] = action
	}
	addHooks(root, hooks)
	return nil
}

func addHooks(list *parse.ListNode, hooks map[string]*parse.ActionNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			if len(node.Pipe.Decl) == 0 {
				node.Pipe.Cmds = append(node.Pipe.Cmds, hooks[printHook].Pipe.Cmds[0])
			}
		case *parse.IfNode:
			addHooks(node.List, hooks)
			addHooks(node.ElseList, hooks)
		case *parse.WithNode:
			addHooks(node.List, hooks)
			addHooks(node.ElseList, hooks)
		case *parse.RangeNode:
			node.Pipe.Cmds = append(node.Pipe.Cmds, hooks[rangeHook].Pipe.Cmds[0])
			addHooks(node.List, hooks)
			addHooks(node.ElseList, hooks)
			node.List.Nodes = append([]parse.Node{hooks[roundHook]}, node.List.Nodes...)
		}
	}
}
