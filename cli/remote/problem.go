package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// codeNoRoute is what every listener of ours answers to a request that is for another one, or for another version.
const codeNoRoute = "no_route"

// codeUnpushed is what a sync of a commit is told that the repository does not have.
const codeUnpushed = "unpushed"

// Problem is an error that the control plane gave.
type Problem struct{ api.Problem }

// Error says what is wrong and what to do.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Title)
	for _, d := range p.Diagnostics {
		b.WriteString("\n  " + Diagnosis(d))
	}
	if p.Detail != "" {
		b.WriteString("\n  " + p.Detail)
	}
	if p.Status >= http.StatusInternalServerError && p.Request != "" {
		b.WriteString("\n  Its log has it as " + p.Request + ".")
	}
	return b.String()
}

// Diagnosis is a diagnostic as people read it: file:line:column: severity: what is wrong (what would be right). One that belongs
// to no place in a file has none.
func Diagnosis(d api.Diagnostic) string {
	place := ""
	if d.Line > 0 && d.File != "." {
		place = fmt.Sprintf("%s:%d:%d: ", d.File, d.Line, d.Column)
	}
	text := fmt.Sprintf("%s%s: %s", place, d.Severity, d.Message)
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

// Unwrap gives the error its exit code.
func (p *Problem) Unwrap() error {
	switch {
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status == http.StatusUpgradeRequired:
		return &exit.Error{Code: exit.Unreachable}
	case p.Status == http.StatusBadRequest, p.Status == http.StatusUnprocessableEntity, p.Code == codeUnpushed:
		return &exit.Error{Code: exit.Usage}
	}
	return &exit.Error{Code: exit.Failed}
}

// CodeIs says whether an error is the control plane's with this stable code.
func CodeIs(err error, code string) bool {
	var p *Problem
	return errors.As(err, &p) && p.Code == code
}
