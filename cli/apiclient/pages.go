package apiclient

import (
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// maxPages is the maximum number of pages of a list, of up to 500 items each.
const maxPages = 10_000

// Pages checks the cursors of a list, so that a walk over its pages ends. Its zero value is for a new walk.
type Pages struct{ seen map[string]bool }

// Next records the cursor of the next page. It returns an error if the walk had this cursor before, or has too many
// pages.
func (p *Pages) Next(cursor string) error {
	switch {
	case p.seen[cursor]:
		return ErrRepeatedPage
	case p.seen == nil:
		p.seen = map[string]bool{}
	case len(p.seen) >= maxPages-1:
		return exitcode.With(exitcode.Unreachable, fmt.Errorf("the control plane returned a list of more than %d pages; "+
			"check its address with `nuon context list`", maxPages))
	}
	p.seen[cursor] = true
	return nil
}

// ErrRepeatedPage is the error for a list whose pages would never end.
var ErrRepeatedPage = exitcode.With(exitcode.Unreachable,
	errors.New("the control plane returned the same page of a list twice; check its address with `nuon context "+
		"list`"))

// ListAll reads all pages of a list.
func ListAll[T any](page func(cursor string) (items []T, next string, err error)) ([]T, error) {
	all, cursor := []T{}, ""
	var pages Pages
	for {
		items, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		if err := pages.Next(next); err != nil {
			return nil, err
		}
		cursor = next
	}
}
