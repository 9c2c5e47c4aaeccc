package risk

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file judges manifests in texts: in a ConfigMap or a Secret that something applies (a
// ClusterResourceSet), or in the template of a workflow. They are probably applied, but not
// certainly, so only findings about security are reported.

// textObject is a Kubernetes object in a text.
type textObject struct {
	value raw.Value
	// at is the path of the text.
	at tree.Path
}

// Bounds of the search in texts: the number of documents in one text, and the bytes of one text.
const (
	maxDocuments = 200
	maxManifests = 256 << 10
)

// textObjects returns the objects in the texts of an object, by identity and place. In built-in kinds
// it searches only the fields with free content.
func textObjects(kind string, v raw.Value) map[textID]textObject {
	s := textSearch{secret: kind == "Secret"}
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		data := k == "data" || k == "stringData" || k == "binaryData"
		if _, group, _ := strings.Cut(kind, "."); k != "metadata" && k != "status" && (data || !builtinGroup(group)) {
			s.visit(tree.Path{}.Field(k), child, maxSearch)
		}
	}
	return s.found
}

// textID identifies an object in a text. number distinguishes objects of one text that have the same
// name.
type textID struct {
	objectID
	at     string
	number int
}

type textSearch struct {
	secret bool
	found  map[textID]textObject
}

func (s *textSearch) visit(p tree.Path, v raw.Value, depth int) {
	if depth == 0 {
		return
	}
	for i := range v.Len() {
		step := p.At(i)
		if name := text(get(v.At(i), "name")); name != "" {
			step = p.Selected(name, []string{"name"})
		}
		s.visit(step, v.At(i), depth-1)
	}
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		s.visit(p.Field(k), child, depth-1)
	}
	if t, ok := raw.String(v); ok {
		s.text(p, t)
	}
}

// text reads the documents of a text. In a Secret, and in the binary data of a ConfigMap, the text
// is base64.
func (s *textSearch) text(p tree.Path, t string) {
	if first := p[0].Key; s.secret && first == "data" || first == "binaryData" {
		decoded, err := base64.StdEncoding.DecodeString(t)
		if err != nil {
			return
		}
		t = string(decoded)
	}
	if len(t) > maxManifests || !strings.Contains(t, "apiVersion") || !strings.Contains(t, "kind") {
		return
	}
	for i, document := range documentsOf(t) {
		if i == maxDocuments {
			return
		}
		doc, ok := readDocument(raw.Of(document))
		if !ok {
			continue
		}
		for id, object := range nested(raw.Of(map[string]any{"document": doc})) {
			s.add(textID{objectID: id, at: p.Pointer(tree.Step.Plain)}, textObject{object, p})
		}
	}
}

func (s *textSearch) add(id textID, held textObject) {
	for {
		if _, taken := s.found[id]; !taken {
			break
		}
		id.number++
	}
	if s.found == nil {
		s.found = map[textID]textObject{}
	}
	s.found[id] = held
}

// documentsOf splits a YAML stream into its documents.
func documentsOf(text string) []string {
	if !strings.Contains(text, "\n---") && !strings.HasPrefix(text, "---") {
		return []string{text}
	}
	var out []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest, starts := strings.CutPrefix(line, "---")
		if starts && strings.TrimSpace(rest) == "" || starts && strings.ContainsAny(rest[:1], " \t") {
			out = append(out, b.String())
			b.Reset()
			continue
		}
		b.WriteString(line)
	}
	return append(out, b.String())
}

// judgeTexts judges the objects in the texts of the subject, and returns the findings that found
// does not have yet.
func (j *judge) judgeTexts(found []diff.Finding) []diff.Finding {
	s := j.subject
	searched := !builtinGroup(s.Group) || j.kind == "ConfigMap" || j.kind == "Secret"
	if s.Engine != diff.KindKubernetes || !searched || len(j.fields) == 0 || s.depth == maxHolders {
		return nil
	}
	was, is := textObjects(j.kind, s.Before), textObjects(j.kind, s.After)
	if len(was)+len(is) == 0 {
		return nil
	}
	said := map[string]bool{}
	for _, f := range found {
		said[f.Rule] = true
	}
	var out []diff.Finding
	for _, id := range sortedTexts(was, is) {
		at := is[id].at
		if at == nil {
			at = was[id].at
		}
		for _, f := range judgeManifest(was[id].value, is[id].value, nil, tree.Step.Plain, s.depth+1) {
			if f.Security && !said[f.Rule] {
				said[f.Rule] = true
				f.Path, f.Risk = j.pathAt(at), min(f.Risk, diff.RiskInPlace)
				f.Message = "in a manifest that this text holds: " + f.Message
				out = append(out, f)
			}
		}
	}
	return out
}

// pathAt returns the path of the first difference at a place, otherwise the path of the first
// difference.
func (j *judge) pathAt(at tree.Path) string {
	for _, i := range j.fields {
		if j.subject.Differences[i].Path.Overlaps(at) {
			return j.change.Fields[i].Path
		}
	}
	return j.change.Fields[j.fields[0]].Path
}

func sortedTexts(a, b map[textID]textObject) []textID {
	keys := map[string]textID{}
	for _, m := range []map[textID]textObject{a, b} {
		for id := range m {
			keys[strings.Join([]string{id.at, id.group, id.kind, id.namespace, id.name, strconv.Itoa(id.number)}, "\x00")] = id
		}
	}
	out := make([]textID, 0, len(keys))
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, keys[k])
	}
	return out
}
