package ignore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/diff"
)

// The bounds of a file.
const (
	maxBytes    = 256 << 10
	maxRules    = 1000
	maxPointers = 1000
	maxName     = 64
	// maxWrong bounds how many wrong rules one error lists.
	maxWrong = 20
)

// Rules holds the rules of one file. The zero value has none. It may be applied to several reports,
// one after the other.
type Rules struct{ all []rule }

// written is the decoded form of a file.
type written struct {
	Ignore []writtenRule `toml:"ignore"`
}

// writtenRule is the decoded form of a rule. An omitted selector selects everything.
type writtenRule struct {
	Name      string   `toml:"name"`
	Kind      string   `toml:"kind"`
	Group     string   `toml:"group"`
	Namespace string   `toml:"namespace"`
	Object    string   `toml:"object"`
	Address   string   `toml:"address"`
	Pointers  []string `toml:"pointers"`
	Reason    string   `toml:"reason"`
}

// Parse parses the rules of one file. name is the file's name in errors. The error has one line for
// each problem, in the form name:line:column: PROBLEM; REMEDY.
func Parse(name string, content []byte) (*Rules, error) {
	if len(content) > maxBytes {
		return nil, fmt.Errorf("%s: it is larger than %d bytes; divide it into several files", name, maxBytes)
	}
	var file written
	if err := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, decodeError(name, err)
	}
	if len(file.Ignore) > maxRules {
		return nil, fmt.Errorf("%s: it has more than %d rules; divide it into several files", name, maxRules)
	}
	rules, seen := &Rules{}, map[string]bool{}
	var wrong []error
	for i, w := range file.Ignore {
		made, err := w.rule(seen)
		if err != nil {
			if wrong = append(wrong, fmt.Errorf("%s:%s: %w", name, positionOf(content, i), err)); len(wrong) == maxWrong {
				break
			}
			continue
		}
		rules.all = append(rules.all, made)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return rules, nil
}

// decodeError converts a decoder's error to lines with positions.
func decodeError(name string, err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var lines []error
		for _, missing := range unknown.Errors {
			row, column := missing.Position()
			lines = append(lines, fmt.Errorf("%s:%d:%d: there is no %s; a file has [[ignore]] rules with name, kind, group, "+
				"namespace, object, address, pointers and reason",
				name, row, column, diff.EscapeText(strings.Join(missing.Key(), "."))))
		}
		return errors.Join(lines...)
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, column := wrong.Position()
		return fmt.Errorf("%s:%d:%d: %s", name, row, column, diff.EscapeText(strings.TrimPrefix(wrong.Error(), "toml: ")))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// rule validates one rule and compiles it. seen holds the names of the rules before it.
func (w writtenRule) rule(seen map[string]bool) (rule, error) {
	switch {
	case w.Name == "":
		return rule{}, errors.New("the rule has no name; add one: hidden differences are counted by name")
	case len(w.Name) > maxName || strings.TrimSpace(w.Name) != w.Name || diff.EscapeText(w.Name) != w.Name:
		return rule{}, fmt.Errorf(
			"the rule's name must be at most %d characters that print, with no blank at either end", maxName)
	case seen[w.Name]:
		return rule{}, fmt.Errorf("rule %q occurs twice; use different names", w.Name)
	case len(w.Pointers) == 0:
		return rule{}, fmt.Errorf(
			`rule %q has no pointers; name fields, as in pointers = ["/spec/replicas"], or [""] for all of them`, w.Name)
	case len(w.Pointers) > maxPointers:
		return rule{}, fmt.Errorf("rule %q has more than %d pointers; divide it", w.Name, maxPointers)
	}
	seen[w.Name] = true
	r := rule{name: w.Name, kind: w.Kind, group: w.Group, namespace: w.Namespace, object: w.Object, address: w.Address}
	for _, p := range w.Pointers {
		made, err := newPattern(p)
		if err != nil {
			return rule{}, fmt.Errorf("rule %q: %w", w.Name, err)
		}
		r.fields = append(r.fields, made)
	}
	return r, nil
}
