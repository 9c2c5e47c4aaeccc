package appconfig

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// position is a place in a file, both from 1.
type position struct{ line, column int }

// node is one TOML value with its places.
type node struct {
	// value is a string, int64, float64, bool, *table or []*node; anything else is a date or a time, which no key of the format
	// wants.
	value any
	key   position // where its key is written; for elements of a list, the element
	at    position // where the value is written
	// For strings: how many bytes of quotes come first, and whether the text begins on the line after them.
	quotes  int
	newline bool
}

// table is a TOML table of any spelling.
type table struct {
	at   position
	keys map[string]*node
}

// sorted gives the keys in the order in which they are written.
func (t *table) sorted() []string {
	names := make([]string, 0, len(t.keys))
	for name := range t.keys {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := t.keys[names[i]].key, t.keys[names[j]].key
		if a != b {
			return a.line < b.line || a.line == b.line && a.column < b.column
		}
		return names[i] < names[j]
	})
	return names
}

const (
	// maxNesting bounds tables within tables; the format needs five levels.
	maxNesting = 32
	// maxKeys bounds the keys of one table. The decoder compares every key of a table with all before it, so a megabyte of keys
	// would keep it busy for a minute.
	maxKeys = 500
)

// parseDocument reads TOML. The decoder decides what is valid and what the values are; the parser below it tells where they are
// written.
func parseDocument(data []byte) (*table, *Diagnostic) {
	places := newPlaces(data)
	if problem := places.scan(); problem != nil {
		return nil, problem
	}
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		return nil, syntaxError(err)
	}
	root := places.table(places.root, values)
	root.at = position{1, 1}
	return root, places.refused
}

func syntaxError(err error) *Diagnostic {
	problem := &Diagnostic{Line: 1, Column: 1, Severity: SeverityError, Message: "the TOML cannot be read"}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		problem.Line, problem.Column = decode.Position()
		problem.Message = "TOML syntax: " + strings.TrimPrefix(decode.Error(), "toml: ")
	}
	return problem
}

// spot is where the value at one key path is written, with the spots below it.
type spot struct {
	key, at position
	quotes  int
	newline bool
	keys    map[string]*spot
	items   []*spot // elements of a list, or of an array of tables
}

// child gives the spot of a key, which it makes at its first mention.
func (p *places) child(s *spot, key string, at position) *spot {
	if below, ok := s.keys[key]; ok {
		return below
	}
	if len(s.keys) == maxKeys && p.crowded == nil {
		p.crowded = &Diagnostic{
			Line: at.line, Column: at.column, Severity: SeverityError,
			Message: fmt.Sprintf("a table has more than %d keys", maxKeys),
		}
	}
	if s.keys == nil {
		s.keys = map[string]*spot{}
	}
	below := &spot{key: at, at: at}
	s.keys[key] = below
	return below
}

// item adds an element.
func (s *spot) item(at position) *spot {
	below := &spot{key: at, at: at}
	s.items = append(s.items, below)
	return below
}

// places finds out where everything in a document is written.
type places struct {
	data    []byte
	lines   []int // offset at which each line starts
	root    *spot
	crowded *Diagnostic // the first table with too many keys
	refused *Diagnostic // the first value that no App can hold
}

func newPlaces(data []byte) *places {
	p := &places{data: data, lines: []int{0}, root: &spot{}}
	for i, b := range data {
		if b == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	return p
}

func (p *places) position(raw unstable.Range) position {
	offset := int(raw.Offset)
	line := sort.SearchInts(p.lines, offset+1) // lines that start at or before it
	return position{line, offset - p.lines[line-1] + 1}
}

// scan walks all expressions once. Syntax errors are left to the decoder, which words them for people.
func (p *places) scan() *Diagnostic {
	var parser unstable.Parser
	parser.Reset(p.data)
	in := p.root
	for parser.NextExpression() {
		expression := parser.Expression()
		switch expression.Kind {
		case unstable.Table, unstable.ArrayTable:
			keys, at, ok := p.keys(expression)
			if !ok {
				return tooDeep(at)
			}
			in = p.header(keys, expression.Kind == unstable.ArrayTable, at)
		case unstable.KeyValue:
			if at, ok := p.keyValue(in, expression, 0); !ok {
				return tooDeep(at)
			}
		}
		if p.crowded != nil {
			return p.crowded
		}
	}
	return nil
}

func tooDeep(at position) *Diagnostic {
	return &Diagnostic{
		Line: at.line, Column: at.column, Severity: SeverityError,
		Message: fmt.Sprintf("tables are nested more than %d levels deep", maxNesting),
	}
}

// keys gives the parts of a key and where the first is written.
func (p *places) keys(n *unstable.Node) (keys []string, at position, ok bool) {
	for parts := n.Key(); parts.Next(); {
		if len(keys) == 0 {
			at = p.position(parts.Node().Raw)
		}
		if len(keys) == maxNesting {
			return nil, at, false
		}
		keys = append(keys, string(parts.Node().Data))
	}
	return keys, at, true
}

// header enters [a.b] or [[a.b]] and gives the spot of what follows.
func (p *places) header(keys []string, array bool, at position) *spot {
	in := p.root
	for i, key := range keys {
		in = p.child(in, key, at)
		switch {
		case array && i == len(keys)-1:
			in = in.item(at)
		case len(in.items) > 0:
			in = in.items[len(in.items)-1]
		}
	}
	return in
}

func (p *places) keyValue(in *spot, n *unstable.Node, depth int) (position, bool) {
	keys, at, ok := p.keys(n)
	if !ok || depth > maxNesting {
		return at, false
	}
	for _, key := range keys {
		in = p.child(in, key, at)
	}
	return p.value(in, n.Value(), depth)
}

func (p *places) value(here *spot, n *unstable.Node, depth int) (position, bool) {
	if depth > maxNesting {
		return here.key, false
	}
	if n.Raw.Length > 0 { // the parser does not tell it for arrays and bools
		here.at = p.position(n.Raw)
	}
	switch n.Kind {
	case unstable.Array:
		for items := n.Children(); items.Next(); {
			if at, ok := p.value(here.item(here.key), items.Node(), depth+1); !ok {
				return at, false
			}
		}
	case unstable.InlineTable:
		for entries := n.Children(); entries.Next(); {
			if at, ok := p.keyValue(here, entries.Node(), depth+1); !ok {
				return at, false
			}
		}
	case unstable.String:
		raw := p.data[n.Raw.Offset : n.Raw.Offset+n.Raw.Length]
		here.quotes = 1
		if bytes.HasPrefix(raw, []byte(`"""`)) || bytes.HasPrefix(raw, []byte("'''")) {
			here.quotes = 3
			here.newline = bytes.HasPrefix(bytes.TrimPrefix(raw[3:], []byte("\r")), []byte("\n"))
		}
	}
	return here.key, true
}

// table puts values and places together.
func (p *places) table(here *spot, values map[string]any) *table {
	t := &table{at: here.at, keys: make(map[string]*node, len(values))}
	for key, value := range values {
		t.keys[key] = p.node(p.child(here, key, here.at), value)
	}
	return t
}

func (p *places) node(here *spot, value any) *node {
	n := &node{value: value, key: here.key, at: here.at, quotes: here.quotes, newline: here.newline}
	switch value := value.(type) {
	case map[string]any:
		n.value = p.table(here, value)
	case []any:
		items := make([]*node, len(value))
		for i, item := range value {
			if i == len(here.items) {
				here.item(here.at)
			}
			items[i] = p.node(here.items[i], item)
		}
		n.value = items
	case string:
		if strings.ContainsRune(value, 0) && p.refused == nil {
			p.refused = &Diagnostic{
				Line: n.at.line, Column: n.at.column, Severity: SeverityError,
				Message: "the text contains a NUL character", Hint: "remove it",
			}
		}
	}
	return n
}
