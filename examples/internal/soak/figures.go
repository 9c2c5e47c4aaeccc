package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Figures holds the result of a run. Each finding is a sentence with the place to check.
type Figures struct {
	Seed uint64
	Took time.Duration
	// Counted reports that the run reached its count.
	Counted bool
	// Deploys counts successful applies; Deeds counts what all applies, also incomplete ones,
	// really did.
	Deploys, Deeds int
	// Faults and Decisions count the injected faults and the actions of people, by kind.
	Faults, Decisions map[string]int
	// Lost lists jobs without a recorded end, and missing state versions, log lines and results.
	Lost []string
	// Twice lists plans that were applied more than once, or concurrently with another one.
	Twice []string
	// Locks lists state locks that nobody holds any more.
	Locks []string
	// Contested lists state versions that two attempts made. Forced counts those of replaced
	// machines.
	Contested []string
	Forced    int
	// Unfinished lists what did not settle.
	Unfinished []string
}

// Good reports whether nothing was lost, nothing was done twice, and everything settled.
func (f Figures) Good() bool {
	return f.Counted && f.Deploys > 0 && len(f.Lost)+len(f.Twice)+len(f.Locks)+len(f.Contested)+len(f.Unfinished) == 0
}

// String returns the summary for the end of a run.
func (f Figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed           %d\ntime           %s\nfaults         %s\ndecisions      %s\n",
		f.Seed, f.Took.Round(time.Second), counted(f.Faults), counted(f.Decisions))
	if !f.Counted {
		b.WriteString("it ended before anything was counted\n")
		return b.String()
	}
	fmt.Fprintf(&b, "deploys        %d (%d resources made or destroyed)\n", f.Deploys, f.Deeds)
	for _, part := range []struct {
		name  string
		found []string
	}{{"lost", f.Lost}, {"applied twice", f.Twice}, {"locks left", f.Locks}, {"contested", f.Contested}} {
		fmt.Fprintf(&b, "%-14s %d", part.name, len(part.found))
		if part.name == "contested" && f.Forced > 0 {
			fmt.Fprintf(&b, " (and %d that were forced)", f.Forced)
		}
		fmt.Fprintln(&b)
		for _, s := range part.found {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	for _, s := range f.Unfinished {
		fmt.Fprintf(&b, "not at rest    %s\n", s)
	}
	return b.String()
}

func counted(by map[string]int) string {
	total := 0
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(by)) {
		total += by[what]
		parts = append(parts, fmt.Sprintf("%s %d", what, by[what]))
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}
