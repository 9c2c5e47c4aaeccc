package main

import (
	"encoding/json"
	"fmt"
	"slices"
)

// policy is an IAM policy, with its fields in the order in which the aws provider writes them.
type policy struct {
	Version   string            `json:",omitempty"`
	ID        string            `json:"Id,omitempty"`
	Statement []policyStatement `json:",omitempty"`
}

type policyStatement struct {
	Sid          string `json:",omitempty"`
	Effect       string `json:",omitempty"`
	Action       any    `json:",omitempty"`
	NotAction    any    `json:",omitempty"`
	Resource     any    `json:",omitempty"`
	NotResource  any    `json:",omitempty"`
	Principal    any    `json:",omitempty"`
	NotPrincipal any    `json:",omitempty"`
	Condition    any    `json:",omitempty"`
}

// readPolicyDocument writes a policy: the source documents, then the statements of the
// configuration, which replace those with the same Sid, then the override documents likewise.
func readPolicyDocument(f *filler) error {
	made := policy{Version: firstText(asText(f.top["version"]), "2012-10-17"), ID: asText(f.top["policy_id"])}
	sources := append(asTexts(f.top["source_json"]), asTexts(f.top["source_policy_documents"])...)
	if err := made.mergeDocuments("source_policy_documents", sources); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, given := range items(f.top["statement"], "list") {
		s, err := newStatement(given)
		if err != nil {
			return err
		}
		if s.Sid != "" && seen[s.Sid] {
			return fmt.Errorf("duplicate Sid (%s)", s.Sid)
		}
		seen[s.Sid] = true
		made.add(s)
	}
	overrides := append(asTexts(f.top["override_json"]), asTexts(f.top["override_policy_documents"])...)
	if err := made.mergeDocuments("override_policy_documents", overrides); err != nil {
		return err
	}
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	minified, err := json.Marshal(made)
	if err != nil {
		return err
	}
	f.top["json"] = string(text)
	if f.schema.Attributes["minified_json"] != nil {
		f.top["minified_json"] = string(minified)
	}
	return f.setID(hash(string(text))[:10])
}

// add adds a statement, or replaces the one with its Sid.
func (p *policy) add(s policyStatement) {
	if s.Sid != "" {
		has := slices.IndexFunc(p.Statement, func(other policyStatement) bool { return other.Sid == s.Sid })
		if has >= 0 {
			p.Statement[has] = s
			return
		}
	}
	p.Statement = append(p.Statement, s)
}

// mergeDocuments merges policies in JSON. A statement may be a list or a single one.
func (p *policy) mergeDocuments(argument string, documents []string) error {
	for _, document := range documents {
		if document == "" {
			continue
		}
		var parsed struct {
			Version   string
			ID        string `json:"Id"`
			Statement json.RawMessage
		}
		if err := json.Unmarshal([]byte(document), &parsed); err != nil {
			return fmt.Errorf("%s: %w", argument, err)
		}
		p.ID = firstText(parsed.ID, p.ID)
		p.Version = firstText(parsed.Version, p.Version)
		if parsed.Statement == nil {
			continue
		}
		var statements []policyStatement
		if json.Unmarshal(parsed.Statement, &statements) != nil {
			statements = make([]policyStatement, 1)
			if err := json.Unmarshal(parsed.Statement, &statements[0]); err != nil {
				return fmt.Errorf("%s: %w", argument, err)
			}
		}
		for _, s := range statements {
			p.add(s)
		}
	}
	return nil
}

// newStatement converts a statement block.
func newStatement(given object) (policyStatement, error) {
	s := policyStatement{Sid: asText(given["sid"]), Effect: firstText(asText(given["effect"]), "Allow"),
		Action: oneOrMany(given["actions"]), NotAction: oneOrMany(given["not_actions"]),
		Resource: oneOrMany(given["resources"]), NotResource: oneOrMany(given["not_resources"]),
		Principal: principals(given["principals"]), NotPrincipal: principals(given["not_principals"])}
	conditions := map[string]map[string]any{}
	for _, c := range items(given["condition"], "set") {
		test, variable, values := asText(c["test"]), asText(c["variable"]), asTexts(c["values"])
		if conditions[test] == nil {
			conditions[test] = map[string]any{}
		}
		if has, is := conditions[test][variable]; is {
			values = append(manyOf(has), values...)
		}
		conditions[test][variable] = any(values)
		if len(values) == 1 {
			conditions[test][variable] = values[0]
		}
	}
	if len(conditions) > 0 {
		s.Condition = conditions
	}
	if s.Action == nil && s.NotAction == nil {
		return s, fmt.Errorf("statement %q has neither actions nor not_actions", s.Sid)
	}
	return s, nil
}

// oneOrMany returns a single text as it is, and several in the order in which the provider writes
// them: descending.
func oneOrMany(x any) any {
	texts := asTexts(x)
	switch len(texts) {
	case 0:
		return nil
	case 1:
		return texts[0]
	}
	slices.Sort(texts)
	slices.Reverse(texts)
	return texts
}

func manyOf(x any) []string {
	if text, is := x.(string); is {
		return []string{text}
	}
	texts, _ := x.([]string)
	return texts
}

// principals converts principals blocks: by type, and "*" for everybody.
func principals(x any) any {
	byType := map[string]any{}
	for _, p := range items(x, "set") {
		typ, identifiers := asText(p["type"]), asTexts(p["identifiers"])
		if typ == "*" && slices.Equal(identifiers, []string{"*"}) {
			return "*"
		}
		all := []any{}
		for _, identifier := range append(manyOf(byType[typ]), identifiers...) {
			all = append(all, identifier)
		}
		byType[typ] = oneOrMany(all)
	}
	if len(byType) == 0 {
		return nil
	}
	return byType
}
