package document_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/document"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

// fields are the valid values of the fields of a statement.
func fields() map[string][]string {
	strs := func(one string) []string { return []string{one, "[" + one + "]", "[" + one + ", " + one + "]"} }
	return map[string][]string{
		"Sid":      {`"A1"`, `""`, `"{{ .nuon.x }}"`},
		"Effect":   {`"Allow"`, `"Deny"`, `"{{ .nuon.x }}"`},
		"Action":   append(strs(`"s3:Get*"`), `"*"`, `{{ toJson .nuon.x }}`, `["{{ .nuon.x }}"]`),
		"Resource": append(strs(`"arn:aws:s3:::a"`), `"*"`, `"${aws:x}"`, `"{{ .nuon.x }}:y"`),
		"Condition": {`{}`, `{"StringEquals": {"a": "b"}}`, `{"forAnyValue:stringLikeIfExists": {"a": ["b", 1, true]}}`,
			`{"Bool": {"a": true}}`, `{"Null": {"a": "false"}}`, `{"{{ .nuon.x }}": {"a": "b"}}`,
			`{"IpAddress": "{{ .nuon.x }}"}`},
	}
}

// invalid are values that AWS rejects, with the rule that reports each.
func invalid() map[string]map[string]string {
	return map[string]map[string]string{
		"Sid":    {`"a b"`: "iam-sid", `"é"`: "iam-sid", `1`: "iam-sid", `["a"]`: "iam-sid", `"a-b"`: "iam-sid"},
		"Effect": {`"allow"`: "iam-effect", `true`: "iam-effect", `["Allow"]`: "iam-effect", `""`: "iam-effect"},
		"Action": {`"s3"`: "iam-action", `"s3:"`: "iam-action", `":a"`: "iam-action", `""`: "iam-action", `[]`: "iam-missing",
			`[1]`: "iam-shape", `{}`: "iam-shape", `null`: "iam-shape", `["s3:a", ["s3:b"]]`: "iam-shape"},
		"Resource": {`"s3"`: "iam-resource", `"ARN:aws:s3:::a"`: "iam-resource", `""`: "iam-resource", `[]`: "iam-missing",
			`true`: "iam-shape", `["*", null]`: "iam-shape"},
		"Condition": {`[]`: "iam-shape", `"a"`: "iam-shape", `{"StringEqual": {"a": "b"}}`: "iam-condition",
			`{"Bool": "a"}`: "iam-shape", `{"Bool": {"a": {}}}`: "iam-shape", `{"Bool": {"a": null}}`: "iam-shape",
			`{"Bool": {"a": [["b"]]}}`: "iam-shape", `{"": {"a": "b"}}`: "iam-condition",
			`{"ForAllValues:": {"a": "b"}}`: "iam-condition", `{"IfExists": {"a": "b"}}`: "iam-condition",
			`{"NullIfExists": {"a": "b"}}`: "iam-condition"},
	}
}

// statement draws the text of a valid statement, with the given fields instead of drawn ones.
func statement(t *rapid.T, given map[string]string) string {
	var members []string
	for _, name := range []string{"Sid", "Effect", "Action", "Resource", "Condition"} {
		value, is := given[name]
		if !is && (name == "Sid" || name == "Condition") && rapid.Bool().Draw(t, "without "+name) {
			continue
		}
		if !is {
			value = rapid.SampledFrom(fields()[name]).Draw(t, name)
		}
		if (name == "Action" || name == "Resource") && rapid.Bool().Draw(t, "all but "+name) {
			name = "Not" + name
		}
		members = append(members, `"`+name+`": `+value)
	}
	return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",\n ") + "}"
}

// TestStatements checks that a statement of valid fields has no problem, and that one invalid field is reported
// regardless of the other fields, once, and at that field.
func TestStatements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		around := rapid.SampledFrom([]string{`{"Statement": %}`, `{"Version": "2012-10-17", "Statement": [%]}`,
			`{"Id": "x", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}, %], "Version": "2008-10-17"}`,
		}).Draw(t, "document")
		text := strings.ReplaceAll(around, "%", statement(t, nil))
		if found := document.CheckFor("p.json", text, document.AWS); len(found) > 0 {
			t.Fatalf("%s\n%s", text, sourcetest.Format(found))
		}
		name := rapid.SampledFrom([]string{"Sid", "Effect", "Action", "Resource", "Condition"}).Draw(t, "field")
		for value, rule := range invalid()[name] {
			text := strings.ReplaceAll(around, "%", statement(t, map[string]string{name: value}))
			found := document.CheckFor("p.json", text, document.AWS)
			if len(found) != 1 || found[0].Rule != rule || found[0].Severity != diagnostic.Error {
				t.Fatalf("%s of %s in\n%s\n%s", name, value, text, sourcetest.Format(found))
			}
			line := strings.Split(text, "\n")[found[0].Line-1]
			if !strings.Contains(line, name+`": `) || found[0].Width < 1 {
				t.Fatalf("%s of %s is reported at another field: %s", name, value, sourcetest.Format(found))
			}
		}
	})
}

// TestMissingAndDoubleFields checks what a statement must have, and must not have at once.
func TestMissingAndDoubleFields(t *testing.T) {
	whole := []string{`"Effect": "Allow"`, `"Action": "*"`, `"Resource": "*"`}
	for i, member := range whole {
		text := `{"Statement": {` + strings.Join(append(append([]string{}, whole[:i]...), whole[i+1:]...), ", ") + "}}"
		found := document.Check("p.json", text)
		if len(found) != 1 || found[0].Rule != "iam-missing" {
			t.Errorf("without %s: %s", member, sourcetest.Format(found))
		}
	}
	for more, rule := range map[string]string{`"NotAction": "*"`: "iam-statement", `"NotResource": "*"`: "iam-statement",
		`"Principal": "*"`: "iam-principal", `"NotPrincipal": {}`: "iam-principal", `"Effect": "Deny"`: "json-duplicate",
		`"Actions": "*"`: "iam-unknown-key", `"{{ .nuon.x }}": 1`: "", `"Comment": ""`: "iam-unknown-key"} {
		text := `{"Statement": {` + strings.Join(append(whole, more), ", ") + "}}"
		found := document.Check("p.json", text)
		if rule == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || found[0].Rule != rule {
			t.Errorf("with %s: %s", more, sourcetest.Format(found))
		}
	}
}

// TestClouds checks that the lists of other clouds are required to be lists, and that nothing else is checked.
func TestClouds(t *testing.T) {
	for text, want := range map[string]bool{
		`{"includedPermissions": ["a.b.c"], "title": 1}`: true, `{"includedPermissions": "a.b.c"}`: false,
		`{"bindings": {}}`: false, `{"bindings": [], "excludedPermissions": true}`: false,
		`{"includedPermissions": "{{ .nuon.x }}"}`: true, `{"includedPermissions": {{ toJson .nuon.x }}}`: true,
		`{"Actions": ["*"], "AssignableScopes": ["/"]}`: true, `{"actions": "*"}`: false,
		`{"roleName": "a", "permissions": {}}`: false, `{"permissions": [], "notDataActions": null}`: false,
		`{"permissions": [{"actions": 1}]}`: true,
	} {
		found := document.Check("p.json", text)
		if got := !diagnostic.Diagnostics(found).HasErrors(); got != want {
			t.Errorf("%s: accepted is %t: %s", text, got, sourcetest.Format(found))
		}
	}
}
