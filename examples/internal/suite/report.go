package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// event is one line of `go test -json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// timed is a test, or a package for the whole run of its binary, with the duration in seconds.
type timed struct {
	name string
	took float64
}

// report prints the events of a run as `go test` prints them without -v, and collects skipped tests.
type report struct {
	mu      sync.Mutex // several runs are read at once
	out     io.Writer
	printed []printed      // of each run
	skipped map[string]int // maps a package, a test and its reason to a count
	ran     int            // tests that were not skipped, without their subtests
	failed  []string       // failed tests, and packages without a failed test
	took    []timed
}

// printed holds, by package, the output of tests that have not ended and, under the empty name, of
// the package. A package can be part of several runs at the same time.
type printed map[string]map[string][]string

func newReport(out io.Writer) *report {
	return &report{out: out, skipped: map[string]int{}}
}

// read processes the events of one run to their end. It prints any other line unchanged.
func (r *report) read(from io.Reader) error {
	lines, open := bufio.NewReader(from), printed{}
	r.mu.Lock()
	r.printed = append(r.printed, open)
	r.mu.Unlock()
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			r.mu.Lock()
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.take(e, open)
			} else {
				_, _ = r.out.Write(line)
			}
			r.mu.Unlock()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}

func (r *report) take(e event, open printed) {
	switch e.Action {
	case "output":
		if open[e.Package] == nil {
			open[e.Package] = map[string][]string{}
		}
		open[e.Package][e.Test] = append(open[e.Package][e.Test], e.Output)
	case "build-output":
		r.print(e.Output)
	case "pass", "fail", "skip":
		if !strings.Contains(e.Test, "/") {
			r.took = append(r.took, timed{named(e), e.Elapsed})
		}
		if e.Test == "" {
			r.packageEnds(e, open)
		} else {
			r.testEnds(e, open)
		}
	}
}

func (r *report) testEnds(e event, open printed) {
	lines := open[e.Package][e.Test]
	delete(open[e.Package], e.Test)
	top, _, below := strings.Cut(e.Test, "/")
	if !below && e.Action != "skip" {
		r.ran++
	}
	switch e.Action {
	case "fail":
		r.failed = append(r.failed, named(e))
		r.print(spoken(lines)...)
	case "skip":
		r.skipped[short(e.Package)+" "+top+": "+reason(lines)]++
	}
}

// packageEnds prints the last line of a package that passed, and all output of one that failed,
// also of tests that never ended.
func (r *report) packageEnds(e event, open printed) {
	of := open[e.Package]
	delete(open, e.Package)
	lines := of[""]
	if e.Action == "fail" {
		if !slices.ContainsFunc(r.failed, func(name string) bool { return strings.HasPrefix(name, named(e)+" ") }) {
			r.failed = append(r.failed, named(e))
		}
		delete(of, "")
		for _, test := range sorted(of) {
			r.print(spoken(of[test])...)
		}
		if len(of) > 0 {
			r.print("tests that did not end: " + strings.Join(sorted(of), ", ") + "\n")
		}
		r.print(lines...)
		return
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "?   ") || strings.HasPrefix(line, "\t") {
			r.print(line)
		}
	}
}

// end prints the slowest packages and tests on request, then what did not run, then what failed.
func (r *report) end(unreached []string, slowest int) {
	for _, open := range r.printed { // go test was killed
		for _, name := range sorted(open) {
			for _, test := range sorted(open[name]) {
				r.print(spoken(open[name][test])...)
			}
		}
	}
	if slowest > 0 {
		fmt.Fprintln(r.out, "\nThe slowest packages and tests, in seconds:")
		slices.SortStableFunc(r.took, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
		for _, one := range r.took[:min(slowest, len(r.took))] {
			fmt.Fprintf(r.out, "%8.1f  %s\n", one.took, one.name)
		}
	}
	fmt.Fprintf(r.out, "\n%d tests ran. Not run:\n", r.ran)
	for _, what := range sorted(r.skipped) {
		times := ""
		if n := r.skipped[what]; n > 1 {
			times = fmt.Sprintf(" (%d times)", n)
		}
		fmt.Fprintf(r.out, "  %s%s\n", what, times)
	}
	for _, what := range unreached {
		fmt.Fprintf(r.out, "  %s\n", what)
	}
	if len(r.failed) > 0 {
		slices.Sort(r.failed)
		fmt.Fprintf(r.out, "Failed:\n  %s\n", strings.Join(r.failed, "\n  "))
	}
}

// named returns the package and the test of an event.
func named(e event) string { return strings.TrimSpace(short(e.Package) + " " + e.Test) }

func (r *report) print(lines ...string) {
	for _, line := range lines {
		_, _ = io.WriteString(r.out, line)
	}
}

// spoken returns the lines without those that only -v prints.
func spoken(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc([]string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "}, func(mark string) bool {
			return strings.HasPrefix(line, mark)
		})
	})
}

// reason returns the message of a skipped test, without the position.
func reason(lines []string) string {
	var said []string
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		if place, rest, found := strings.Cut(text, ": "); found && strings.Contains(place, ".go:") {
			text = rest
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return "no reason is given"
	}
	return strings.Join(said, " ")
}

// short returns the path of a package in this repository.
func short(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, "github.com/nuon-toolkit/nuon"), "/")
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
