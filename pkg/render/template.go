package render

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

// parseName is the name of every template inside text/template. Errors contain the caller's name
// instead, which may contain any characters.
const parseName = "t"

// Template is a checked template. It is safe for concurrent use.
type Template struct {
	name      string
	text      string
	tree      *parse.Tree // nil for a text without .nuon
	refs      []Path
	uses      []Use
	positions map[int]position // by the offset that text/template reports in its errors
}

// position is a place where a template reads a path.
type position struct {
	at   span
	path Path // nil if the path below .nuon is unknown
}

// Parse checks and compiles text. name is used in errors (file:line:col or a key path). The error
// is an *Error. A text without `.nuon` is never rejected.
func Parse(name, text string) (*Template, error) {
	t := &Template{name: name, text: text}
	if !strings.Contains(text, ".nuon") {
		return t, nil
	}
	if tooCostly := checkBounds(name, text); tooCostly != nil {
		return nil, tooCostly
	}
	trees := map[string]*parse.Tree{}
	tree, err := parse.New(parseName).Parse(text, "", "", trees, parseNames())
	if err != nil {
		return nil, parseError(name, text, err)
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
		t.tree = tree // only comments: the output is the text around them
		return t, nil
	}
	a := newAnalysis(name, text)
	a.list(tree.Root, a.start())
	if a.err != nil {
		return nil, a.err
	}
	t.tree, t.refs, t.positions = tree, a.sorted(), a.positions
	t.uses = a.sortedUses()
	if err := instrument(tree.Root); err != nil {
		return nil, &Error{Name: name, Message: err.Error()}
	}
	return t, nil
}

// checkBounds rejects texts that are too costly to parse.
func checkBounds(name, text string) *Error {
	switch {
	case len(text) > MaxText:
		return &Error{Name: name, Message: fmt.Sprintf("the template is larger than %d bytes", MaxText)}
	case !utf8.ValidString(text):
		return &Error{Name: name, Message: "the template is not UTF-8 text"}
	case strings.Count(text, "{{") > maxActions:
		return &Error{Name: name, Message: fmt.Sprintf("the template has more than %d actions", maxActions)}
	case tooMuchCode(text):
		return &Error{Name: name, Message: fmt.Sprintf("the actions of the template have more than %d bytes", maxCode)}
	}
	return nil
}

// Refs returns the chains of keys below .nuon that the template reads, sorted and unique, in
// canonical spelling ([Canonical]). A ref includes everything below it: a value that is passed to a
// function, tested or looped over as a whole is one ref. `index` with literal keys counts as a
// chain; `dig` counts as a read of the object that it searches.
func (t *Template) Refs() []Path { return t.refs }

// Execute renders the template. Only the values at Refs are visible to it. The error is an *Error
// that names the template and the path, never a value.
func (t *Template) Execute(root Tree) (string, error) { return t.execute(root, maxWork) }

func (t *Template) execute(root Tree, work int) (out string, err error) {
	if t.tree == nil {
		return t.text, nil
	}
	values, err := root.visible(t.refs)
	if err != nil {
		return "", &Error{Name: t.name, Message: err.Error()}
	}
	b := &budget{left: work}
	compiled, err := template.New(parseName).Option("missingkey=error").Funcs(bind(b)).AddParseTree(parseName, t.tree)
	if err != nil {
		return "", &Error{Name: t.name, Message: "it cannot be compiled"}
	}
	defer func() {
		// text/template passes Go's run-time errors on as panics. None is known to be reachable; if
		// one is, it must not end the rendering program.
		if recover() != nil {
			out, err = "", &Error{Name: t.name, Message: "it cannot be evaluated with these values"}
		}
	}()
	var written limitedWriter
	if err := compiled.Execute(&written, values); err != nil {
		return "", t.runError(err, root)
	}
	return string(written.data), nil
}

// instrument inserts the hooks: printed values go through printHook, the operand of a range goes
// through rangeHook, and every iteration starts with roundHook, which spends the units for its
// content.
func instrument(root *parse.ListNode) error {
	hooks, err := parsedHooks()
	if err != nil {
		return err
	}
	_, err = addHooks(root, hooks)
	return err
}

// parsedHooks returns the calls that instrument inserts. All trees share them, because nodes do not
// change after parsing.
var parsedHooks = sync.OnceValues(func() (map[string]*parse.CommandNode, error) {
	hooks := map[string]*parse.CommandNode{}
	for _, name := range []string{printHook, rangeHook} {
		action, err := parsedHook(name, "")
		if err != nil {
			return nil, err
		}
		hooks[name] = action.Pipe.Cmds[0]
	}
	return hooks, nil
})

func parsedHook(name, arg string) (*parse.ActionNode, error) {
	trees, err := parse.Parse(parseName, "{{"+name+" "+arg+"}}", "", "", map[string]any{name: true})
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	action, ok := trees[parseName].Root.Nodes[0].(*parse.ActionNode)
	if !ok {
		return nil, errors.New("compile: unexpected hook")
	}
	return action, nil
}

// addHooks instruments the content of a list. It returns the work of one pass over it, without
// function calls and loops.
func addHooks(list *parse.ListNode, hooks map[string]*parse.CommandNode) (units int, err error) {
	if list == nil {
		return 0, nil
	}
	for _, node := range list.Nodes {
		var inside int
		switch node := node.(type) {
		case *parse.ActionNode:
			inside = evaluation(node.Pipe)
			if len(node.Pipe.Decl) == 0 {
				node.Pipe.Cmds = append(node.Pipe.Cmds, hooks[printHook])
			}
		case *parse.IfNode:
			inside, err = addBranchHooks(&node.BranchNode, hooks)
		case *parse.WithNode:
			inside, err = addBranchHooks(&node.BranchNode, hooks)
		case *parse.RangeNode:
			inside, err = addRangeHooks(node, hooks)
		}
		if err != nil {
			return 0, err
		}
		units += nodeCost + inside
	}
	return units, nil
}

func addBranchHooks(node *parse.BranchNode, hooks map[string]*parse.CommandNode) (units int, err error) {
	first, err := addHooks(node.List, hooks)
	if err != nil {
		return 0, err
	}
	second, err := addHooks(node.ElseList, hooks)
	return evaluation(node.Pipe) + max(first, second), err
}

// addRangeHooks instruments a range. The result excludes the work of the iterations, which spend
// their own units.
func addRangeHooks(node *parse.RangeNode, hooks map[string]*parse.CommandNode) (units int, err error) {
	units = evaluation(node.Pipe)
	round, err := addHooks(node.List, hooks)
	if err != nil {
		return 0, err
	}
	hook, err := parsedHook(roundHook, strconv.Itoa(roundCost+round))
	if err != nil {
		return 0, err
	}
	otherwise, err := addHooks(node.ElseList, hooks)
	node.Pipe.Cmds = append(node.Pipe.Cmds, hooks[rangeHook])
	node.List.Nodes = append([]parse.Node{hook}, node.List.Nodes...)
	return units + otherwise, err
}

// evaluation returns the work of a pipeline, without the work of its functions.
func evaluation(pipe *parse.PipeNode) int {
	units := 2 * nodeCost * len(pipe.Decl)
	for _, cmd := range pipe.Cmds {
		for _, arg := range cmd.Args {
			units += nodeCost
			switch arg := arg.(type) {
			case *parse.PipeNode:
				units += evaluation(arg)
			case *parse.FieldNode:
				units += nodeCost * len(arg.Ident)
			case *parse.VariableNode:
				units += nodeCost * (2 + len(arg.Ident)) // the variable is searched for
			case *parse.ChainNode:
				units += nodeCost * len(arg.Field)
				if inner, ok := arg.Node.(*parse.PipeNode); ok {
					units += evaluation(inner)
				}
			}
		}
	}
	return units
}
