package appconfig

import (
	"time"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// DefaultActionTimeout is the timeout of an action whose file sets none.
const DefaultActionTimeout = "5m"

// Action is one file of actions/: scripts that run in an install.
type Action struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Timeout     string `json:"timeout"` // a Go duration of at most an hour
	// Inputs are the parameters of one run, in the order of the file.
	Inputs            []ActionInput     `json:"inputs,omitempty"`
	Triggers          []Trigger         `json:"triggers,omitempty"`
	Steps             []ActionStep      `json:"steps,omitempty"`
	Dependencies      []string          `json:"dependencies,omitempty"`
	Role              string            `json:"role,omitempty"`
	BreakGlassRole    string            `json:"break_glass_role,omitempty"`
	KubeConfig        bool              `json:"enable_kube_config,omitempty"` // its steps get access to the cluster
	KubernetesContext string            `json:"kubernetes_context,omitempty"`
	Image             any               `json:"image,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	// Access is what a run has access to that the action's own keys do not show, for a person who approves what it
	// runs. It is nil in a config.
	Access *ActionAccess `json:"access,omitempty"`
}

// ActionAccess is the access of a run that follows from other files of the app, or from the request for the run.
type ActionAccess struct {
	Role     string `json:"role,omitempty"`      // its role, unless the action names it: chosen for the run, or of a rule
	RoleKind string `json:"role_kind,omitempty"` // the kind of its role, unless the key of the action implies it
	Cluster  string `json:"cluster,omitempty"`   // the component whose cluster kubernetes_context means
}

// Trigger defines when an action runs. Its type field has the current spelling.
type Trigger = format.Trigger

// ActionStep is one script or command. Its texts and environment are templates. Exactly one of
// InlineContents and Command is set.
type ActionStep struct {
	Name           string            `json:"name"`
	InlineContents string            `json:"inline_contents,omitempty"` // a script with its #! line
	Command        string            `json:"command,omitempty"`         // program and arguments, below Source
	EnvVars        map[string]string `json:"env_vars,omitempty"`
	Source         *Source           `json:"source,omitempty"`
	// Code is what was built of Source, for a person who approves what the step runs. It is nil in a config.
	Code *StepCode `json:"code,omitempty"`
}

// StepCode is the code of a repository that a step runs.
type StepCode struct {
	Artifact string            `json:"artifact"`        // digest
	Files    map[string]string `json:"files,omitempty"` // the texts by path in the repository, or what replaces them
}

// TimeoutDuration returns the timeout as a duration.
func (a *Action) TimeoutDuration() time.Duration {
	limit, err := time.ParseDuration(a.Timeout)
	if err != nil {
		limit, _ = time.ParseDuration(DefaultActionTimeout)
	}
	return limit
}

// Templates returns every text that is rendered for a run, by its key path, such as
// steps[0].env_vars.REGION.
func (a *Action) Templates() map[string]string {
	texts := textsByPath{}
	for i, step := range a.Steps {
		at := syntax.JoinIndex("steps", i)
		texts.add(at+".inline_contents", step.InlineContents)
		texts.add(at+".command", step.Command)
		texts.addMap(at+".env_vars", step.EnvVars)
	}
	return texts
}

// Refs returns the paths below .nuon that a run reads: canonical, sorted, unique.
func (a *Action) Refs() []render.Path { return refsOf(a.Templates()) }
