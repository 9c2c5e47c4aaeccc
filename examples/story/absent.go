package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// absent looks for a planted secret in every file below the work directory, every row of the database, the system's log and all
// that the story's commands printed, plain and as base64, and fails where it finds it.
func (s *teller) absent(ts *testscript.TestScript, _ bool, args []string) {
	forms := [][]byte{[]byte(args[0])}
	for i := range 3 {
		// The inner part of the base64 of the secret is the same whatever stands around it, but for its place modulo three.
		code := base64.RawStdEncoding.EncodeToString(append(make([]byte, i), args[0]...))
		forms = append(forms, []byte(code[4:len(code)-4]))
	}
	holds := func(b []byte) bool {
		for _, f := range forms {
			if bytes.Contains(b, f) {
				return true
			}
		}
		return false
	}
	s.mu.Lock()
	if holds(s.log.Bytes()) {
		ts.Logf("the secret is in the system's log")
	}
	bad := holds(s.log.Bytes()) || holds(s.said.Bytes())
	s.mu.Unlock()
	if bad {
		ts.Fatalf("the secret is in the system's log or on the screen")
	}
	files, err := searchFiles(ts.Getenv("WORK"), holds)
	ts.Check(err)
	rows, err := searchRows(filepath.Join(ts.Getenv("WORK"), "dev"), holds)
	ts.Check(err)
	fmt.Fprintf(s.loud, "  looked for %q in %d files, %d rows, the log and the screens: nowhere\n", args[0], files, rows)
	if rows == 0 || files == 0 {
		ts.Fatalf("nothing was searched: %d files, %d rows", files, rows)
	}
}

// searchFiles reads every file below dir but the runner's own secrets of what is in flight.
func searchFiles(dir string, holds func([]byte) bool) (n int, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go while the system runs
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // gone since it was listed
		}
		n++
		if holds(b) {
			return fmt.Errorf("the secret is in %s", path)
		}
		return nil
	})
	return n, err
}

// searchRows reads every row of every table of the system's database.
func searchRows(dir string, holds func([]byte) bool) (n int, err error) {
	dsn, err := database(dir)
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx) //nolint:errcheck // nothing is in flight on it
	rows, err := c.Query(ctx, `select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('public', 'river')`)
	if err != nil {
		return 0, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	for _, table := range tables {
		rows, err := c.Query(ctx, "select t::text from "+table+" t")
		if err != nil {
			return n, err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return n, err
		}
		for _, l := range lines {
			n++
			if holds([]byte(l)) {
				return n, fmt.Errorf("the secret is in a row of %s", table)
			}
		}
	}
	return n, nil
}
