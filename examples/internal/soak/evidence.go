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

// deed is one creation or destruction of a resource that really happened, as the witness recorded
// it.
type deed struct {
	Tag, Action, Install, Component, Step string
	// Resource is its id in Terraform.
	Resource string
	// Planned is the time of the plan; with the component, it identifies the plan.
	Planned string
	// Terraform identifies the process, by pid and start time.
	Terraform string
	// Job and Attempt identify the attempt of that process. A witness cannot determine them if its
	// job process has just been killed; then they come from other deeds of the same Terraform
	// process, and are empty if there are none.
	Job     string
	Attempt int
	// Began and Ended are in nanoseconds since the epoch; Ended is 0 for a deed that was cut short.
	Began, Ended int64
	// Lines is the number of printed lines, 0 for a deed that was cut short.
	Lines int
}

// attempt returns the attempt as job/attempt.
func (d deed) attempt() string { return fmt.Sprintf("%s/%d", d.Job, d.Attempt) }

// place returns the place as install/component.
func (d deed) place() string { return d.Install + "/" + d.Component }

// deeds returns the records of the witnesses of all machines, in order of their start.
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
			d := deed{Tag: w[1], Action: w[2], Install: w[3], Component: w[4], Step: w[5], Resource: w[6], Planned: w[7],
				Terraform: w[8]}
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

// attribute fills in the attempts that a witness could not determine.
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

// twice returns a sentence for every plan that more than one Terraform process applied, and for
// every component on which two processes worked at once. It ignores attempts that a person gave up
// while they were running.
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
