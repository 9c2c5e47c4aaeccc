package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// subject is the set of logs that a command prints.
type subject struct {
	sources     []source
	several     bool   // there may be several sources, so each line has the name of its source
	emptyReason string // reason for an empty log, if a more precise one than the usual is known
	// workflow is set if more sources may follow while it runs: those of its steps for
	// which fits returns true.
	workflow string
	fits     func(api.Step) bool
}

// subjectOf returns the subject of an id, or of latest:INSTALL.
func subjectOf(ctx context.Context, client *apiclient.Client, id string) (subject, error) {
	prefix, _, _ := strings.Cut(id, "_")
	switch {
	case strings.HasPrefix(id, "latest:"):
		return workflowNamed(ctx, client, id, "")
	case !strings.Contains(id, "_"):
		return subject{}, exitcode.Usagef("%q is not an ID: use nuon logs build|workflow|step|action|runner|job "+
			"with a name", console.Line(id))
	}
	switch prefix {
	case "bld":
		return buildNamed(ctx, client, id)
	case "wfl":
		return workflowNamed(ctx, client, id, "")
	case "stp":
		return stepNamed(ctx, client, id)
	case "run":
		return runnerNamed(ctx, client, id)
	}
	return jobNamed(ctx, client, id)
}

func jobNamed(_ context.Context, _ *apiclient.Client, id string) (subject, error) {
	return subject{sources: []source{{job: id}}}, nil
}

func runnerNamed(_ context.Context, _ *apiclient.Client, name string) (subject, error) {
	return subject{sources: []source{{runner: name}},
		emptyReason: "this runner has sent no log in the last days, or its version is too old to send one"}, nil
}

// buildNamed returns a build by its id, or the newest one of a component for APP/COMPONENT.
func buildNamed(ctx context.Context, client *apiclient.Client, name string) (subject, error) {
	b, err := findBuild(ctx, client, name)
	switch {
	case err != nil:
	case b.Job == "" && b.EndedAt.IsZero():
		err = errors.New("this build has no log: its job was not created yet")
	case b.Job == "":
		err = errors.New("the log of this build was deleted after the retention period; see its result with `nuon " +
			"builds get`")
	}
	return subject{sources: []source{{job: b.Job}}}, err
}

func findBuild(ctx context.Context, client *apiclient.Client, name string) (api.Build, error) {
	app, component, both := strings.Cut(name, "/")
	if !both {
		return apiclient.Decode[api.Build](client.GetBuild(ctx, name))
	}
	l, err := apiclient.Decode[api.BuildList](client.ListBuilds(ctx,
		&api.ListBuildsParams{App: app, Component: component, Limit: 1}))
	if err == nil && len(l.Items) == 0 {
		err = fmt.Errorf("%s has no build; see what it waits for with `nuon apps get %s`",
			console.Line(name), console.Line(app))
	}
	if err != nil {
		return api.Build{}, err
	}
	return l.Items[0], nil
}

// workflowNamed returns a workflow by its id or latest:INSTALL, with the steps that
// step names; all if it is empty.
func workflowNamed(ctx context.Context, client *apiclient.Client, name, step string) (subject, error) {
	w, err := workflows.Find(ctx, client, name)
	if err != nil {
		return subject{}, err
	}
	s := subject{several: true, workflow: w.ID, fits: func(s api.Step) bool { return step == "" || matchesStep(s, step) }}
	if step != "" && !slices.ContainsFunc(w.Steps, s.fits) {
		var there []string
		for _, s := range w.Steps {
			there = append(there, stepName(s))
		}
		return subject{}, fmt.Errorf("workflow %s has no step %s; it has %s",
			w.ID, console.Line(step), strings.Join(there, ", "))
	}
	s.sources = s.sourcesOf(w)
	s.emptyReason = fmt.Sprintf("workflow %s has no log yet: none of these steps has started; see why with `nuon "+
		"workflows get %[1]s`", w.ID)
	if len(s.sources) > 0 {
		s.emptyReason = ""
	}
	return s, nil
}

// sourcesOf returns the logs that the steps of a workflow have so far.
func (s subject) sourcesOf(w api.Workflow) []source {
	var sources []source
	for _, step := range w.Steps {
		if step.Job != "" && s.fits(step) {
			sources = append(sources, source{job: step.Job, name: stepName(step)})
		}
	}
	return sources
}

// stepName returns the name of a step in a log.
func stepName(s api.Step) string { return string(s.Kind) + " " + cmp.Or(s.Action, s.Component) }

// matchesStep reports whether a name selects a step: its id, its name in the log, its
// action or its component.
func matchesStep(s api.Step, name string) bool {
	return name == s.ID || name == stepName(s) || name == cmp.Or(s.Action, s.Component) || name == s.Component
}

// maxWorkflows is the maximum number of workflows that are searched with one request.
const maxWorkflows = 200

// stepNamed returns a step by its id. It searches the newest workflows, because the
// control plane has no lookup of steps by id.
func stepNamed(ctx context.Context, client *apiclient.Client, id string) (subject, error) {
	l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx, &api.ListWorkflowsParams{Limit: maxWorkflows}))
	if err != nil {
		return subject{}, err
	}
	for _, w := range l.Items {
		if n := slices.IndexFunc(w.Steps, func(s api.Step) bool { return s.ID == id }); n >= 0 {
			return stepSubject(w, w.Steps[n])
		}
	}
	return subject{}, fmt.Errorf("none of the newest %d workflows has a step %s; for an older one, name its "+
		"workflow: nuon logs workflow WORKFLOW --step %[2]s", len(l.Items), console.Line(id))
}

// newestRun returns the newest run of an action on an install that has a log.
func newestRun(ctx context.Context, client *apiclient.Client, install, action string) (subject, error) {
	p := api.ListWorkflowsParams{Install: install, Limit: maxWorkflows}
	var pages apiclient.Pages
	for {
		l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx, &p))
		if err != nil {
			return subject{}, err
		}
		for _, w := range l.Items {
			for _, s := range slices.Backward(w.Steps) {
				if s.Action == action && s.Job != "" {
					return stepSubject(w, s)
				}
			}
		}
		if l.Next == "" {
			return subject{}, fmt.Errorf("action %s has not run on %s recently; list its triggers with `nuon "+
				"actions list --install %[2]s`",
				console.Line(action), console.Line(install))
		}
		if err := pages.Next(l.Next); err != nil {
			return subject{}, err
		}
		p.Cursor = l.Next
	}
}

func stepSubject(w api.Workflow, s api.Step) (subject, error) {
	if s.Job == "" {
		return subject{}, fmt.Errorf("step %s (%s) has no log: it is %s; see why with `nuon workflows get %s`",
			s.ID, stepName(s), s.Status, w.ID)
	}
	return subject{sources: []source{{job: s.Job}}}, nil
}
