package control

import (
	"errors"
	"strings"
)

// namesShown is the maximum number of names in the error of a blocked removal.
const namesShown = 3

// someOf names a few of the objects that block a removal.
func someOf(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:namesShown], ", ") + " and others"
}

// errNothingGone: a removal removed no row, because its query missed what exists.
var errNothingGone = errors.New("nothing was removed")

// fenced turns a removal that changed no row into an error.
func fenced(rows int64, err error) error {
	if err == nil && rows == 0 {
		return errNothingGone
	}
	return err
}
