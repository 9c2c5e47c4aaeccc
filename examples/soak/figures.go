package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Figures are what a run comes to. Each finding is a sentence that says where to look.
type Figures struct {
	Seed uint64
	Took time.Duration
	// Counted says that the run came so far that it was counted.
	Counted bool
	// Deploys are applies that succeeded; Deeds what they and the ones that were cut short really did.
	Deploys, Deeds int
	// Faults and Decisions count what was broken and what people did, by kind.
	Faults, Decisions map[string]int
	// Lost are jobs without a recorded end, state versions, log lines and results that are nowhere.
	Lost []string
	// Twice are plans that were applied more than once, or at once with another.
	Twice []string
	// Locks are state locks that nobody holds any more.
	Locks []string
	// Contested are state versions that two attempts have made. Those that a replaced machine brought are forced.
	Contested []string
	Forced    int
	// Unfinished is what did not come to rest by itself and the people.
	Unfinished []string
}

// Good tells whether nothing was lost, nothing was done twice, and everything came to rest.
func (f Figures) Good() bool {
	return f.Counted && f.Deploys > 0 && len(f.Lost)+len(f.Twice)+len(f.Locks)+len(f.Contested)+len(f.Unfinished) == 0
}

// String is what is printed at the end.
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
