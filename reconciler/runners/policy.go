package runners

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/namepattern"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// JobKinds are the kinds of job that a runner allows unless its file has a list of them.
var JobKinds = []string{"build", "sync", "plan", "apply", "action", "health", "secrets"}

// maxKinds bounds the component kinds and the programs that a runner's file may name.
// maxPolicyText bounds the texts in it, in runes.
const (
	maxKinds      = 32
	maxPolicyText = 300
)

// maxRoles bounds each list of roles in it, and maxRoleName each name there, in runes.
const (
	maxRoles    = 200
	maxRoleName = 128
)

// ReadPolicy reads what a runner's own file allows, as reported with each poll. The runner enforces
// it; here it decides only which jobs to offer, and explains why a job waits. ReadPolicy drops
// unknown kinds of job and makes texts printable.
func ReadPolicy(request api.LeaseRequest) api.RunnerPolicy {
	p := request.Policy
	if p.Jobs != nil {
		jobs := slices.DeleteFunc(slices.Clone(JobKinds),
			func(kind string) bool { return !slices.Contains(*p.Jobs, kind) })
		p.Jobs = &jobs
	}
	if p.Components != nil {
		components := printableAll(*p.Components)
		p.Components = &components
	}
	if p.ClusterExec != nil {
		p.ClusterExec = printableAll(p.ClusterExec)
	}
	p.Roles = readRoles(p.Roles)
	p.Reason, p.Window = Printable(p.Reason, maxPolicyText), Printable(p.Window, maxPolicyText)
	p.Install = Printable(p.Install, maxPolicyText)
	for _, list := range []*[]string{&p.Debug.Commands, &p.Debug.Shells, &p.Debug.Images} {
		if *list != nil {
			*list = printableAll(*list)
		}
	}
	p.Debug.TimeoutSeconds = max(p.Debug.TimeoutSeconds, 0)
	p.Limits = api.RunnerLimits{
		Capacity: max(p.Limits.Capacity, 0), MemoryBytes: max(p.Limits.MemoryBytes, 0),
		TimeoutSeconds: max(p.Limits.TimeoutSeconds, 0),
	}
	return p
}

// readRoles makes the names in the rules about roles printable.
func readRoles(r api.RunnerRoles) api.RunnerRoles {
	names := func(all []string) []string {
		var made []string
		for _, name := range all[:min(len(all), maxRoles)] {
			made = append(made, Printable(name, maxRoleName))
		}
		return made
	}
	if r.Allow != nil {
		allow := append([]string{}, names(*r.Allow)...)
		r.Allow = &allow
	}
	r.BreakGlass = names(r.BreakGlass)
	var granted []api.RunnerGrant
	for _, g := range r.Granted[:min(len(r.Granted), maxRoles)] {
		granted = append(granted, api.RunnerGrant{Role: Printable(g.Role, maxRoleName), Until: g.Until})
	}
	r.Granted = granted
	var unusable []api.UnusableRole
	for _, u := range r.Unusable[:min(len(r.Unusable), maxRoles)] {
		if role := Printable(u.Role, maxRoleName); role != "" {
			unusable = append(unusable, api.UnusableRole{Role: role, Refused: u.Refused,
				Reason: Printable(u.Reason, maxPolicyText)})
		}
	}
	r.Unusable = unusable
	return r
}

// UnusableRoles returns the names of the roles under which the runner can start no job now.
func UnusableRoles(p api.RunnerPolicy) []string {
	names := []string{}
	for _, u := range p.Roles.Unusable {
		names = append(names, u.Role)
	}
	return names
}

// needsGrant reports whether a job runs under a role that needs a grant of the runner's owner.
func needsGrant(p api.RunnerPolicy, job store.Job) bool {
	return job.BreakGlass != "" || slices.ContainsFunc(p.Roles.BreakGlass,
		func(pattern string) bool { return job.Role != "" && namepattern.Match(pattern, job.Role) })
}

// GrantPatterns returns the roles that need a grant and those that have one, as patterns of LIKE.
func GrantPatterns(p api.RunnerPolicy, now time.Time) (need, granted []string) {
	need, granted = []string{}, []string{}
	for _, pattern := range p.Roles.BreakGlass {
		need = append(need, likePattern(pattern))
	}
	for _, g := range p.Roles.Granted {
		if g.Until.After(now) {
			granted = append(granted, likePattern(g.Role))
		}
	}
	return need, granted
}

var inLike = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%")

func likePattern(pattern string) string { return inLike.Replace(pattern) }

// printableAll makes the first maxKinds of a runner's words printable.
func printableAll(words []string) []string {
	made := make([]string, 0, min(len(words), maxKinds))
	for _, word := range words[:cap(made)] {
		made = append(made, PrintableShort(word))
	}
	return made
}

// AllowsComponents reports whether a runner's file, as last reported, allows components of a kind.
func AllowsComponents(runner store.Runner, kind string) bool {
	p := ReportedPolicy(runner)
	return p.Components == nil || slices.Contains(*p.Components, kind)
}

// AllowsSyncs reports whether a runner's file, as last reported, allows jobs of kind sync.
func AllowsSyncs(runner store.Runner) bool { return AllowsJob(ReportedPolicy(runner), "sync") }

// AllowsNone reports whether a poll can return no job and is only a sign of life.
func AllowsNone(p api.RunnerPolicy) bool { return len(AllowedKinds(p)) == 0 }

// AllowsJob reports whether a policy allows jobs of a kind.
func AllowsJob(p api.RunnerPolicy, kind string) bool { return slices.Contains(AllowedKinds(p), kind) }

// AllowedKinds returns the kinds of job that a policy allows. Requests of people to look into what runs are not in the
// list of a runner file: only its part on debugging allows them.
func AllowedKinds(p api.RunnerPolicy) []string {
	if p.Off {
		return nil
	}
	kinds := slices.Clone(JobKinds)
	if p.Jobs != nil {
		kinds = slices.Clone(*p.Jobs)
	}
	if p.Debug.Logs {
		kinds = append(kinds, string(api.JobSpecKindLogs))
	}
	if len(p.Debug.Commands) > 0 {
		kinds = append(kinds, string(api.JobSpecKindDebugCommand))
	}
	if len(p.Debug.Shells) > 0 {
		kinds = append(kinds, string(api.JobSpecKindShell))
	}
	return kinds
}

// ReportedPolicy returns the policy that a runner reported last. Invalid JSON restricts nothing.
func ReportedPolicy(runner store.Runner) api.RunnerPolicy {
	var p api.RunnerPolicy
	if json.Unmarshal(runner.Policy, &p) != nil {
		return api.RunnerPolicy{}
	}
	return p
}

// ForbidReason returns why a runner's file keeps a job waiting, as text that ends with who can change
// it. It is empty if the file allows the job.
func ForbidReason(runner store.Runner, job store.Job, now time.Time) string {
	p := ReportedPolicy(runner)
	because := ""
	if p.Reason != "" {
		because = " (" + p.Reason + ")"
	}
	switch {
	case p.Off:
		return fmt.Sprintf("runner %s takes no jobs now%s; the runner's owner sets this in its runner file",
			runner.Name, because)
	case !AllowsJob(p, job.Kind):
		return fmt.Sprintf(
			"runner %s does not take jobs of kind %s now%s; the runner's owner can allow them in its runner file",
			runner.Name, job.Kind, because,
		)
	case job.Copies && !AllowsJob(p, "sync"):
		return fmt.Sprintf("runner %s does not take jobs of kind sync now%s, and this plan begins with the copy that a "+
			"sync makes; the runner's owner can allow them in its runner file", runner.Name, because)
	case job.ComponentKind != "" && !AllowsComponents(runner, job.ComponentKind):
		return fmt.Sprintf(
			"runner %s does not take components of kind %s; the runner's owner can allow them in its runner file",
			runner.Name, job.ComponentKind,
		)
	}
	if _, granted := p.Roles.GrantedUntil(job.Role, now); needsGrant(p, job) && !granted {
		return fmt.Sprintf("it needs the role %[2]s, which the owner of runner %[1]s has not granted; the owner can, on the "+
			"runner's machine: runnerd grants add %[2]s --for 2h", runner.Name, job.Role)
	}
	for _, u := range p.Roles.Unusable {
		if u.Role == job.Role {
			return UnusableReason(u)
		}
	}
	return ""
}

// UnusableReason returns why jobs wait for a role under which the cloud let none start.
func UnusableReason(u api.UnusableRole) string {
	if u.Refused {
		return fmt.Sprintf("it needs the role %s, which is off or refuses the runner; it starts as soon as the role works "+
			"again (%s)", u.Role, u.Reason)
	}
	return fmt.Sprintf("it needs the role %s, and the cloud does not let the runner act under it now; the runner tries "+
		"again (%s)", u.Role, u.Reason)
}
