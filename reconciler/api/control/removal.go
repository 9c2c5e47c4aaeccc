package control

import (
	"errors"
	"strings"
)

// namesShown is how many of those that stand in the way of a removal are named.
const namesShown = 3

// someOf names a few of what stands in the way.
func someOf(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:namesShown], ", ") + " and others"
}

// errNothingGone: a removal that removed nothing did not see what there is.
var errNothingGone = errors.New("nothing was removed")

// fenced takes a removal that changed no row for an error.
func fenced(rows int64, err error) error {
	if err == nil && rows == 0 {
		return errNothingGone
	}
	return err
}
