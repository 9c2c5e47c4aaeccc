package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Rule is what a runner allows at a point in time, as it is reported to the control plane, and the store of secrets and
// the executor, which are not, except for its kind.
type Rule struct {
	api.RunnerPolicy

	Secrets  Secrets
	Executor Executor
}

// RuleAt returns the rule that follows from the file at a point in time.
func (f File) RuleAt(now time.Time) Rule {
	rule := Rule{Secrets: f.Secrets, Executor: f.Executor, RunnerPolicy: api.RunnerPolicy{FreeEnv: f.Actions.FreeEnv,
		Debug: api.DebugPolicy{Logs: f.Debug.Logs, TimeoutSeconds: int(time.Duration(f.Debug.Timeout) / time.Second)},
		Roles: f.Roles.rules(), Pods: f.Executor.Kind == ExecutorKubernetes,
		Limits: api.RunnerLimits{
			MemoryBytes: int64(f.Limits.Memory), TimeoutSeconds: int(time.Duration(f.Limits.Timeout) / time.Second),
		}}}
	if len(f.Debug.Commands) > 0 {
		rule.Debug.Commands = *stringList(f.Debug.Commands)
	}
	rule.Debug.Shells, rule.Debug.Images = slices.Clone(f.Debug.Shells), slices.Clone(f.Debug.Images)
	if f.Limits.Capacity != nil {
		rule.Limits.Capacity = *f.Limits.Capacity
	}
	if len(f.Cluster.Exec) > 0 {
		rule.ClusterExec = *stringList(f.Cluster.Exec)
	}
	if f.Components != nil {
		rule.Components = stringList(f.Components)
	}
	if f.Jobs != nil {
		rule.Jobs = stringList(f.Jobs)
	}
	if f.Window != nil {
		rule.Window = f.Window.String()
	}
	switch {
	case !f.Enabled:
		return rule.disabled("its runner file disables it (enabled = false)")
	case f.Window != nil && !f.Window.IsOpen(now):
		allowed := jobKinds
		if rule.Jobs != nil {
			allowed = *rule.Jobs
		}
		allowed = slices.DeleteFunc(slices.Clone(allowed), func(kind string) bool {
			return slices.Contains(changingKinds,
				kind)
		})
		rule.Jobs = &allowed
		rule.Reason = fmt.Sprintf("outside its window (%s): applies and actions wait until %s", f.Window,
			f.Window.NextOpen(now).Format("Mon 2 Jan 15:04"))
	}
	return rule
}

// BrokenRule returns the rule of a runner whose file is invalid: it accepts nothing.
// last is the last valid file, which is still shown.
func BrokenRule(last File, reason error, now time.Time) Rule {
	last.Enabled, last.Window = true, nil
	return last.RuleAt(now).disabled("its runner file cannot be used, so it takes no jobs: " + reason.Error())
}

func (r Rule) disabled(reason string) Rule {
	r.Off, r.Reason = true, reason
	r.Jobs = &[]string{}
	return r
}

// Check returns an error if a job of a kind on a component of a kind is not allowed, and names
// the rule that forbids it. component is empty for the offer of an action or a health check.
func (r Rule) Check(kind, component string) error {
	if err := r.checkJob(kind); err != nil || slices.Contains(kindsWithoutComponent, kind) {
		return err
	}
	return r.checkComponent(component)
}

// checkJob returns an error if jobs of a kind are not allowed.
func (r Rule) checkJob(kind string) error {
	if r.Off {
		return fmt.Errorf("this runner takes no jobs: %s", r.Reason)
	}
	if kind == string(api.JobSpecKindLogs) { // the list of jobs does not have it
		if !r.Debug.Logs {
			return errors.New("the runner's own file does not allow requests for logs of pods; its owner decides that, with " +
				"logs in [debug] of the runner file")
		}
		return nil
	}
	if kind == string(api.JobSpecKindDebugCommand) {
		if len(r.Debug.Commands) == 0 {
			return errors.New("the runner's own file does not allow debug commands; its owner decides that, with commands in " +
				"[debug] of the runner file")
		}
		return nil
	}
	if kind == string(api.JobSpecKindShell) {
		if len(r.Debug.Shells) == 0 {
			return errors.New("the runner's own file does not allow interactive shells; its owner decides that, with shells " +
				"in [debug] of the runner file")
		}
		return nil
	}
	if r.Jobs != nil && !slices.Contains(*r.Jobs, kind) {
		if r.Reason != "" && slices.Contains(changingKinds, kind) {
			return fmt.Errorf("this runner takes no %s now: %s", kind, r.Reason)
		}
		return fmt.Errorf("the runner's own file does not allow jobs of kind %s; its owner decides that, with jobs in the "+
			"runner file", kind)
	}
	return nil
}

func (r Rule) checkComponent(kind string) error {
	if r.Components == nil || slices.Contains(*r.Components, kind) {
		return nil
	}
	if kind == "" {
		kind = "unknown"
	}
	return fmt.Errorf("the runner's own file does not allow components of kind %.60s; its owner decides that, with "+
		"components in the runner file", kind)
}

// MayExec reports whether the owner allows a login program that a cluster's outputs name.
func (r Rule) MayExec(command string) bool { return slices.Contains(r.ClusterExec, command) }

// WithoutExec returns the rule with no login program allowed for the outputs of a cluster.
func (r Rule) WithoutExec() Rule {
	r.ClusterExec = nil
	return r
}

// CheckSpec returns an error unless a spec has the kind that was offered and the rule allows
// it, so that only what was accepted is done.
func (r Rule) CheckSpec(offered string, spec api.JobSpec) error {
	if string(spec.Kind) != offered {
		return fmt.Errorf("this job was offered as %s and its spec is of kind %s; it is not done: this is a bug in the "+
			"control plane; report it", offered, spec.Kind)
	}
	if err := cmp.Or(r.checkInstall(spec), r.CheckRole(spec)); err != nil {
		return err
	}
	for _, part := range spec.Health.Parts {
		if err := r.checkComponent(part.Deploy.ComponentKind); err != nil {
			return err
		}
	}
	if kind := spec.Logs.Part.Deploy.ComponentKind; spec.Kind == api.JobSpecKindLogs {
		if err := r.checkComponent(kind); err != nil {
			return err
		}
	}
	if kind := spec.Shell.Part.Deploy.ComponentKind; spec.Kind == api.JobSpecKindShell {
		if err := r.checkComponent(kind); err != nil {
			return err
		}
	}
	for _, step := range spec.Action.Steps {
		if step.Source.Name == "" {
			continue
		}
		if err := r.checkJob(string(api.JobSpecKindSync)); err != nil { // it starts with the work of a sync
			return fmt.Errorf("action %s copies the code of step %q: %w", spec.Action.Action, step.Name, err)
		}
	}
	if spec.Plan.From.Digest != "" { // it starts with the work of a sync
		if err := r.Check(string(api.JobSpecKindSync), componentKind(spec)); err != nil {
			return err
		}
	}
	return r.Check(string(spec.Kind), componentKind(spec))
}

// componentKind returns the kind of component in a spec.
func componentKind(spec api.JobSpec) string {
	switch spec.Kind {
	case api.JobSpecKindBuild:
		return spec.Build.ComponentKind
	case api.JobSpecKindSync:
		return spec.Sync.ComponentKind
	case api.JobSpecKindPlan:
		return spec.Plan.Deploy.ComponentKind
	case api.JobSpecKindApply:
		return spec.Apply.Deploy.ComponentKind
	}
	return ""
}

// Lines describes the rule for a person: one line for each part, with its name and its value.
func (r Rule) Lines() [][2]string {
	takes := "jobs"
	switch {
	case r.Off:
		takes = "nothing: " + r.Reason
	case r.Reason != "":
		takes = "some jobs: " + r.Reason
	}
	limit := func(set bool, format string, value any) string {
		if !set {
			return "no limit of its own"
		}
		return fmt.Sprintf(format, value)
	}
	window := r.Window
	if window == "" {
		window = "always"
	}
	watched := "held by watching its processes"
	if r.Executor.Kind == ExecutorKubernetes {
		watched = "the limit of its container"
	}
	yes := map[bool]string{true: "yes", false: "no"}
	return [][2]string{
		{"takes", takes},
		{"jobs", listed(r.Jobs, "all kinds")},
		{"components", listed(r.Components, "all kinds")},
		{"window", window},
		{"debug", describeDebug(r.Debug)},
		{"free env", yes[r.FreeEnv]},
		{"cluster exec", listed(&r.ClusterExec, "")},
		{"roles", r.roleLine()},
		{"memory", limit(r.Limits.MemoryBytes > 0, "%v for each job, "+watched, Size(r.Limits.MemoryBytes))},
		{"timeout", limit(r.Limits.TimeoutSeconds > 0, "%v for each job", time.Duration(
			r.Limits.TimeoutSeconds)*time.Second)},
		{"capacity", limit(r.Limits.Capacity > 0, "%d at once", r.Limits.Capacity)},
		{"secrets", r.Secrets.describe()},
		{"executor", r.Executor.describe()},
	}
}

// describe returns where secrets are stored, and of which installs.
func (s Secrets) describe() string {
	text := "in the store of the runner's cloud or cluster"
	if s.Store != (StoreKind{}) {
		text = "in " + s.Store.name
	}
	if s.Installs != nil {
		text += ", of the installs " + listed(&s.Installs, "")
	}
	return text
}

// roleLine describes the roles that jobs may run under.
func (r Rule) roleLine() string {
	if r.Roles.OwnIdentity {
		return "none: jobs run with the runner's own identity"
	}
	line := listed(r.Roles.Allow, "those of the job's own install")
	if len(r.Roles.BreakGlass) > 0 {
		line += "; with a grant only: " + strings.Join(r.Roles.BreakGlass, ", ")
	}
	if r.Roles.ReadOnlyPlans {
		line += "; plans read only, on AWS"
	}
	for _, g := range r.Roles.Granted {
		line += "; granted: " + g.Role + " until " + g.Until.UTC().Format(time.RFC3339)
	}
	return line
}

// describeDebug returns how people may look into what runs.
func describeDebug(d api.DebugPolicy) string {
	var allowed []string
	if d.Logs {
		allowed = append(allowed, "logs of pods")
	}
	if len(d.Commands) > 0 {
		allowed = append(allowed, "the commands "+strings.Join(d.Commands, ", "))
	}
	if len(d.Shells) > 0 {
		allowed = append(allowed, "shells in pods of "+strings.Join(d.Shells, ", "))
	}
	if len(d.Images) > 0 {
		allowed = append(allowed, "debug containers of "+strings.Join(d.Images, ", "))
	}
	if len(allowed) == 0 {
		return "nothing"
	}
	text := strings.Join(allowed, "; ")
	if d.TimeoutSeconds > 0 {
		text += fmt.Sprintf("; for %v at a time", time.Duration(d.TimeoutSeconds)*time.Second)
	}
	return text
}

func listed(allowed *[]string, all string) string {
	switch {
	case allowed == nil:
		return all
	case len(*allowed) == 0:
		return "none"
	}
	return strings.Join(*allowed, ", ")
}

func stringList[T fmt.Stringer](all []T) *[]string {
	made := make([]string, len(all))
	for i, one := range all {
		made[i] = one.String()
	}
	return &made
}
