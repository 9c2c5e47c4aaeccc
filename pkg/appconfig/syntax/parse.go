package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

const (
	// maxNesting bounds tables within tables; the format needs five levels.
	maxNesting = 32
	// maxKeys bounds the keys of one table. go-toml, whose messages describe errors in a
	// document, compares every key of a table with all previous ones: a megabyte of keys would
	// take it a minute.
	maxKeys = 500
)

// ruleSyntax is the rule about valid TOML, which includes valid UTF-8.
const ruleSyntax = "toml-syntax"

// byteOrderMark is a prefix of UTF-8 that some editors write. It does not count as a column.
const byteOrderMark = "\ufeff"

// Parse parses a document. file is the name in all positions. Exactly one of the results is nil.
func Parse(file string, data []byte) (*Table, *diagnostic.Diagnostic) {
	return new(Parser).Parse(file, data)
}

// Parser parses documents one after another and reuses its memory. It is not safe for concurrent
// use.
type Parser struct{ run parser }

// Parse is [Parse] with reused memory.
func (p *Parser) Parse(file string, data []byte) (*Table, *diagnostic.Diagnostic) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	run := &p.run
	*run = parser{Parser: run.Parser, keys: run.keys, file: file, data: data, line: 1}
	if !utf8.Valid(data) {
		return nil, run.notUTF8()
	}
	run.text = string(data)
	root := &Table{At: Start(file)}
	if problem := run.document(root); problem != nil {
		return nil, problem
	}
	return root, nil
}

// parser is the state of Parse for one document.
type parser struct {
	unstable.Parser
	file string
	data []byte
	text string // data as a string; keys and strings are parts of it

	// The line that position found last.
	line, start int // its number, and the offset of its start
	seen        int // the offset up to which line ends are counted

	nodes []Node // allocated nodes that are still unused
	keys  []part // of the current expression
}

// part is one part of a dotted key.
type part struct {
	name string
	at   Position
	end  int // offset
}

// problem is an error inside the parser, before it becomes a diagnostic.
type problem struct {
	at      Position
	message string
}

func (p *problem) Error() string { return p.message }

func (p *parser) document(root *Table) *diagnostic.Diagnostic {
	p.Reset(p.data)
	table := root
	for p.NextExpression() {
		var err error
		switch expression := p.Expression(); expression.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, err = p.header(root, expression)
		case unstable.KeyValue:
			err = p.keyValue(table, expression, 0)
		}
		if err != nil {
			return p.diagnose(err)
		}
	}
	if err := p.Error(); err != nil {
		return p.syntaxError()
	}
	return nil
}

func (p *parser) diagnose(err error) *diagnostic.Diagnostic {
	var known *problem
	if !errors.As(err, &known) {
		known = &problem{Start(p.file), err.Error()}
	}
	return &diagnostic.Diagnostic{
		File: p.file, Line: known.at.Line, Column: known.at.Column, Width: known.at.Width,
		Severity: diagnostic.Error, Rule: ruleSyntax, Message: known.message,
	}
}

// syntaxError returns the decoder's error for a document that go-toml's parser could not read, because
// the decoder reports the position.
func (p *parser) syntaxError() *diagnostic.Diagnostic {
	var nothing map[string]any
	err := toml.Unmarshal(p.data, &nothing)
	var known *toml.DecodeError
	if !errors.As(err, &known) {
		return p.diagnose(&problem{Start(p.file), "the TOML cannot be read"})
	}
	at := Start(p.file)
	at.Line, at.Column = known.Position()
	message, hint, column := explainError(strings.TrimPrefix(known.Error(), "toml: "), p.lineAt(at.Line), at.Column)
	at.Column = column
	diag := p.diagnose(&problem{at, "TOML syntax: " + message})
	diag.Hint = hint
	return diag
}

// lineAt returns a line of the document, counted from 1, without its end.
func (p *parser) lineAt(number int) string {
	rest := p.text
	for ; number > 1; number-- {
		_, after, found := strings.Cut(rest, "\n")
		if !found {
			return ""
		}
		rest = after
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(line, "\r")
}

// notUTF8 returns the error for a file that is not UTF-8.
func (p *parser) notUTF8() *diagnostic.Diagnostic {
	valid := 0
	for valid < len(p.data) {
		r, size := utf8.DecodeRune(p.data[valid:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	diag := p.diagnose(&problem{p.position(valid, 1), "the file is not UTF-8 text"})
	diag.Hint = "save it as UTF-8"
	return diag
}

// position returns the position of an offset. Offsets mostly grow, so it counts lines from the
// last one.
func (p *parser) position(offset, width int) Position {
	if offset < p.start {
		p.line, p.start, p.seen = 1, 0, 0
	}
	for p.seen < offset {
		end := bytes.IndexByte(p.data[p.seen:offset], '\n')
		if end < 0 {
			p.seen = offset
			break
		}
		p.line++
		p.seen += end + 1
		p.start = p.seen
	}
	return Position{p.file, p.line, offset - p.start + 1, width}
}

// node returns a new node.
func (p *parser) node(value any, key, at Position) *Node {
	if len(p.nodes) == 0 {
		p.nodes = make([]Node, min(max(len(p.data)/64, 8), 64))
	}
	n := &p.nodes[0]
	p.nodes = p.nodes[1:]
	n.Value, n.Key, n.At = value, key, at
	return n
}

// path reads the parts of a key.
func (p *parser) path(n *unstable.Node) ([]part, error) {
	p.keys = p.keys[:0]
	for parts := n.Key(); parts.Next(); {
		key := parts.Node()
		at := p.position(int(key.Raw.Offset), int(key.Raw.Length))
		if len(p.keys) == maxNesting {
			return nil, tooDeep(at)
		}
		name := p.string(key)
		if strings.ContainsRune(name, 0) {
			return nil, &problem{at, "a key contains a NUL character"}
		}
		p.keys = append(p.keys, part{name, at, int(key.Raw.Offset + key.Raw.Length)})
	}
	return p.keys, nil
}

func tooDeep(at Position) error {
	return &problem{at, fmt.Sprintf("tables are nested more than %d levels deep", maxNesting)}
}

// string returns the text of a key or a string. Without escapes the text is a part of the document,
// which avoids a copy.
func (p *parser) string(n *unstable.Node) string {
	raw := p.text[n.Raw.Offset : n.Raw.Offset+n.Raw.Length]
	quotes, newline := opening(raw)
	if start := quotes + newline; len(raw) == start+len(n.Data)+quotes {
		return raw[start : len(raw)-quotes]
	}
	return string(n.Data)
}

// opening returns the number of opening quotes of a string, and the bytes of the line break after
// them that is not part of the text.
func opening(raw string) (quotes, newline int) {
	switch {
	case raw == "" || raw[0] != '"' && raw[0] != '\'':
		return 0, 0
	case len(raw) < 6 || raw[1] != raw[0] || raw[2] != raw[0]:
		return 1, 0
	case strings.HasPrefix(raw[3:], "\n"):
		return 3, 1
	case strings.HasPrefix(raw[3:], "\r\n"):
		return 3, 2
	}
	return 3, 0
}

// header reads [a.b] or [[a.b]] and returns the table that the following lines belong to.
func (p *parser) header(root *Table, n *unstable.Node) (*Table, error) {
	keys, err := p.path(n)
	if err != nil {
		return nil, err
	}
	table := root
	for _, key := range keys[:len(keys)-1] {
		if table, err = p.headerParent(table, key); err != nil {
			return nil, err
		}
	}
	last := keys[len(keys)-1]
	if n.Kind == unstable.ArrayTable {
		return p.newElement(table, last)
	}
	return p.headerTable(table, last)
}

// headerParent returns the table for an inner part of a header, and creates it if it is missing.
func (p *parser) headerParent(table *Table, key part) (*Table, error) {
	n := table.Get(key.name)
	if n == nil {
		child := &Table{At: key.at}
		_, err := p.put(table, key, child, originImplied)
		return child, err
	}
	switch value := n.Value.(type) {
	case *Table:
		if n.origin != originValue {
			return value, nil
		}
	case []*Node:
		if n.origin == originArray {
			return value[len(value)-1].Table(), nil
		}
	}
	return nil, &problem{key.at, fmt.Sprintf("TOML syntax: key %s already exists as a value", key.name)}
}

// headerTable returns the table for the last part of a [header].
func (p *parser) headerTable(table *Table, key part) (*Table, error) {
	n := table.Get(key.name)
	if n == nil {
		child := &Table{At: key.at}
		_, err := p.put(table, key, child, originHeader)
		return child, err
	}
	switch n.origin {
	case originImplied:
		n.origin, n.Key, n.At = originHeader, key.at, key.at
		t := n.Table()
		t.At = key.at
		return t, nil
	case originHeader:
		return nil, &problem{key.at, fmt.Sprintf("TOML syntax: table %s already exists", key.name)}
	case originDotted:
		return nil, &problem{key.at,
			fmt.Sprintf("TOML syntax: table %s already exists as defined by a dotted key", key.name)}
	case originArray:
		return nil, &problem{key.at,
			fmt.Sprintf("TOML syntax: table %s already exists as an array of tables", key.name)}
	}
	return nil, &problem{key.at, fmt.Sprintf("TOML syntax: key %s should be a table, not a value", key.name)}
}

// newElement returns a new element for the last part of an [[array of tables]].
func (p *parser) newElement(table *Table, key part) (*Table, error) {
	t := &Table{At: key.at}
	item := p.node(t, key.at, key.at)
	item.origin = originHeader
	n := table.Get(key.name)
	if n == nil {
		_, err := p.put(table, key, []*Node{item}, originArray)
		return t, err
	}
	if n.origin != originArray {
		return nil, &problem{key.at,
			fmt.Sprintf("TOML syntax: key %s already exists, but should be an array table", key.name)}
	}
	items, _ := n.Items()
	items = append(items, item)
	n.Value = items
	return t, nil
}

// put adds a key to a table.
func (p *parser) put(table *Table, key part, value any, declared origin) (*Node, error) {
	if table.Len() == maxKeys {
		return nil, &problem{key.at, fmt.Sprintf("a table has more than %d keys", maxKeys)}
	}
	n := p.node(value, key.at, key.at)
	n.origin = declared
	table.add(key.name, n)
	return n, nil
}

func (p *parser) keyValue(table *Table, n *unstable.Node, depth int) error {
	keys, err := p.path(n)
	if err != nil {
		return err
	}
	if depth > maxNesting {
		return tooDeep(keys[0].at)
	}
	for _, key := range keys[:len(keys)-1] {
		if table, err = p.dottedParent(table, key); err != nil {
			return err
		}
	}
	last := keys[len(keys)-1]
	if table.Get(last.name) != nil {
		return &problem{last.at, fmt.Sprintf("TOML syntax: key %s is already defined", last.name)}
	}
	node, err := p.put(table, last, nil, originValue)
	if err != nil {
		return err
	}
	if n.Value().Raw.Length == 0 {
		node.At = p.after(last.end)
	}
	return p.value(node, n.Value(), depth)
}

// after returns the position of the value after a key that ends at an offset. The parser does not
// report it for arrays and bools.
func (p *parser) after(end int) Position {
	for end < len(p.data) && strings.IndexByte(" \t=", p.data[end]) >= 0 {
		end++
	}
	return p.position(end, 0)
}

// dottedParent returns the table for an inner part of a dotted key, and creates it if it is missing.
func (p *parser) dottedParent(table *Table, key part) (*Table, error) {
	n := table.Get(key.name)
	if n == nil {
		child := &Table{At: key.at}
		_, err := p.put(table, key, child, originDotted)
		return child, err
	}
	if n.origin != originDotted {
		return nil, &problem{key.at, fmt.Sprintf("TOML syntax: key %s is already defined", key.name)}
	}
	return n.Table(), nil
}

func (p *parser) value(node *Node, n *unstable.Node, depth int) error {
	if depth > maxNesting {
		return tooDeep(node.Key)
	}
	if n.Raw.Length > 0 { // else the caller has set the position
		node.At = p.position(int(n.Raw.Offset), int(n.Raw.Length))
	}
	switch n.Kind {
	case unstable.Array:
		return p.array(node, n, depth)
	case unstable.InlineTable:
		return p.inline(node, n, depth)
	case unstable.String:
		node.raw = p.text[n.Raw.Offset : n.Raw.Offset+n.Raw.Length]
		node.At.Width = firstLine(node.raw)
		text := p.string(n)
		if strings.Contains(node.raw, "\r\n") { // a checkout on another system may convert line ends
			text = strings.ReplaceAll(text, "\r\n", "\n")
		}
		node.Value = text
		if strings.ContainsRune(text, 0) {
			return &problem{node.At, "the text contains a NUL character"}
		}
	case unstable.Bool:
		node.Value = len(n.Data) > 0 && n.Data[0] == 't'
	default:
		return p.scalar(node, n)
	}
	return nil
}

// firstLine returns the number of bytes on the first line of a string.
func firstLine(raw string) int {
	if end := strings.IndexAny(raw, "\r\n"); end >= 0 {
		return end
	}
	return len(raw)
}

func (p *parser) array(node *Node, n *unstable.Node, depth int) error {
	items := []*Node{}
	for children := n.Children(); children.Next(); {
		item := p.node(nil, node.At, node.At)
		if err := p.value(item, children.Node(), depth+1); err != nil {
			return err
		}
		item.Key = item.At
		items = append(items, item)
	}
	node.Value = items
	return nil
}

func (p *parser) inline(node *Node, n *unstable.Node, depth int) error {
	t := &Table{At: node.At}
	node.Value = t
	for children := n.Children(); children.Next(); {
		if err := p.keyValue(t, children.Node(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// scalar reads a number, a date or a time. It leaves all but plain integers to the decoder.
func (p *parser) scalar(node *Node, n *unstable.Node) error {
	if number, err := strconv.ParseInt(string(n.Data), 10, 64); err == nil && n.Kind == unstable.Integer &&
		plainNumber(n.Data) {
		node.Value = number
		return nil
	}
	var decoded struct {
		Value any `toml:"v"`
	}
	if err := toml.Unmarshal(append([]byte("v="), n.Data...), &decoded); err != nil {
		message := strings.TrimPrefix(err.Error(), "toml: ")
		return &problem{node.At, "TOML syntax: " + message}
	}
	node.Value = decoded.Value
	return nil
}

// plainNumber excludes leading zeros, which strconv accepts and TOML does not.
func plainNumber(data []byte) bool {
	digits := bytes.TrimLeft(data, "+-")
	return len(digits) == 1 || len(digits) > 1 && digits[0] != '0'
}
