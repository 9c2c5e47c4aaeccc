package appconfig

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	policydocument "github.com/nuon-toolkit/nuon/pkg/policy/document"
)

// app makes an App of the files' content. Callers call it only when there is no error. It sorts
// sets, after which the positions of their elements can no longer be found.
func (c *config) app() *App {
	a := &App{
		Groups:      entryValues(c.groups),
		Secrets:     sortByName(entryValues(c.secrets), func(s Secret) string { return s.Name }),
		Permissions: dropEmptyBoundaries(entryValues(c.roles), func(r *format.StandingRole) *format.Role { return &r.Role }),
		BreakGlass: sortByName(dropEmptyBoundaries(entryValues(c.breakGlass), func(r *format.Role) *format.Role { return r }),
			func(r format.Role) string { return r.Name }),
		KubernetesContexts: sortByName(entryValues(c.contexts), func(k format.KubernetesContext) string { return k.Name }),
		Runbooks:           sortByName(entryValues(c.runbooks), func(r format.Runbook) string { return r.Name }),
		Branches:           sortByName(entryValues(c.branches), func(b format.Branch) string { return b.Name }),
		Policies:           c.policyList(),
		Actions:            c.actionList(),
		Inputs:             c.inputList(),
		Installs:           c.installList(),
		Remote:             sortByName(slices.Clone(c.remote), func(r RemoteFile) string { return r.Reference }),
	}
	c.singles(a)
	for i := range a.Secrets {
		a.Secrets[i].Default = ""
	}
	if c.ownInputs {
		sortByName(a.Groups, func(g InputGroup) string { return g.Name })
		sortByName(a.Inputs, func(i Input) string { return i.Name })
	}
	slices.SortStableFunc(a.Permissions, func(x, y format.StandingRole) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name, y.Name))
	})
	driver := ""
	if c.runner != nil {
		driver = c.runner.value.HelmDriver
	}
	for _, comp := range c.components {
		a.Components = append(a.Components, comp.toComponent(driver))
	}
	sortByName(a.Components, func(c Component) string { return c.Name })
	return a
}

// singles sets the sections of which an app has at most one.
func (c *config) singles(a *App) {
	if c.metadata != nil {
		a.Metadata = c.metadata.sorted()
		a.Metadata.SlackWebhookURL = ""
	}
	if c.sandbox != nil {
		a.Sandbox = sandboxOf(c.sandbox.sorted())
	}
	if c.runner != nil {
		runner := c.runner.sorted()
		runner.Source = ""
		a.Runner = &runner
	}
	if c.stack != nil {
		stack := c.stack.sorted()
		a.Stack = &stack
	}
	if c.operationRoles != nil {
		a.OperationRoles = c.operationRoles.sorted().Rules
	}
	if c.installer != nil {
		installer := c.installer.sorted()
		installer.Source = ""
		a.Installer = &installer
	}
	if c.installSource != nil {
		source := c.installSource.sorted()
		a.InstallSource = &source
	}
	if c.triggers != nil {
		a.Triggers = c.triggers.value
	}
}

// sorted returns the entry's value with its sets sorted.
func (e *entry[T]) sorted() T {
	format.SortSets(e.keys, &e.value)
	return e.value
}

// entryValues returns the entries' values, nil for none.
func entryValues[T any](entries []*entry[T]) []T {
	var all []T
	for _, e := range entries {
		all = append(all, e.sorted())
	}
	return all
}

// dropEmptyBoundaries removes permissions boundaries that restrict nothing.
func dropEmptyBoundaries[T any](list []T, role func(*T) *format.Role) []T {
	for i := range list {
		if r := role(&list[i]); policydocument.IsEmpty(r.PermissionsBoundary) {
			r.PermissionsBoundary = ""
		}
	}
	return list
}

// sortByName sorts a list in place and returns it.
func sortByName[T any](list []T, name func(T) string) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	return list
}

func (c *config) inputList() []Input {
	var all []Input
	for _, e := range c.inputs {
		input := Input(e.sorted())
		if input.Sensitive && input.Default != nil && *input.Default != "" {
			input.Default = nil
		}
		all = append(all, input)
	}
	return all
}

// policyList returns the policies, each with a name: by default the name, without extension, of the
// file that holds its text, or else of the file that declares it.
func (c *config) policyList() []Policy {
	var all []Policy
	for _, e := range c.policies {
		policy := e.sorted()
		if _, ofComponents := coveredKinds[policy.Type]; ofComponents && policy.Components == nil {
			policy.Components = []string{"*"} // a policy of an older type applies to all
		}
		if file, ok := e.texts["contents"]; ok && policy.Name == "" {
			policy.Name = policyStem(file.file)
		}
		if policy.Name == "" && strings.HasPrefix(e.file, "policies/") {
			policy.Name = policyStem(e.file)
		}
		all = append(all, policy)
	}
	slices.SortStableFunc(all, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Engine, b.Engine),
			cmp.Compare(a.Contents, b.Contents))
	})
	nameUnnamed(all)
	return all
}

func policyStem(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}

// nameUnnamed names policies without a name after their type and their position among those.
func nameUnnamed(policies []Policy) {
	count := map[string]int{}
	for i := range policies {
		if policies[i].Name == "" {
			count[policies[i].Type]++
			policies[i].Name = fmt.Sprintf("%s-%d", policies[i].Type, count[policies[i].Type])
		}
	}
}

func (c *config) actionList() []Action {
	var all []Action
	for _, e := range c.actions {
		v := e.sorted()
		action := Action{
			Name: v.Name, Description: v.Description, Timeout: v.Timeout, Triggers: v.Triggers,
			Dependencies: v.Dependencies, Role: v.Role,
			BreakGlassRole: v.BreakGlassRole, KubeConfig: v.EnableKubeConfig, KubernetesContext: v.KubernetesContext,
			Image: v.Image, Labels: v.Labels,
		}
		for _, input := range v.Inputs {
			action.Inputs = append(action.Inputs, ActionInput(input))
		}
		for _, s := range v.Steps {
			action.Steps = append(action.Steps, ActionStep{
				Name: s.Name, InlineContents: s.InlineContents, Command: s.Command, EnvVars: s.EnvVars,
				Source: sourceOf(s.Repositories),
			})
		}
		all = append(all, action)
	}
	return sortByName(all, func(a Action) string { return a.Name })
}

func (c *config) installList() []Install {
	sensitive := map[string]bool{}
	for _, e := range c.inputs {
		sensitive[e.value.Name] = e.value.Sensitive
	}
	deployed := map[string]bool{}
	for _, comp := range c.components {
		deployed[comp.Name] = comp.deployable()
	}
	var all []Install
	for _, e := range c.installs {
		v := e.sorted()
		all = append(all, Install{
			Name: v.Name, ApprovalOption: v.ApprovalOption, AllowDestroy: v.AllowDestroy, Labels: v.Labels,
			StackOverrides: v.StackOverrides,
			Inputs:         filterMap(v.Inputs, func(name string) bool { return !sensitive[name] }),
			Toggles:        filterMap(v.ComponentToggles, func(name string) bool { return deployed[name] }),
			Overrides:      overridesOf(v.Components),
			Account:        accountOf(v),
		})
	}
	return sortByName(all, func(i Install) string { return i.Name })
}

// filterMap returns the values of a map whose names keep accepts, nil for none.
func filterMap[M ~map[string]V, V any](all M, accept func(string) bool) map[string]V {
	var filtered map[string]V
	for name, value := range all {
		if !accept(name) {
			continue
		}
		if filtered == nil {
			filtered = map[string]V{}
		}
		filtered[name] = value
	}
	return filtered
}

// accountOf returns the cloud account of an install, as its table declares it.
func accountOf(v format.Install) map[string]map[string]string {
	account := map[string]map[string]string{}
	add := func(kind string, pairs ...string) {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				values[pairs[i]] = pairs[i+1]
			}
		}
		account[kind] = values
	}
	switch {
	case v.AWSAccount != nil:
		add("aws_account", "account_id", v.AWSAccount.AccountID, "region", v.AWSAccount.Region)
	case v.AzureAccount != nil:
		add("azure_account", "location", v.AzureAccount.Location, "subscription_id", v.AzureAccount.SubscriptionID,
			"tenant_id", v.AzureAccount.TenantID)
	case v.GCPAccount != nil:
		add("gcp_account", "project_id", v.GCPAccount.ProjectID, "region", v.GCPAccount.Region)
	default:
		return nil
	}
	return account
}
