package document

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// maxDepth bounds the nesting of values; no document of a cloud has more than ten levels.
const maxDepth = 64

// value is a JSON value with its position.
type value struct {
	kind    jsontext.Kind // '{', '[', '"', '0', 't', 'f' or 'n'
	text    string        // content of a string
	offset  int
	end     int
	members []member // members of an object, in the order of the text
	items   []value  // elements of an array
}

// member is a name of an object with its value.
type member struct {
	name        string
	offset, end int
	value       value
}

// get returns the value of a name, or nil if the object does not have the name.
func (v *value) get(name string) *value {
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i].value
		}
	}
	return nil
}

// hasPlaceholder reports whether the value is, or contains, a template expression.
func (v *value) hasPlaceholder() bool { return v.kind == '"' && source.HasPlaceholder(v.text) }

// parser parses JSON with positions.
type parser struct {
	*source.Text
	decoder *jsontext.Decoder
	last    int // end of the previous token
	text    string
}

// parse parses one JSON value, which must be the whole text. If it cannot, it reports the error and
// ok is false.
func parse(t *source.Text, text string) (v value, ok bool) {
	if strings.HasPrefix(text, "\uFEFF") {
		text = "   " + text[len("\uFEFF"):]
	}
	p := parser{Text: t, text: text, decoder: jsontext.NewDecoder(bytes.NewReader([]byte(text)),
		jsontext.AllowDuplicateNames(true))}
	if v, ok = p.value(0); !ok {
		return v, false
	}
	if _, err := p.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		at := p.skipSpace(p.last)
		p.Error(at, 1, "json-syntax", "something follows the end of the document", "remove it; a document is one { … }")
		return v, false
	}
	return v, true
}

// value parses the next value.
func (p *parser) value(depth int) (v value, ok bool) {
	if depth > maxDepth {
		p.Error(p.skipSpace(p.last), 1, "json-syntax", "the document is nested too deep",
			"no document of a cloud is: write it flatter")
		return v, false
	}
	token, ok := p.token()
	if !ok {
		return v, false
	}
	v.kind = token.Kind()
	v.end = p.last
	v.offset = p.last - len(token.String())
	switch v.kind {
	case '"':
		v.text = token.String()
		v.offset = p.stringStart(p.last)
	case '{':
		return v, p.object(&v, depth)
	case '[':
		return v, p.array(&v, depth)
	}
	return v, true
}

// stringStart returns the start of the string token that ends at end.
func (p *parser) stringStart(end int) int {
	for at := end - 2; at >= 0; at-- {
		if p.text[at] != '"' {
			continue
		}
		slashes := 0
		for i := at - 1; i >= 0 && p.text[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
	return 0
}

func (p *parser) object(v *value, depth int) bool {
	for {
		if p.decoder.PeekKind() == '}' {
			_, ok := p.token()
			v.end = p.last
			return ok
		}
		token, ok := p.token()
		if !ok {
			return false
		}
		m := member{name: token.String(), offset: p.stringStart(p.last), end: p.last}
		if m.value, ok = p.value(depth + 1); !ok {
			return false
		}
		v.members = append(v.members, m)
	}
}

func (p *parser) array(v *value, depth int) bool {
	for {
		if p.decoder.PeekKind() == ']' {
			_, ok := p.token()
			v.end = p.last
			return ok
		}
		item, ok := p.value(depth + 1)
		if !ok {
			return false
		}
		v.items = append(v.items, item)
	}
}

// token reads the next token, and reports a syntax error. The token is a copy.
func (p *parser) token() (jsontext.Token, bool) {
	token, err := p.decoder.ReadToken()
	if err != nil {
		p.reportSyntax(err)
		return token, false
	}
	p.last = int(p.decoder.InputOffset())
	return token.Clone(), true
}

func (p *parser) skipSpace(at int) int {
	for at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[at]) >= 0 {
		at++
	}
	return at
}

// reportSyntax reports a syntax error. For the most common mistakes it has its own messages.
func (p *parser) reportSyntax(err error) {
	at := p.skipSpace(p.last)
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		at = max(at, p.skipSpace(int(syntactic.ByteOffset)))
	}
	message, hint := "the document is not JSON", "check commas, quotes and braces here and before"
	rest := p.text[min(at, len(p.text)):]
	before := strings.TrimRight(p.text[:min(at, len(p.text))], " \t\r\n")
	switch {
	case rest == "":
		message, hint = "the document ends too early", "close what was opened with {, [ or \""
	case strings.HasSuffix(before, ",") && (rest[0] == '}' || rest[0] == ']'):
		at = len(before) - 1
		message, hint = "a comma before "+rest[:1], "remove the comma"
	case rest[0] == ',' && (strings.HasPrefix(strings.TrimLeft(rest[1:], " \t\r\n"), "}") ||
		strings.HasPrefix(strings.TrimLeft(rest[1:], " \t\r\n"), "]")):
		message, hint = "a comma behind the last entry", "remove the comma"
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || rest[0] == '#':
		message, hint = "JSON has no comments", "remove the comment"
	case rest[0] == '\'':
		message, hint = "a text in single quotes", "write it in double quotes"
	case rest[0] == '"':
		message, hint = "a comma or colon is missing before this", "add it"
	}
	p.Error(min(at, len(p.text)), 1, "json-syntax", message, hint)
}
