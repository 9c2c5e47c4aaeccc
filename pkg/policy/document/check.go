package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// The clouds whose documents are supported.
const (
	AWS   = "aws"
	GCP   = "gcp"
	Azure = "azure"
)

// IsEmpty reports whether a text means that there is no document: a boundary of "" or {} is none.
func IsEmpty(text string) bool {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	return text == "" || len(text) < 100 && strings.Join(strings.Fields(text), "") == "{}"
}

// Check returns all problems of a document that can be found without access to a cloud. It
// determines the kind of document from its keys. name becomes the File of the diagnostics; the
// result is nil if the document can be used. A text for which IsEmpty is true has no problems.
func Check(name, text string) []diagnostic.Diagnostic { return CheckFor(name, text, "") }

// CheckFor is Check for a document of the given cloud, or "" if the cloud is unknown.
func CheckFor(name, text, cloud string) []diagnostic.Diagnostic {
	t, ok := source.New(name, text)
	if !ok {
		return t.Diagnostics()
	}
	if !IsEmpty(text) {
		if masked, ok := withoutTemplates(t); ok {
			if document, ok := parse(t, masked); ok {
				c := checker{t}
				c.checkDuplicates(&document)
				c.check(&document, cloud)
			}
		}
	}
	return t.Diagnostics()
}

// withoutTemplates replaces template expressions by placeholders of the same length: by words
// inside of strings, and by strings elsewhere. If a template block is outside of a string, the
// document cannot be checked before it is rendered, and ok is false.
func withoutTemplates(t *source.Text) (string, bool) {
	if !strings.Contains(t.Bytes, "{{") {
		return t.Bytes, true
	}
	expressions, ok := t.Expressions()
	if !ok {
		return "", false
	}
	masked := []byte(t.Bytes)
	inside, at := false, 0
	for _, e := range expressions {
		inside = endsInString(t.Bytes[at:e.Offset], inside)
		at = e.End
		placeholder := strings.Repeat(" ", e.End-e.Offset)
		switch {
		case inside && e.Comment():
			placeholder = strings.Repeat("_", e.End-e.Offset)
		case inside:
			placeholder = source.Placeholder(e.End - e.Offset)
		case e.Control():
			return "", false
		case !e.Comment():
			placeholder = `"` + source.Placeholder(e.End-e.Offset-2) + `"`
		}
		copy(masked[e.Offset:e.End], placeholder)
	}
	return string(masked), true
}

// endsInString reports whether the end of a piece of JSON is inside of a string.
func endsInString(piece string, inside bool) bool {
	for at := 0; at < len(piece); at++ {
		switch {
		case piece[at] == '"':
			inside = !inside
		case piece[at] == '\\' && inside:
			at++
		}
	}
	return inside
}

// checker reports the problems of a document.
type checker struct{ *source.Text }

func (c checker) reportValue(v *value, rule, message, hint string) {
	c.Error(v.offset, c.width(v.offset, v.end), rule, message, hint)
}

func (c checker) reportName(m *member, rule, message, hint string) {
	c.Error(m.offset, c.width(m.offset, m.end), rule, message, hint)
}

// width returns the length of the part of the range that is on its first line.
func (c checker) width(offset, end int) int {
	if first := strings.IndexByte(c.Bytes[offset:end], '\n'); first >= 0 {
		return first
	}
	return end - offset
}

// checkDuplicates reports names that occur twice in one object, at any depth.
func (c checker) checkDuplicates(v *value) {
	seen := map[string]bool{}
	for i := range v.members {
		m := &v.members[i]
		if seen[m.name] && !source.HasPlaceholder(m.name) {
			c.reportName(m, "json-duplicate", "the key "+source.Quote(m.name)+" is here twice",
				"remove one, or make one list of both")
		}
		seen[m.name] = true
		c.checkDuplicates(&m.value)
	}
	for i := range v.items {
		c.checkDuplicates(&v.items[i])
	}
}

func (c checker) check(document *value, cloud string) {
	if document.hasPlaceholder() {
		return // the whole document comes from an expression
	}
	if document.kind != '{' {
		c.reportValue(document, "iam-shape", "a document is an object, and this is "+kindOf(document), "write it as { … }")
		return
	}
	if cloud == "" {
		cloud = cloudOf(document)
	}
	switch cloud {
	case GCP:
		c.requireLists(document, "includedPermissions", "bindings", "excludedPermissions")
	case Azure:
		for i := range document.members {
			if m := &document.members[i]; slices.Contains([]string{"actions", "notactions", "dataactions",
				"notdataactions", "assignablescopes", "permissions"}, strings.ToLower(m.name)) {
				c.requireLists(document, m.name)
			}
		}
	default:
		c.checkAWS(document)
	}
}

// cloudOf determines a document's cloud by the keys that only documents of that cloud have.
func cloudOf(document *value) string {
	for _, m := range document.members {
		switch {
		case slices.Contains([]string{"includedPermissions", "bindings"}, m.name):
			return GCP
		case slices.Contains([]string{"assignableScopes", "actions", "dataactions", "rolename", "permissions"},
			strings.ToLower(m.name)):
			return Azure
		}
	}
	return AWS
}

// requireLists requires lists under these names.
func (c checker) requireLists(document *value, names ...string) {
	for _, name := range names {
		if v := document.get(name); v != nil && v.kind != '[' && !v.hasPlaceholder() {
			c.reportValue(v, "iam-shape", fmt.Sprintf("%s must be a list, and is %s", name, kindOf(v)), "write it as [ … ]")
		}
	}
}

func kindOf(v *value) string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}
