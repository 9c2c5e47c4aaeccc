package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/state"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// stateRows returns the newest version of each Terraform state, and what a person must decide about.
func (s *Screen) stateRows() page.Section {
	var rows page.List
	for _, c := range s.states {
		version, serial := page.T("-"), page.T("-")
		if v := c.Newest.Version; v > 0 {
			version, serial = page.T(strconv.Itoa(v)), page.T(strconv.FormatInt(c.Newest.Serial, 10))
		}
		contested := page.T(state.Contested(c.Contested))
		if len(c.Contested) > 0 {
			contested.Ink = page.Bad
		}
		rows = append(rows, page.Row{ID: "state " + c.Component, Copy: c.Component,
			Open:    "states " + s.full() + " " + c.Component,
			Command: console.CommandLine("nuon", "state", "show", s.full(), c.Component),
			Cells: []page.Text{page.T(c.Component), version, serial, page.Age(c.Newest.CreatedAt), contested,
				{Text: state.Lock(c.Lock), Ink: page.Faint}}})
	}
	return page.Section{Title: "Terraform states", Rows: rows,
		Columns: page.Columns("COMPONENT", "VERSION", "SERIAL", "AGE", "CONTESTED?", "LOCK?"),
		Empty:   "No states: nothing was applied with Terraform yet."}
}

// newestVersions is the number of versions of a state that the screen shows.
const newestVersions = 100

// States is the screen of the versions of a component's Terraform state.
type States struct {
	install, component string
	versions           []api.StateVersion
}

// NewStates returns the screen for a component of an install.
func NewStates(install, component string) *States {
	return &States{install: install, component: component}
}

// Load fetches the newest versions.
func (s *States) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	l, err := apiclient.Decode[api.StateVersionList](client.ListStateVersions(ctx, s.install, s.component,
		&api.ListStateVersionsParams{Limit: newestVersions}))
	return func() { s.versions = l.Items }, err
}

// Page returns the versions, the newest first. A row opens the workflow that wrote the version.
func (s *States) Page(time.Time) page.Page {
	command := console.CommandLine("nuon", "state", "show", s.install, s.component)
	var rows page.List
	for _, v := range s.versions {
		r := page.Row{ID: versionID(v), Copy: v.Digest, Command: fmt.Sprintf("%s %d", command, v.Version),
			Cells: []page.Text{page.T(strconv.Itoa(v.Version)), page.Status(string(v.Status)),
				page.T(strconv.FormatInt(v.Serial, 10)), page.Age(v.CreatedAt), page.T(v.Workflow),
				{Text: v.Reason, Ink: page.Faint}},
			Detail: []string{fmt.Sprintf("attempt %d of job %s, %d bytes, %s", v.Attempt, v.Job, v.Bytes, v.Digest)}}
		if v.Reason != "" {
			r.Detail = append(r.Detail, v.Reason)
		}
		if v.Workflow != "" {
			r.Open = "workflow " + v.Workflow
		}
		rows = append(rows, r)
	}
	return page.Page{Title: "state of " + s.component + " on " + s.install, Command: command,
		Sections: []page.Section{{Rows: rows,
			Columns: page.Columns("VERSION", "STATUS", "SERIAL", "AGE", "WORKFLOW?", "REASON?"),
			Empty:   "No versions: this component has no Terraform state yet."}}}
}

func versionID(v api.StateVersion) string { return "version " + strconv.Itoa(v.Version) }

// Actions returns what can be done with a version.
func (s *States) Actions() []page.Action {
	return []page.Action{
		{Key: screen.Bind("t", "restore it", "t"), Reason: true, Then: "workflow latest:" + s.install,
			Command: func(r page.Row) ([]string, error) { return s.change("restore", r) },
			Question: func(r page.Row) string {
				return fmt.Sprintf("Plan to make %s the newest version? The plan shows what the state gains and loses, and "+
					"needs an approval.", r.ID)
			}},
		{Key: screen.Bind("x", "dismiss it", "x"), Reason: true,
			Command: func(r page.Row) ([]string, error) { return s.change("dismiss", r) },
			Question: func(r page.Row) string {
				return fmt.Sprintf("Dismiss %s, so that %s continues without it?", r.ID, s.component)
			}},
		{Key: screen.Bind("i", "the install", "i"), Open: func(page.Row) string { return "install " + s.install }},
	}
}

// change returns the command that restores or dismisses the version of a row.
func (s *States) change(verb string, r page.Row) ([]string, error) {
	n := slices.IndexFunc(s.versions, func(v api.StateVersion) bool { return versionID(v) == r.ID })
	switch {
	case n < 0:
		return nil, errors.New("there is no version here")
	case verb == "restore" && n == 0 && s.versions[n].Status == api.Kept:
		return nil, errors.New("this is the newest version")
	case verb == "dismiss" && s.versions[n].Status != api.Contested && s.versions[n].Status != api.Withheld:
		return nil, errors.New("only a contested or withheld version can be dismissed")
	}
	return []string{"state", verb, s.install, s.component, strconv.Itoa(s.versions[n].Version)}, nil
}
