package apiclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// codeNoRoute is the problem code of a request that is for another listener or another version.
const codeNoRoute = "no_route"

// noRouteError is the error for a request that the control plane has no route for.
type noRouteError struct{ error }

// IsNoRoute reports whether err is the response of a control plane that has no such route, for example because it is
// older than this program.
func IsNoRoute(err error) bool {
	var n noRouteError
	return errors.As(err, &n)
}

// codeUnpushed is the problem code of a sync of a commit that the repository does not contain.
const codeUnpushed = "unpushed"

// Problem is an error response of the control plane.
type Problem struct{ api.Problem }

// Error returns the problem, its diagnostics and details.
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
		b.WriteString(`
  Request ID in its log: ` + p.Request + ".")
	}
	return b.String()
}

// Diagnosis formats a diagnostic as "file:line:column: severity: message (hint)". It omits
// the position of a diagnostic that has none.
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

// Unwrap returns the exit code of the problem.
func (p *Problem) Unwrap() error {
	switch {
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status == http.StatusUpgradeRequired:
		return &exitcode.Error{Code: exitcode.Unreachable}
	case p.Status == http.StatusBadRequest, p.Status == http.StatusUnprocessableEntity, p.Code == codeUnpushed:
		return &exitcode.Error{Code: exitcode.Usage}
	}
	return &exitcode.Error{Code: exitcode.Failed}
}

// CodeIs reports whether err is a Problem with this code.
func CodeIs(err error, code string) bool {
	var p *Problem
	return errors.As(err, &p) && p.Code == code
}
