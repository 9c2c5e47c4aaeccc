package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// secret is a value that must be found only in the files where it belongs.
type secret struct {
	name  string
	forms [][]byte
	// at matches those files, as paths below the work directory.
	at []*regexp.Regexp
}

// newSecret searches for a value as plain text, as hexadecimal, and inside of base64 at any offset.
func newSecret(name, value string, at []*regexp.Regexp) secret {
	s := secret{name: name, at: at, forms: [][]byte{[]byte(value), []byte(hex.EncodeToString([]byte(value)))}}
	for i := range 3 {
		// The inner part of the base64 of a value depends only on its offset modulo three, not on
		// the text around it.
		code := base64.RawStdEncoding.EncodeToString(append(make([]byte, i), value...))
		s.forms = append(s.forms, []byte(code[4:len(code)-4]))
	}
	return s
}

func (s secret) in(text []byte) bool {
	for _, form := range s.forms {
		if bytes.Contains(text, form) {
			return true
		}
	}
	return false
}

func (s secret) belongs(file string) bool {
	for _, pattern := range s.at {
		if pattern.MatchString(file) {
			return true
		}
	}
	return false
}

// plant generates a secret and sets the variable to it: plant NAME [PATTERN…]. It may be in the
// files that match the patterns.
func (s *teller) plant(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[0], "Pl"+strings.ToLower(rand.Text()))
	s.plantedCmd(ts, neg, append([]string{args[0], ts.Getenv(args[0])}, args[1:]...))
}

// plantedCmd declares an existing value as a secret, for example one that the system generated. It
// is like plant: planted NAME VALUE [PATTERN…]. The value `context` is the token of the CLI's
// context.
func (s *teller) plantedCmd(ts *testscript.TestScript, _ bool, args []string) {
	value := args[1]
	if value == "context" {
		value = s.token(ts)
	}
	checkLength(ts, args[0], value)
	var at []*regexp.Regexp
	for _, pattern := range args[2:] {
		at = append(at, regexp.MustCompile(pattern))
	}
	s.planted = append(s.planted, newSecret(args[0], value, at))
}

// checkLength fails for a value that random bytes, such as those of a sealed bundle, may contain in one of its forms.
func checkLength(ts *testscript.TestScript, name, value string) {
	if len(value) < 12 {
		ts.Fatalf("%s is too short to be looked for: %q", name, value)
	}
}

// reversed sets a variable to a reversed text: reversed NAME TEXT.
func reversed(ts *testscript.TestScript, _ bool, args []string) {
	letters := []byte(args[1])
	for i := range len(letters) / 2 {
		letters[i], letters[len(letters)-1-i] = letters[len(letters)-1-i], letters[i]
	}
	ts.Setenv(args[0], string(letters))
}

// absent searches for a secret, or without an argument for all planted ones, in every file below
// the work directory, every row of the database, the system's log and the output of all commands;
// as plain text, as base64, and in compressed data. It fails if it finds one.
func (s *teller) absent(ts *testscript.TestScript, _ bool, args []string) {
	secrets := s.planted
	if len(args) > 0 {
		checkLength(ts, args[0], args[0])
		secrets = []secret{newSecret(args[0], args[0], nil)}
	}
	if len(secrets) == 0 {
		ts.Fatalf("nothing was planted")
	}
	if found := s.look(ts, secrets); len(found) > 0 {
		ts.Fatalf("secrets were found:\n  %s", strings.Join(found, "\n  "))
	}
}

// found checks that the same search finds a text in a place that matches the pattern: found PATTERN
// TEXT. With it, a story shows that the searched data is readable.
func (s *teller) found(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	found := s.look(ts, []secret{newSecret("it", args[1], nil)})
	if !slices.ContainsFunc(found, pattern.MatchString) {
		ts.Fatalf("%q is not where %s says:\n  %s", args[1], args[0], strings.Join(found, "\n  "))
	}
}

// look searches everywhere.
func (s *teller) look(ts *testscript.TestScript, secrets []secret) []string {
	look := &search{secrets: secrets}
	s.mu.Lock()
	look.text("", "the system's log", s.log.Bytes())
	look.text("", "what the commands printed", s.said.Bytes())
	s.mu.Unlock()
	files, err := look.files(ts.Getenv("WORK"))
	ts.Check(err)
	rows, err := look.rows(filepath.Join(ts.Getenv("WORK"), "dev"))
	ts.Check(err)
	fmt.Fprintf(s.loud, "  looked for %d secrets in %d files, %d rows, the log and the screens\n", len(secrets),
		files, rows)
	if rows == 0 || files == 0 {
		ts.Fatalf("nothing was searched: %d files, %d rows", files, rows)
	}
	return look.found
}

// search collects the places of secrets.
type search struct {
	secrets []secret
	found   []string
}

// text searches a text, and compressed data in it. file is its path, if it is a file.
func (s *search) text(file, place string, text []byte) {
	for _, secret := range s.secrets {
		if secret.in(text) && !secret.belongs(file) {
			s.found = append(s.found, secret.name+" is in "+place)
		}
	}
	if plain := unpacked(text); plain != nil {
		s.text(file, place+", unpacked", plain)
	}
}

// maxUnpacked bounds the uncompressed size of one text, in bytes.
const maxUnpacked = 64 << 20

// unpacked returns the content of gzip data, or nil for other data.
func unpacked(text []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(z, maxUnpacked)) // a readable prefix is searched as well
	return plain
}

// files searches every file below dir.
func (s *search) files(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go while the system runs
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // gone since it was listed
		}
		n++
		name, _ := filepath.Rel(dir, path) // both are absolute
		s.text(name, name, b)
		return nil
	})
	return n, err
}

// rows searches every row of every table of the system's database, including binary columns.
func (s *search) rows(dir string) (n int, err error) {
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
	rows, err := c.Query(ctx,
		`select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('public', 'river')`)
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
		for _, line := range lines {
			n++
			s.text("", "a row of "+table, []byte(line))
			for _, code := range bytesInRow.FindAllStringSubmatch(line, -1) {
				if b, err := hex.DecodeString(code[1]); err == nil {
					s.text("", "bytes in a row of "+table, b)
				}
			}
		}
	}
	return n, nil
}

// bytesInRow matches binary columns in a row as Postgres prints it.
var bytesInRow = regexp.MustCompile(`\\x([0-9a-f]{8,})`)
