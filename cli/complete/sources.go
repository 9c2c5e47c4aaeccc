package complete

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// maxNames is the maximum number of names: one page of the API's maximum size.
const maxNames = 500

// namesOf maps the items of a list to names.
func namesOf[T any](items []T, err error, name func(T) Name) ([]Name, error) {
	out := make([]Name, 0, len(items))
	for _, i := range items {
		out = append(out, name(i))
	}
	return out, err
}

// Apps returns the apps of the org.
func Apps(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.AppList](client.ListApps(ctx, &api.ListAppsParams{Limit: maxNames}))
	return namesOf(l.Items, err, func(a api.App) Name { return Name{a.Name, a.Repository} })
}

// Components returns the components of the app in the first argument.
func Components(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return ComponentsOf(ctx, client, args[0])
}

// ComponentsOf returns the components of an app.
func ComponentsOf(ctx context.Context, client *apiclient.Client, app string) ([]Name, error) {
	l, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, app))
	return namesOf(l.Items, err, func(c api.Component) Name { return Name{c.Name, c.Kind} })
}

// Installs returns the installs of the org, as app/name where several apps have an install
// of that name.
func Installs(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx, &api.ListInstallsParams{Limit: maxNames}))
	called := installNames(l.Items, func(i api.InstallSummary) (app, install string) { return i.App, i.Name })
	return namesOf(l.Items, err, func(i api.InstallSummary) Name {
		if name := called(i.App, i.Name); name != i.Name {
			return Name{name, string(i.Status)}
		}
		return Name{i.Name, i.App + ", " + string(i.Status)}
	})
}

// installNames returns a function that names an install as commands accept it:
// by its name, or as app/name where several apps have an install of that name.
func installNames[T any](items []T, of func(T) (app, install string)) func(app, install string) string {
	first, several := map[string]string{}, map[string]bool{}
	for _, i := range items {
		app, install := of(i)
		if other, seen := first[install]; seen && other != app {
			several[install] = true
		}
		first[install] = app
	}
	return func(app, install string) string {
		if several[install] {
			return app + "/" + install
		}
		return install
	}
}

// InstallComponents returns the components of the install in the first argument.
func InstallComponents(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	i, err := installOf(ctx, client, args)
	return namesOf(i.Components, err, func(c api.InstallComponent) Name { return Name{c.Name, string(c.Status)} })
}

// Inputs returns the inputs of the install in the first argument, as NAME=.
func Inputs(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	i, err := installOf(ctx, client, args)
	return namesOf(i.Inputs, err, func(v api.InputValue) Name { return Name{Name: v.Name + "="} })
}

// Actions returns the actions that can be run on the install in the first argument.
func Actions(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	i, err := installOf(ctx, client, args)
	if err != nil {
		return nil, err
	}
	c, err := apiclient.Decode[api.AppConfig](client.GetAppConfig(ctx, i.App, &api.GetAppConfigParams{Release: i.Target}))
	return namesOf(c.Actions, err, func(a api.DeclaredAction) Name { return Name{a.Name, a.Description} })
}

// BreakGlassRoles returns the break-glass roles of the install in the first argument, without the id of the install.
func BreakGlassRoles(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	i, err := installOf(ctx, client, args)
	if err != nil {
		return nil, err
	}
	c, err := apiclient.Decode[api.AppConfig](client.GetAppConfig(ctx, i.App, &api.GetAppConfigParams{Release: i.Target}))
	var out []Name
	for _, role := range c.BreakGlass {
		for _, id := range []string{"{{.nuon.install.id}}", "{{ .nuon.install.id }}"} {
			role = strings.ReplaceAll(role, id, "")
		}
		if role = strings.Trim(role, "-_ "); !strings.Contains(role, "{{") {
			out = append(out, Name{Name: role})
		}
	}
	return out, err
}

// RequestedRoles returns the break-glass roles that are requested on the install in the first argument.
func RequestedRoles(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	i, err := installOf(ctx, client, args)
	var out []Name
	for _, r := range i.BreakGlass {
		if r.Status == api.BreakGlassWaiting || r.Status == api.BreakGlassGranted {
			out = append(out, Name{r.Role, string(r.Status)})
		}
	}
	return out, err
}

func installOf(ctx context.Context, client *apiclient.Client, args []string) (api.Install, error) {
	if len(args) == 0 {
		return api.Install{}, nil
	}
	return apiclient.Decode[api.Install](client.GetInstall(ctx, args[0]))
}

// Workflows returns the newest workflows, and latest:INSTALL for each of their installs.
func Workflows(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx, &api.ListWorkflowsParams{Limit: maxNames}))
	var out []Name
	seen := map[string]bool{}
	called := installNames(l.Items, func(w api.Workflow) (app, install string) { return w.App, w.Install })
	for _, w := range l.Items {
		about := fmt.Sprintf("%s of %s/%s, %s", w.Kind, w.App, w.Install, w.Status)
		if of := "latest:" + called(w.App, w.Install); !seen[of] {
			seen[of] = true
			out = append(out, Name{of, about})
		}
		out = append(out, Name{w.ID, about})
	}
	return out, err
}

// RunningWorkflows returns the workflows that can be canceled.
func RunningWorkflows(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
		&api.ListWorkflowsParams{Status: string(api.WorkflowStatusRunning), Limit: maxNames}))
	return namesOf(l.Items, err, func(w api.Workflow) Name {
		return Name{w.ID, fmt.Sprintf("%s of %s/%s", w.Kind, w.App, w.Install)}
	})
}

// Steps returns the steps of the workflow in the first argument, which may be latest:INSTALL.
func Steps(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	if len(args) == 0 {
		return nil, nil
	}
	id := args[0]
	if install, latest := strings.CutPrefix(id, "latest:"); latest {
		l, err := apiclient.Decode[api.WorkflowList](client.ListWorkflows(ctx,
			&api.ListWorkflowsParams{Install: install, Limit: 1}))
		if err != nil || len(l.Items) == 0 {
			return nil, err
		}
		id = l.Items[0].ID
	}
	w, err := apiclient.Decode[api.Workflow](client.GetWorkflow(ctx, id))
	return namesOf(w.Steps, err, func(s api.Step) Name {
		return Name{s.ID, fmt.Sprintf("%s %s, %s", s.Kind, cmp.Or(s.Action, s.Component), s.Status)}
	})
}

// Logs returns the newest objects that have a log: workflows and builds.
func Logs(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	workflows, err := Workflows(ctx, client, args)
	if err != nil {
		return nil, err
	}
	builds, err := Builds(ctx, client, args)
	return append(workflows, builds...), err
}

// Approvals returns the waiting plans, as install/component.
func Approvals(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.ApprovalList](client.ListApprovals(ctx,
		&api.ListApprovalsParams{Brief: true, Limit: maxNames}))
	called := installNames(l.Items, func(a api.Approval) (app, install string) { return a.App, a.Install })
	return namesOf(l.Items, err, func(a api.Approval) Name {
		return Name{called(a.App, a.Install) + "/" + cmp.Or(a.Component, string(a.Kind)), a.Reason}
	})
}

// Runners returns the runners of the org.
func Runners(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.RunnerList](client.ListRunners(ctx, &api.ListRunnersParams{Limit: maxNames}))
	return namesOf(l.Items, err, func(r api.Runner) Name { return Name{r.Name, string(r.Kind)} })
}

// Builds returns the newest builds of each app.
func Builds(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	return buildNames(ctx, client, func(api.Build) bool { return true })
}

// FailedBuilds returns the newest builds that can be retried.
func FailedBuilds(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	return buildNames(ctx, client, func(b api.Build) bool { return b.Status == api.BuildStatusFailed })
}

// maxBuildsPerApp is the number of builds to fetch for each app.
const maxBuildsPerApp = 50

func buildNames(ctx context.Context, client *apiclient.Client, fit func(api.Build) bool) ([]Name, error) {
	apps, err := apiclient.Decode[api.AppList](client.ListApps(ctx, &api.ListAppsParams{Limit: maxNames}))
	if err != nil {
		return nil, err
	}
	var out []Name
	for _, a := range apps.Items {
		l, err := apiclient.Decode[api.BuildList](client.ListBuilds(ctx,
			&api.ListBuildsParams{App: a.Name, Limit: maxBuildsPerApp}))
		if err != nil {
			return out, err
		}
		for _, b := range l.Items {
			if fit(b) {
				out = append(out, Name{b.ID,
					fmt.Sprintf("build %d of %s/%s, %s", b.Number, a.Name, b.Component, b.Status)})
			}
		}
	}
	return out, nil
}

// Repos returns the watched branches.
func Repos(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.RepoList](client.ListRepos(ctx, &api.ListReposParams{Limit: maxNames}))
	return namesOf(l.Items, err, func(r api.Repo) Name { return Name{r.ID, r.URL + " " + r.Ref} })
}

// Credentials returns the names of the git credentials.
func Credentials(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.CredentialList](client.ListCredentials(ctx))
	return namesOf(l.Items, err, func(c api.Credential) Name { return Name{c.Name, c.Username} })
}

// Webhooks returns the webhooks of the org.
func Webhooks(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.WebhookList](client.ListWebhooks(ctx))
	return namesOf(l.Items, err, func(w api.KnownWebhook) Name { return Name{w.ID, w.Path} })
}

// Tokens returns the API tokens.
func Tokens(ctx context.Context, client *apiclient.Client, _ []string) ([]Name, error) {
	l, err := apiclient.Decode[api.TokenList](client.ListTokens(ctx, &api.ListTokensParams{Limit: maxNames}))
	return namesOf(l.Items, err, func(t api.Token) Name { return Name{t.Name, string(t.Role)} })
}

// Releases returns the numbers of the complete releases of the app of the install in the
// first argument.
func Releases(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	i, err := installOf(ctx, client, args)
	if err != nil || i.App == "" {
		return nil, err
	}
	return releases(ctx, client, i.App, func(r api.Release) bool { return r.Status == api.ReleaseComplete })
}

// ReleasesOf returns the numbers of all releases of the app in the first argument.
func ReleasesOf(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return releases(ctx, client, args[0], func(api.Release) bool { return true })
}

func releases(ctx context.Context, client *apiclient.Client, app string, fit func(api.Release) bool) ([]Name, error) {
	l, err := apiclient.Decode[api.ReleaseList](client.ListReleases(ctx, app, &api.ListReleasesParams{Limit: maxNames}))
	var out []Name
	for _, r := range l.Items {
		if fit(r) {
			out = append(out, Name{fmt.Sprint(r.Number), r.Cause})
		}
	}
	return out, err
}

// AppVariables returns the variables of the app in the first argument.
func AppVariables(ctx context.Context, client *apiclient.Client, args []string) ([]Name, error) {
	if len(args) == 0 {
		return nil, nil
	}
	l, err := apiclient.Decode[api.AppVariableList](client.ListAppVariables(ctx, args[0]))
	return namesOf(l.Items, err, func(v api.AppVariable) Name { return Name{Name: v.Name} })
}
