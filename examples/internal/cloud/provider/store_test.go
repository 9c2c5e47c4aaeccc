package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// envWriter makes this test binary write objects into the store that it names.
const envWriter = "CLOUD_TEST_WRITER"

func TestMain(m *testing.M) {
	if directory := os.Getenv(envWriter); directory != "" {
		if err := writeObjects(&store{directory: directory}, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const written = 300

// writeObjects creates objects with the writer's name, removes every second one, and counts.
func writeObjects(s *store, writer string) error {
	for n := range written {
		key := "test/" + writer + strconv.Itoa(n)
		err := s.update(func(t *transaction) error {
			t.next("all")
			return t.put(key, object{"id": writer, "n": asNumber(n)})
		})
		if err == nil && n%2 == 1 {
			err = s.update(func(t *transaction) error {
				t.remove(key)
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestConcurrentProcesses writes from several processes at once: nothing is lost, and the file is
// replaced when most of it no longer counts.
func TestConcurrentProcesses(t *testing.T) {
	directory := t.TempDir()
	var all sync.WaitGroup
	for _, writer := range []string{"a", "b", "c"} {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], writer)
			cmd.Env = append(os.Environ(), envWriter+"="+directory)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", writer, err, out)
			}
		})
	}
	all.Wait()
	s := &store{directory: directory}
	if got, want := len(s.keys(t)), 3*written/2; got != want {
		t.Errorf("there are %d objects, want %d", got, want)
	}
	if got := s.counts["all"]; got != 3*written {
		t.Errorf("%d were counted, want %d", got, 3*written)
	}
}

// TestReplacedFile checks that another process reads a file that was replaced, and that the order of
// the objects stays.
func TestReplacedFile(t *testing.T) {
	directory := t.TempDir()
	a, b := &store{directory: directory}, &store{directory: directory}
	put := func(s *store, key, value string) {
		t.Helper()
		if err := s.update(func(tx *transaction) error { return tx.put(key, object{"value": value}) }); err != nil {
			t.Fatal(err)
		}
	}
	put(a, "test/2", "first")
	put(a, "test/1", "second")
	b.keys(t)
	for n := range 1100 {
		put(a, "test/2", strconv.Itoa(n))
	}
	if a.lines > 1000 {
		t.Errorf("the file has %d lines", a.lines)
	}
	if got := b.keys(t); len(got) != 2 {
		t.Fatalf("the other process has %v", got)
	}
	if o := b.ordered("test"); o[0].key != "test/2" || o[0].attributes()["value"] != "1099" || o[1].key != "test/1" {
		t.Errorf("the order is %s, %s", o[0].key, o[1].key)
	}
}

// TestKilledWriter checks that half a line is removed.
func TestKilledWriter(t *testing.T) {
	s := &store{directory: t.TempDir()}
	content := `{"key":"test/1","object":{"a":1}}` + "\n" + `{"key":"test/2","obj`
	if err := os.WriteFile(filepath.Join(s.directory, storeName), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.keys(t); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
	if err := s.update(func(tx *transaction) error { return tx.put("test/3", object{}) }); err != nil {
		t.Fatal(err)
	}
	if got := (&store{directory: s.directory}).keys(t); len(got) != 2 {
		t.Errorf("there are %v", got)
	}
}

// TestFailedTransaction checks that a transaction with an error changes nothing.
func TestFailedTransaction(t *testing.T) {
	s := &store{directory: t.TempDir()}
	err := s.update(func(tx *transaction) error {
		tx.next("count")
		if err := tx.put("test/1", object{}); err != nil {
			return err
		}
		return os.ErrInvalid
	})
	if err == nil || len(s.keys(t)) != 0 || s.counts["count"] != 0 {
		t.Errorf("%v left %v", err, s.counts)
	}
}
