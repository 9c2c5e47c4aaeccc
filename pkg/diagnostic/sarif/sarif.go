// Package sarif converts diagnostics to the format that code hosts read: the Static Analysis
// Results Interchange Format, version 2.1.0, limited to what is wrong and where.
//
// It defines no rules and reads no file. `nuon validate` calls it.
package sarif

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// Rule is what all results of one rule have in common.
type Rule struct {
	Name    string
	Summary string // a sentence
	Warns   bool   // true if its results are always warnings
}

// Tool is the program that found the results.
type Tool struct {
	Name, Version string
	Rules         []Rule
}

// Text returns the line of the i-th diagnostic, if it is known. It is needed because columns of
// diagnostics count bytes, and those of the format count characters.
type Text func(i int) (line string, ok bool)

// Log is a complete file of the format.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool       tool     `json:"tool"`
	ColumnKind string   `json:"columnKind"`
	Results    []result `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	Rules   []descriptor `json:"rules"`
}

type descriptor struct {
	ID            string        `json:"id"`
	Summary       message       `json:"shortDescription"`
	Configuration configuration `json:"defaultConfiguration"`
}

type configuration struct {
	Level string `json:"level"`
}

type message struct {
	Text string `json:"text"`
}

type result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"` // -1 for a rule that is not in the list
	Level        string            `json:"level"`
	Message      message           `json:"message"`
	Locations    []location        `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type location struct {
	Physical physicalLocation `json:"physicalLocation"`
}

type physicalLocation struct {
	Artifact artifact `json:"artifactLocation"`
	Region   region   `json:"region"`
}

type artifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndColumn   int `json:"endColumn,omitempty"`
}

const (
	schema  = "https://json.schemastore.org/sarif-2.1.0.json"
	version = "2.1.0"
	// root is the variable that hosts resolve to the root of the repository.
	root = "%SRCROOT%"
	// fingerprint is the key of the fingerprints by which results are matched after lines have
	// moved.
	fingerprint = "nuonDiagnostic/v1"
)

// New returns a log. The files of the diagnostics are slash paths below the root of the repository.
// text may be nil.
func New(t Tool, found diagnostic.Diagnostics, text Text) Log {
	d := driver{Name: t.Name, Version: t.Version, Rules: []descriptor{}}
	for _, r := range t.Rules {
		d.Rules = append(d.Rules, descriptor{r.Name, message{r.Summary}, configuration{levelOf(r)}})
	}
	results, seen := []result{}, map[string]int{}
	for i, diag := range found {
		diagRegion := regionOf(diag)
		if text != nil {
			if line, ok := text(i); ok {
				diagRegion = diagRegion.characters(line)
			}
		}
		results = append(results, result{
			RuleID:    diag.Rule,
			RuleIndex: slices.IndexFunc(t.Rules, func(r Rule) bool { return r.Name == diag.Rule }),
			Level:     string(diag.Severity), Message: message{sentence(diag)},
			Locations:    []location{{physicalLocation{artifact{(&url.URL{Path: diag.File}).String(), root}, diagRegion}}},
			Fingerprints: map[string]string{fingerprint: fingerprintOf(diag, seen)},
		})
	}
	return Log{schema, version, []run{{tool{d}, "unicodeCodePoints", results}}}
}

func levelOf(r Rule) string {
	if r.Warns {
		return string(diagnostic.Warning)
	}
	return string(diagnostic.Error)
}

// sentence returns the message with its hint, which is often an instruction to the reader.
func sentence(d diagnostic.Diagnostic) string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + " (" + d.Hint + ")"
}

func regionOf(d diagnostic.Diagnostic) region {
	at := region{StartLine: max(d.Line, 1), StartColumn: max(d.Column, 1)}
	if d.Width > 0 {
		at.EndColumn = at.StartColumn + d.Width
	}
	return at
}

// characters converts a region in bytes of a line to one in characters.
func (r region) characters(line string) region {
	r.StartColumn = characters(line, r.StartColumn)
	if r.EndColumn > 0 {
		r.EndColumn = characters(line, r.EndColumn)
	}
	return r
}

// characters converts a column in bytes to one in characters.
func characters(line string, column int) int {
	if column-1 > len(line) {
		return utf8.RuneCountInString(line) + column - len(line)
	}
	return utf8.RuneCountInString(line[:column-1]) + 1
}

// fingerprintOf returns the fingerprint of a result. It covers the rule, the file, the message, and the
// number of equal results before it, but not the position in the file.
func fingerprintOf(d diagnostic.Diagnostic, seen map[string]int) string {
	same := strings.Join([]string{d.Rule, d.File, d.Message}, "\x00")
	seen[same]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", same, seen[same]))
	return hex.EncodeToString(sum[:16])
}
