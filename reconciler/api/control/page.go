package control

import (
	"errors"
	"strconv"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Sizes of a page.
const (
	pageDefault = 100
	pageMost    = 500
)

// page returns the number of rows to query for a page: one more than it shows, to detect another
// page.
func page(limit int) int32 {
	if limit <= 0 {
		limit = pageDefault
	}
	return int32(min(limit, pageMost)) + 1
}

// paged cuts rows to the page and returns the cursor of the next page, which is empty on the last
// one.
func paged[T any](rows []T, most int32, cursor func(T) string) ([]T, string) {
	if len(rows) < int(most) {
		return rows, ""
	}
	rows = rows[:most-1]
	return rows, cursor(rows[len(rows)-1])
}

// before returns the cursor of a list in descending order of ids. No id starts with z, so "z" is
// after all of them, in byte order and in the collation of every language that a database may use
// (where signs such as ~ come before letters).
func before(cursor string) string {
	if cursor == "" {
		return "zz"
	}
	return cursor
}

// beforeNumber returns the cursor of a list in descending order of numbers.
func beforeNumber(cursor string) int32 {
	if n, err := strconv.ParseInt(cursor, 10, 32); err == nil {
		return int32(n)
	}
	return 1<<31 - 1
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// each maps rows.
func each[A, B any](rows []A, f func(A) B) []B {
	out := make([]B, 0, len(rows))
	for _, r := range rows {
		out = append(out, f(r))
	}
	return out
}

// idsOf returns the ids that rows refer to, without nil.
func idsOf[A any](rows []A, id func(A) *string) []string {
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		if id := id(r); id != nil {
			out = append(out, *id)
		}
	}
	return out
}

// byID returns rows by their id.
func byID[A any](rows []A, id func(A) string) map[string]A {
	out := make(map[string]A, len(rows))
	for _, r := range rows {
		out[id(r)] = r
	}
	return out
}
