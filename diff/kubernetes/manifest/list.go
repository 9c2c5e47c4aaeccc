package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// inheritance returns what the elements of a list inherit from it: a typed
// list (PodList) defines apiVersion and kind for all of them.
func inheritance(list identity) identity {
	kind := strings.TrimSuffix(list.kind, "List")
	if kind == "" {
		return identity{}
	}
	return identity{apiVersion: list.apiVersion, kind: kind}
}

// blockList splits a list in block style into its elements, so that each can be
// parsed separately. It returns false if the list must be parsed as a whole.
func (r *reader) blockList(t text) bool {
	blocks, ok := outline(t.data)
	if !ok {
		return false
	}
	var list identity
	items := -1
	for i := int32(0); int(i) < len(blocks); i = blocks[i].next {
		b := &blocks[i]
		switch key := t.data[b.key:b.colon()]; string(key) {
		case "kind":
			list.kind, _ = simpleText(firstLine(t.data[b.colon()+1 : endOf(t.data, blocks, i)]))
		case "apiVersion":
			list.apiVersion, _ = simpleText(firstLine(t.data[b.colon()+1 : endOf(t.data, blocks, i)]))
		case "items":
			if items >= 0 || !b.is(parent) {
				return false
			}
			items = int(i)
		case "metadata":
		default:
			return false
		}
	}
	if items < 0 || !isList(list) || !blocks[items+1].is(element) {
		return false
	}
	r.elements(t, blocks, int32(items), inheritance(list))
	return true
}

// elements adds the elements of a list with known blocks.
func (r *reader) elements(t text, blocks []block, items int32, inherited identity) {
	line, counted := t.line, 0
	for i := items + 1; i < blocks[items].next && len(r.errs) < maxErrors; i = blocks[i].next {
		b := &blocks[i]
		line += bytes.Count(t.data[counted:b.start()], []byte{'\n'})
		counted = int(b.start())
		e := text{data: t.data[b.start():endOf(t.data, blocks, i)], form: elementForm, source: t.source, line: line}
		v, notes, err := e.parseNoting()
		if err != nil {
			r.fail(err)
			continue
		}
		if len(notes) > 0 {
			r.note(e.oldWordsNote(notes))
		}
		r.value(e, v, inherited)
	}
}

func firstLine(data []byte) []byte { return bytes.TrimRight(data[:lineEnd(data, 0)], "\r\n") }

// valueList adds the elements of a list that was parsed as a whole. It stores them as JSON.
func (r *reader) valueList(t text, list, items raw.Value) {
	inherited := inheritance(identify(list))
	for i := range items.Len() {
		data, err := json.Marshal(raw.Reveal(items.At(i)))
		if err != nil {
			r.fail(t.errorAt(place{}, "the list cannot be split; write its objects as separate documents"))
			return
		}
		r.value(text{data: data, form: jsonForm, source: t.source, line: t.line, column: t.column}, items.At(i), inherited)
	}
}

// jsonDocuments reads consecutive JSON values. It returns false if the text
// is no JSON, and so may be YAML in brackets.
func (r *reader) jsonDocuments(t text) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(t.data))
	var found []text
	parts := parts{whole: t, column: max(t.column, 1)}
	for {
		value, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if quotedKey(t.data) {
				r.fail(t.jsonError(dec, err))
				return true
			}
			return false
		}
		found = append(found, parts.next(int(dec.InputOffset())-len(value), int(dec.InputOffset())))
	}
	for _, d := range found {
		r.jsonDocument(d)
	}
	return true
}

// quotedKey reports whether a text in brackets is meant to be JSON: its first key is in quotes.
func quotedKey(data []byte) bool {
	inside := bytes.TrimLeft(data[1:], " \t\r\n")
	return len(inside) > 0 && inside[0] == '"'
}

// parts cuts values out of a text from start to end and tracks their places.
type parts struct {
	whole text
	// line and column are those of offset; line counts from 0 in the text, column from 1.
	offset, line, column int
}

// next returns the text between two offsets, which must not be before those of the previous call.
func (p *parts) next(start, end int) text {
	between := p.whole.data[p.offset:start]
	if i := bytes.LastIndexByte(between, '\n'); i >= 0 {
		p.line += bytes.Count(between, []byte{'\n'})
		p.column = 1
		between = between[i+1:]
	}
	p.column += utf8.RuneCount(between)
	p.offset = start
	return text{data: p.whole.data[start:end], form: jsonForm, source: p.whole.source, line: p.whole.line + p.line,
		column: p.column}
}

// jsonDocument reads one JSON value: an object, or a list of objects.
func (r *reader) jsonDocument(t text) {
	v, err := t.parseJSON()
	if err != nil {
		r.fail(err)
		return
	}
	if v.IsNull() {
		return
	}
	items, ok := v.Get("items")
	switch {
	case !ok:
		r.value(t, v, identity{})
	case r.holdsItems(t, v, items) && items.IsList():
		for i, e := range t.jsonItems() {
			r.value(e, items.At(i), inheritance(identify(v)))
		}
	}
}

// jsonItems returns the texts of the elements of items, which are known to be valid.
func (t text) jsonItems() []text {
	dec := jsontext.NewDecoder(bytes.NewBuffer(t.data))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var out []text
	parts := parts{whole: t, column: max(t.column, 1)}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		if key.String() != "items" {
			if err := dec.SkipValue(); err != nil {
				return nil
			}
			continue
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil
		}
		for dec.PeekKind() != ']' {
			value, err := dec.ReadValue()
			if err != nil {
				return nil
			}
			out = append(out, parts.next(int(dec.InputOffset())-len(value), int(dec.InputOffset())))
		}
		return out
	}
	return out
}
