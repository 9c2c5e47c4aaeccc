package install

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Actions returns what can be done with an install.
func (s *Screen) Actions() []page.Action {
	return []page.Action{
		{Key: screen.Bind("d", "deploy", "d"), Then: "workflow latest:" + s.full(),
			Command:  func(page.Row) ([]string, error) { return []string{"deploy", s.full()}, nil },
			Question: func(page.Row) string { return fmt.Sprintf("Deploy everything that is behind on %s?", s.full()) }},
		{Key: screen.Bind("D", "redeploy the component", "D"), Then: "workflow latest:" + s.full(), Command: s.redeploy,
			Question: func(r page.Row) string {
				return fmt.Sprintf("Plan %s again, although it may be current?", s.componentOf(r))
			}},
		{Key: screen.Bind("u", "roll back to it", "u"), Command: s.rollback, Reason: true,
			Question: func(r page.Row) string {
				return fmt.Sprintf("Roll %s back to release %d and pin it there? Data and Terraform states are not restored.",
					s.full(), s.releaseOf(r))
			}},
		{Key: screen.Bind("w", "why", "w"), Open: func(page.Row) string { return "explain install " + s.full() }},
		{Key: screen.Bind("L", "log", "L"), Open: func(page.Row) string { return "logs latest:" + s.full() }},
	}
}

// componentOf returns the name of the component of a row; "" for another row.
func (s *Screen) componentOf(r page.Row) string {
	n := slices.IndexFunc(s.install.Components, func(c api.InstallComponent) bool { return c.ID == r.ID })
	if n < 0 {
		return ""
	}
	return s.install.Components[n].Name
}

func (s *Screen) redeploy(r page.Row) ([]string, error) {
	name := s.componentOf(r)
	if name == "" {
		return nil, errors.New("select a component to redeploy")
	}
	return []string{"deploy", s.full(), name, "--redeploy"}, nil
}

// releaseOf returns the earlier release that a workflow of the history deployed; 0 for another row.
func (s *Screen) releaseOf(r page.Row) int {
	n := slices.IndexFunc(s.workflows, func(w api.Workflow) bool { return w.ID == r.ID })
	if n < 0 || !s.earlier(s.workflows[n]) {
		return 0
	}
	return s.workflows[n].Release
}

// earlier reports whether a workflow deployed an earlier release than the one of the install.
func (s *Screen) earlier(w api.Workflow) bool {
	return w.Release > 0 && w.Release < cmp.Or(s.install.Release, s.install.Target) &&
		w.Status == api.WorkflowStatusSucceeded
}

func (s *Screen) rollback(r page.Row) ([]string, error) {
	release := s.releaseOf(r)
	if release == 0 {
		return nil, errors.New("select a workflow of the history that deployed an earlier release")
	}
	return []string{"installs", "rollback", s.full(), "--to", strconv.Itoa(release)}, nil
}

// Actions returns what can be done with one install, or with those that are marked.
func (l *List) Actions() []page.Action {
	return []page.Action{
		{Key: screen.Bind("d", "deploy", "d"),
			Command:  func(r page.Row) ([]string, error) { return command("deploy", r) },
			Question: func(r page.Row) string { return fmt.Sprintf("Deploy everything that is behind on %s?", nameOf(r)) },
			Several: func(rows []page.Row) string {
				return fmt.Sprintf("Deploy everything that is behind on %s: %s?",
					diff.Plural(len(rows), "install", "installs"), someNames(rows))
			}},
		{Key: screen.Bind("a", "review its plans", "a"), OpenAll: func(rows []page.Row) string {
			words := []string{"review"}
			for _, r := range rows {
				words = append(words, nameOf(r))
			}
			return strings.Join(words, " ")
		}},
		{Key: screen.Bind("w", "why", "w"), Open: func(r page.Row) string { return "explain install " + nameOf(r) }},
	}
}

// nameOf returns the name of the install of a row, with its app.
func nameOf(r page.Row) string { return strings.TrimPrefix(r.Open, "install ") }

// command returns a command for the install of a row.
func command(name string, r page.Row) ([]string, error) {
	if r.ID == "" {
		return nil, errors.New("there is no install here")
	}
	return []string{name, nameOf(r)}, nil
}

// maxNamed is the maximum number of installs that a question names.
const maxNamed = 8

// someNames names installs, and the number of those that are left out.
func someNames(rows []page.Row) string {
	var names []string
	for _, r := range rows[:min(len(rows), maxNamed)] {
		names = append(names, nameOf(r))
	}
	text := strings.Join(names, ", ")
	if more := len(rows) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
