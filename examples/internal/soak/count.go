package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// The queries of the count. They return sentences, so that a finding contains the place to check.
const (
	// unfinished finds what has started and has no recorded end.
	unfinished = `
		select format('%s job %s is %s: %s %s', kind, id, status, waits, reason) from jobs where status in ('queued', 'offered', 'running')
		union all
		select format('attempt %s/%s is %s', a.job_id, a.number, a.status) from attempts a where a.status in ('offered', 'running', 'expired') and not exists (
			select from jobs j where j.org_id = a.org_id and j.id = a.job_id and j.status not in ('queued', 'offered', 'running'))
		union all
		select format('workflow %s runs', id) from workflows where status = 'running'
		union all
		select format('build %s is %s', id, status) from builds where status in ('queued', 'running')`
	succeeded = `select count(*)::text from jobs where kind = 'apply' and status = 'succeeded'`
	locks     = `
		select format('%s/%s is locked by %s/%s since %s', i.name, c.name, l.job_id, l.attempt, l.locked_at) from state_locks l
		join install_components c on c.org_id = l.org_id and c.id = l.install_component_id join installs i on i.org_id = c.org_id and i.id = c.install_id`
	// contested finds the state versions that needed a person, each after the attempt that made it.
	contested = `
		select format('%s/%s made %s/%s version %s, serial %s, which is %s: %s', s.job_id, s.attempt, i.name, c.name, s.version, s.serial, s.status, s.reason) from states s
		join install_components c on c.org_id = s.org_id and c.id = s.install_component_id join installs i on i.org_id = c.org_id and i.id = c.install_id
		where s.status in ('contested', 'dismissed')`
	// gaps finds missing serials: within one lineage each version is one more than the one before.
	// Only versions of successful applies count, because Terraform without access to its state
	// increments the serial at each failed write.
	gaps = `
		select format('state of %s/%s: serial %s follows on %s', install, name, serial, before) from (
			select i.name as install, c.name, s.serial, a.status, lag(s.serial) over (partition by s.install_component_id, s.lineage order by s.serial) as before
			from states s join install_components c on c.org_id = s.org_id and c.id = s.install_component_id join installs i on i.org_id = c.org_id and i.id = c.install_id
			join attempts a on a.org_id = s.org_id and a.job_id = s.job_id and a.number = s.attempt) g
		where serial > before + 1 and status = 'succeeded'`
)

// givenUp finds the attempts that ended because a person declared their machine as lost, in the
// audit log.
const givenUp = `
	select lost ->> 'job' || '/' || (lost ->> 'attempt') from audit_events, jsonb_array_elements(case jsonb_typeof(detail -> 'lost') when 'array' then detail -> 'lost' else '[]' end) lost
	where action = 'runner.replace'`

// Recount counts the results of an earlier run in a directory. It starts the fleet of the run
// again, without its runners. It is for a run that settled but ended before its count. The faults
// and decisions of that run are not known any more.
func Recount(ctx context.Context, o Options) (Figures, error) {
	s := &soak{Options: o, began: time.Now(), givenUp: map[string]bool{}}
	var err error
	if s.fleet, err = fleet.Reopen(ctx, fleet.Options{Bin: o.Bin, Dir: o.Dir, Replicas: 2,
		Installers: customers}); err == nil {
		s.returned, err = s.replacedMachines()
	}
	if err == nil {
		var given []string
		given, err = s.query(ctx, givenUp)
		for _, attempt := range given {
			s.givenUp[attempt] = true
		}
	}
	if err == nil {
		err = s.count(ctx)
	}
	return s.figures, errors.Join(err, s.fleet.Stop())
}

// replacedMachines returns the machines that were replaced and whose disks still exist.
func (s *soak) replacedMachines() ([]*fleet.Runner, error) {
	disks, err := filepath.Glob(s.path("runners", "*"))
	var replaced []*fleet.Runner
	for _, dir := range disks {
		if !slices.ContainsFunc(customers, func(c string) bool { return s.fleet.Installers[c].Dir == dir }) {
			replaced = append(replaced, &fleet.Runner{Dir: dir})
		}
	}
	return replaced, err
}

// deploys returns the number of successful applies so far.
func (s *soak) deploys(ctx context.Context) (int, error) {
	rows, err := s.query(ctx, succeeded)
	if err != nil || len(rows) != 1 {
		return 0, err
	}
	return strconv.Atoi(rows[0])
}

// count computes the figures.
func (s *soak) count(ctx context.Context) error {
	all, err := s.deeds()
	if err != nil {
		return err
	}
	f := &s.figures
	f.Deeds, f.Twice, f.Lost = len(all), twice(all, s.givenUp), nil
	if f.Deploys, err = s.deploys(ctx); err != nil {
		return err
	}
	if f.Locks, err = s.query(ctx, locks); err != nil {
		return err
	}
	needed, err := s.query(ctx, contested)
	if err != nil {
		return err
	}
	f.Contested, f.Forced = nil, 0
	for _, version := range needed {
		if attempt, _, _ := strings.Cut(version, " "); s.givenUp[attempt] {
			f.Forced++
		} else {
			f.Contested = append(f.Contested, version)
		}
	}
	for _, look := range []func(context.Context, []deed) ([]string, error){s.lostEnds, s.lostStates, s.lostLines,
		s.lostResults} {
		found, err := look(ctx, all)
		if err != nil {
			return err
		}
		f.Lost = append(f.Lost, found...)
	}
	f.Counted, f.Took = true, time.Since(s.began)
	return nil
}

// lostEnds finds jobs that did something and whose end the control plane has not recorded.
func (s *soak) lostEnds(ctx context.Context, all []deed) ([]string, error) {
	lost, err := s.query(ctx, unfinished)
	if err != nil {
		return nil, err
	}
	known, err := s.query(ctx, `select format('%s/%s', job_id, number) from attempts where status not in ('offered', 'running', 'expired', 'withdrawn')`)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, k := range known {
		seen[k] = true
	}
	for _, d := range all {
		if d.Job != "" && !seen[d.attempt()] {
			seen[d.attempt()] = true
			lost = append(lost, fmt.Sprintf("%s worked on %s, and how it ended is nowhere", d.attempt(), d.place()))
		}
	}
	return lost, nil
}

// lostStates finds missing serials, and resources of successful jobs that are in no state.
func (s *soak) lostStates(ctx context.Context, all []deed) ([]string, error) {
	lost, err := s.query(ctx, gaps)
	if err != nil {
		return nil, err
	}
	states, err := s.openStates(ctx)
	if err != nil {
		return nil, err
	}
	made, unsure := map[string]string{}, map[string]bool{}
	for _, d := range all {
		if s.givenUp[d.attempt()] {
			unsure[d.place()] = true // both machines worked, and a person chose
		}
		switch {
		case d.Action == "create":
			made[d.place()] = d.Resource
		case made[d.place()] == d.Resource:
			made[d.place()] = ""
		}
	}
	for place, resource := range made {
		switch known := strings.Contains(states[place], resource); {
		case unsure[place]:
		case resource != "" && !known:
			lost = append(lost, fmt.Sprintf("%s: %s is there, and the newest state does not know it", place, resource))
		case resource == "" && strings.Contains(states[place], `"terraform_data"`):
			lost = append(lost, fmt.Sprintf("%s: it was destroyed, and the newest state still has it", place))
		}
	}
	return lost, nil
}

// openStates returns the newest state of each component as Terraform wrote it, decrypted with the
// install key on the runner's disk.
func (s *soak) openStates(ctx context.Context) (map[string]string, error) {
	keys := map[string]seal.Identity{}
	for _, c := range customers {
		key, err := seal.LoadIdentity(filepath.Join(s.fleet.Installers[c].Dir, "install.key"))
		if err != nil {
			return nil, err
		}
		keys[key.KeyID()] = key
	}
	rows, err := s.query(ctx, `
		select distinct on (s.install_component_id) json_build_object('at', i.name || '/' || c.name, 'install', i.id, 'component', c.id, 'sealed', s.sealed)::text from states s
		join install_components c on c.org_id = s.org_id and c.id = s.install_component_id join installs i on i.org_id = c.org_id and i.id = c.install_id
		where s.status = 'kept' order by s.install_component_id, s.version desc`)
	if err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, row := range rows {
		var read struct {
			At, Install, Component string
			Sealed                 seal.Sealed
		}
		if err := json.Unmarshal([]byte(row), &read); err != nil {
			return nil, err
		}
		plain, err := keys[read.Sealed.KeyID].Open(read.Sealed,
			seal.Context{Install: read.Install, Kind: seal.KindState, Component: read.Component})
		if err != nil {
			return nil, fmt.Errorf("open the state of %s: %w", read.At, err)
		}
		states[read.At] = string(plain.Reveal())
	}
	return states, nil
}

// witnessLine matches a line in the output of a provisioner. After an interrupt, Terraform repeats
// the printed lines in an error.
var witnessLine = regexp.MustCompile(`\(local-exec\): witness (\d+-\d+) line (\d+)$`)

// lostLines finds lines that a witness printed and that are missing in its job's log.
func (s *soak) lostLines(ctx context.Context, all []deed) ([]string, error) {
	ended, err := s.endings(ctx)
	if err != nil {
		return nil, err
	}
	client, err := apiclient.New(contexts.Context{URL: s.fleet.Control.URL(), Token: s.fleet.Token, Org: fleet.Org})
	if err != nil {
		return nil, err
	}
	seen, read := map[string][]int{}, map[string]bool{}
	for _, d := range all {
		if d.Job == "" || read[d.Job] {
			continue
		}
		read[d.Job] = true
		log, err := apiclient.Decode[api.LogChunkList](client.GetLogs(ctx, d.Job, &api.GetLogsParams{}))
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", d.Job, err)
		}
		for _, chunk := range log.Items {
			for _, line := range chunk.Lines {
				if m := witnessLine.FindStringSubmatch(line.M); m != nil {
					n, _ := strconv.Atoi(m[2]) // the expression matches only digits
					seen[m[1]] = append(seen[m[1]], n)
				}
			}
		}
	}
	return gapsInLogs(all, ended, seen), nil
}

// gapsInLogs compares the lines that the witnesses printed with the line numbers in the logs, by
// tag. The last lines of a killed job may be missing, but the others must be complete, in order and
// unique.
func gapsInLogs(all []deed, ended map[string]string, seen map[string][]int) []string {
	var lost []string
	for _, d := range all {
		got, attempt := seen[d.Tag], d.attempt()
		if d.Job == "" {
			continue // its job was killed
		}
		at := 0
		for at < len(got) && got[at] == at+1 {
			at++
		}
		switch {
		case at < len(got):
			lost = append(lost, fmt.Sprintf("log of %s: line %d of witness %s is where line %d should be", attempt, got[at],
				d.Tag, at+1))
		case ended[attempt] == "succeeded" && at != d.Lines:
			lost = append(lost, fmt.Sprintf("log of %s, which succeeded: %d of the %d lines of witness %s", attempt, at,
				d.Lines, d.Tag))
		}
	}
	return lost
}

// endings returns the status of each attempt that has ended.
func (s *soak) endings(ctx context.Context) (map[string]string, error) {
	rows, err := s.query(ctx, `select format('%s/%s %s', job_id, number, status) from attempts`)
	if err != nil {
		return nil, err
	}
	ended := map[string]string{}
	for _, row := range rows {
		attempt, status, _ := strings.Cut(row, " ")
		ended[attempt] = status
	}
	return ended, nil
}

// lostResults finds results that runners could not deliver, and results that were refused.
func (s *soak) lostResults(context.Context, []deed) ([]string, error) {
	lost, err := s.undelivered()
	if err != nil {
		return nil, err
	}
	refused, err := filepath.Glob(s.path("runners", "*", "undelivered", "*"))
	for _, attempt := range refused {
		lost = append(lost, "refused: "+attempt)
	}
	return lost, err
}
