package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// deed is one thing that really happened: a resource was made or destroyed, as the witness wrote it down.
type deed struct {
	Tag, Action, Install, Component, Step string
	// Resource is its id in Terraform.
	Resource string
	// Planned is when the plan was made that had it done: with the component, that names the plan.
	Planned string
	// Terraform is the process that did it, by number and start.
	Terraform string
	// Job and Attempt are whose process that was. A witness whose job process had just been killed cannot say; then they are those of the
	// other deeds of its Terraform, and empty when that did nothing else.
	Job     string
	Attempt int
	// Began and Ended are nanoseconds of the clock; Ended is 0 for what never came to its end.
	Began, Ended int64
	// Lines is how many it printed, 0 when it never came to its end.
	Lines int
}

// attempt is whose deed it is, as job/attempt.
func (d deed) attempt() string { return fmt.Sprintf("%s/%d", d.Job, d.Attempt) }

// place is where it was done, as install/component.
func (d deed) place() string { return d.Install + "/" + d.Component }

// deeds reads what the witnesses of all machines wrote, in the order in which it began.
func (s *soak) deeds() ([]deed, error) {
	logs, err := filepath.Glob(s.path("homes", "*", "witness.log"))
	if err != nil {
		return nil, err
	}
	var all []deed
	for _, log := range logs {
		found, err := readDeeds(log)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b deed) int { return int(a.Began - b.Began) })
	return all, nil
}

func readDeeds(log string) ([]deed, error) {
	f, err := os.Open(log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	var all []deed
	byTag := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		switch {
		case len(w) == 11 && w[0] == "begin":
			d := deed{Tag: w[1], Action: w[2], Install: w[3], Component: w[4], Step: w[5], Resource: w[6], Planned: w[7], Terraform: w[8]}
			if job, attempt, ok := strings.Cut(w[9], "/"); ok {
				if d.Attempt, err = strconv.Atoi(attempt); err != nil {
					return nil, fmt.Errorf("%s: whose deed is this: %s", log, lines.Text())
				}
				d.Job = job
			}
			if d.Began, err = strconv.ParseInt(w[10], 10, 64); err != nil {
				return nil, fmt.Errorf("%s: when was this: %s", log, lines.Text())
			}
			byTag[d.Tag] = len(all)
			all = append(all, d)
		case len(w) == 4 && w[0] == "end":
			i, known := byTag[w[1]]
			if !known {
				return nil, fmt.Errorf("%s: an end without a beginning: %s", log, lines.Text())
			}
			if all[i].Lines, err = strconv.Atoi(w[2]); err != nil {
				return nil, fmt.Errorf("%s: %s", log, lines.Text())
			}
			if all[i].Ended, err = strconv.ParseInt(w[3], 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %s", log, lines.Text())
			}
		default:
			return nil, fmt.Errorf("%s: a record that is torn: %q", log, lines.Text())
		}
	}
	return attribute(all), lines.Err()
}

// attribute names the attempt of those deeds whose witness could not.
func attribute(all []deed) []deed {
	by := map[string]deed{}
	for _, d := range all {
		if d.Job != "" {
			by[d.Terraform] = d
		}
	}
	for i := range all {
		if all[i].Job == "" {
			all[i].Job, all[i].Attempt = by[all[i].Terraform].Job, by[all[i].Terraform].Attempt
		}
	}
	return all
}

// twice gives a sentence for every plan that more than one Terraform applied, and for everything that two did at once, but for the
// attempts that a person had given up while they were at work.
func twice(all []deed, givenUp map[string]bool) []string {
	by, last := map[string]map[string]string{}, map[string]deed{}
	var found []string
	for _, d := range all {
		plan := d.place() + ": the plan of " + d.Planned
		if by[plan] == nil {
			by[plan] = map[string]string{}
		}
		by[plan][d.Terraform] = d.attempt()
		if givenUp[d.attempt()] {
			continue
		}
		if before, ok := last[d.place()]; ok && before.Terraform != d.Terraform && before.Ended > d.Began {
			found = append(found, fmt.Sprintf("%s: %s and %s worked on it at once", d.place(), before.attempt(), d.attempt()))
		}
		if d.Ended > last[d.place()].Ended {
			last[d.place()] = d
		}
	}
	for plan, by := range by {
		if len(by) > 1 {
			found = append(found, fmt.Sprintf("%s was applied by %d processes: %v", plan, len(by), by))
		}
	}
	slices.Sort(found)
	return found
}
