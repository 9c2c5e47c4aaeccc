package refusal

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Problems collects everything that is wrong with a request, so that one refusal has all of it.
type Problems struct {
	File string // what the problems are about, in place of a file
	list []api.Diagnostic
}

// Addf adds a problem.
func (p *Problems) Addf(format string, args ...any) {
	p.list = append(p.list, api.Diagnostic{File: p.File, Severity: "error", Message: fmt.Sprintf(format, args...)})
}

// Err returns the refusal of a request with these problems, or nil if there are none.
func (p *Problems) Err(code, title string) error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Code: code, Title: title, Diagnostics: p.list}
}
