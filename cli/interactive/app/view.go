package app

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/apps"
	"github.com/nuon-toolkit/nuon/cli/builds"
	"github.com/nuon-toolkit/nuon/cli/components"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/releases"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// retry returns the command that retries the build of a row.
func (s *Screen) retry(r page.Row) ([]string, error) {
	failed := slices.ContainsFunc(s.builds, func(b api.Build) bool {
		return b.ID == r.ID && b.Status == api.BuildStatusFailed
	})
	if !failed {
		return nil, errors.New("only a failed build can be retried")
	}
	return []string{"builds", "retry", r.ID}, nil
}

// Page returns everything about the app.
func (s *Screen) Page(time.Time) page.Page {
	a := s.app
	p := page.Page{Title: s.name, Command: console.CommandLine("nuon", "apps", "get", s.name)}
	if a.ID == "" {
		return p
	}
	add := func(label, text string, ink page.Ink) {
		if text != "" {
			p.Facts = append(p.Facts, page.Fact{Label: label, Text: text, Ink: ink})
		}
	}
	if a.Repository != "" {
		add("repository", fmt.Sprintf("%s, %s, directory %s", a.Repository, a.Ref, a.Directory), page.Plain)
	} else {
		add("source", "uploaded by nuon sync", page.Plain)
	}
	if a.Revision.ID != "" {
		add("revision", fmt.Sprintf("%.12s %s", a.Revision.Commit, a.Revision.Subject), page.Plain)
		add("", apps.Outcome(a), page.Faint)
	}
	add("problem", apps.Problem(a), page.Bad)
	for _, d := range a.Diagnostics {
		add("", apiclient.Diagnosis(d), page.Bad)
	}
	p.Sections = []page.Section{s.componentRows(), s.releaseRows(), s.buildRows()}
	return p
}

// componentRows returns the components as a tree, each below the dependency that is deployed last.
func (s *Screen) componentRows() page.Section {
	var rows page.List
	for _, c := range components.Tree(s.components) {
		text, ink := builds.Reason(c.Build), page.Faint
		if c.Problem != "" {
			text, ink = c.Problem, page.Bad
		}
		r := page.Row{ID: c.ID, Copy: c.ID, Detail: []string{text},
			Command: console.CommandLine("nuon", "builds", "list", "--app", s.name, "--component", c.Name),
			Cells: []page.Text{page.T(c.Prefix + c.Name), page.T(c.Kind), page.T(strings.Join(c.DependsOn, ", ")),
				page.Status(string(c.Build.Status)), {Text: text, Ink: ink}}}
		if c.Build.Job != "" {
			r.Open = "logs " + c.Build.ID
		}
		rows = append(rows, r)
	}
	return page.Section{Title: "components", Rows: rows,
		Columns: page.Columns("NAME", "KIND", "DEPENDS ON", "BUILD", "REASON?"),
		Empty:   fmt.Sprintf("No components yet: run `nuon sync --app %s`.", s.name)}
}

// releaseRows returns the newest releases with the reason of each.
func (s *Screen) releaseRows() page.Section {
	var rows page.List
	for _, r := range s.releases {
		detail := []string{r.Cause}
		if r.Reason != "" {
			detail = append(detail, r.Reason)
		}
		for _, c := range r.Commits {
			detail = append(detail, strings.TrimSpace(fmt.Sprintf("%s %s %s", console.Short(c.Commit+c.Upload), c.Subject,
				c.Repository)))
		}
		rows = append(rows, page.Row{ID: r.ID, Copy: r.ID, Detail: detail, Open: "explain app " + s.name,
			Command: console.CommandLine("nuon", "releases", "get", s.name, strconv.Itoa(r.Number)),
			Cells: []page.Text{page.T(console.Release(r.Number, r.Commit)), page.Status(releases.Status(r)),
				page.Age(r.CreatedAt), {Text: r.Cause, Ink: page.Faint}}})
	}
	return page.Section{Title: "releases", Rows: rows, Columns: page.Columns("RELEASE", "STATUS", "AGE", "REASON?"),
		Empty: fmt.Sprintf("No release yet: run `nuon sync --app %s`.", s.name)}
}

// buildRows returns the newest builds with the reason of each.
func (s *Screen) buildRows() page.Section {
	var rows page.List
	for _, b := range s.builds {
		r := page.Row{ID: b.ID, Copy: b.ID, Command: console.CommandLine("nuon", "builds", "get", b.ID),
			Detail: []string{builds.Reason(b)},
			Cells: []page.Text{page.T(b.Component), page.T(fmt.Sprint(b.Number)), page.Status(string(b.Status)),
				page.Age(b.CreatedAt), page.T(console.Short(b.ArtifactDigest)), {Text: builds.Reason(b), Ink: page.Faint}}}
		if b.Job != "" {
			r.Open = "logs " + b.ID
		}
		rows = append(rows, r)
	}
	return page.Section{Title: "builds", Rows: rows,
		Columns: page.Columns("COMPONENT", "BUILD", "STATUS", "AGE", "ARTIFACT?", "REASON?"), Empty: "No builds yet."}
}
