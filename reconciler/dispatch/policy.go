package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// jobKinds are the kinds of job that a runner can allow.
var jobKinds = []string{"build", "sync", "plan", "apply", "action", "health"}

// mostKinds bounds the component kinds and the programs that a runner's file may name.
// mostPolicyText bounds the texts in it, in runes.
const (
	mostKinds      = 32
	mostPolicyText = 300
)

// policyOf reads what a runner's own file allows, as reported with each poll. The runner enforces
// it; here it decides only which jobs to offer, and explains why a job waits. policyOf drops
// unknown kinds of job and makes texts printable.
func policyOf(request api.LeaseRequest) api.RunnerPolicy {
	p := request.Policy
	if p.Jobs != nil {
		jobs := slices.DeleteFunc(slices.Clone(jobKinds),
			func(kind string) bool { return !slices.Contains(*p.Jobs, kind) })
		p.Jobs = &jobs
	}
	if p.Components != nil {
		components := shownAll(*p.Components)
		p.Components = &components
	}
	if p.ClusterExec != nil {
		p.ClusterExec = shownAll(p.ClusterExec)
	}
	p.Reason, p.Window = printable(p.Reason, mostPolicyText), printable(p.Window, mostPolicyText)
	p.Limits = api.RunnerLimits{
		Capacity: max(p.Limits.Capacity, 0), MemoryBytes: max(p.Limits.MemoryBytes, 0),
		TimeoutSeconds: max(p.Limits.TimeoutSeconds, 0),
	}
	return p
}

// shownAll makes the first mostKinds of a runner's words printable.
func shownAll(words []string) []string {
	made := make([]string, 0, min(len(words), mostKinds))
	for _, word := range words[:cap(made)] {
		made = append(made, shown(word))
	}
	return made
}

// TakesComponents reports whether a runner's file, as last reported, allows components of a kind.
func TakesComponents(runner store.Runner, kind string) bool {
	p := KeptPolicy(runner)
	return p.Components == nil || slices.Contains(*p.Components, kind)
}

// TakesSyncs reports whether a runner's file, as last reported, allows jobs of kind sync.
func TakesSyncs(runner store.Runner) bool { return takes(KeptPolicy(runner), "sync") }

// takesNone reports whether a poll can return no job and is only a sign of life.
func takesNone(p api.RunnerPolicy) bool { return p.Off || p.Jobs != nil && len(*p.Jobs) == 0 }

// takes reports whether a policy allows jobs of a kind.
func takes(p api.RunnerPolicy, kind string) bool {
	return !p.Off && (p.Jobs == nil || slices.Contains(*p.Jobs, kind))
}

// KeptPolicy returns the policy that a runner reported last. Invalid JSON restricts nothing.
func KeptPolicy(runner store.Runner) api.RunnerPolicy {
	var p api.RunnerPolicy
	if json.Unmarshal(runner.Policy, &p) != nil {
		return api.RunnerPolicy{}
	}
	return p
}

// forbids returns why a runner's file keeps a job waiting, as text that ends with who can change
// it. It is empty if the file allows the job.
func forbids(runner store.Runner, job store.Job) string {
	p := KeptPolicy(runner)
	because := ""
	if p.Reason != "" {
		because = " (" + p.Reason + ")"
	}
	switch {
	case p.Off:
		return fmt.Sprintf("runner %s takes no jobs now%s; whoever runs it decides that in its runner file",
			runner.Name, because)
	case !takes(p, job.Kind):
		return fmt.Sprintf(
			"runner %s does not take jobs of kind %s now%s; whoever runs it can allow them in its runner file",
			runner.Name, job.Kind, because,
		)
	case job.Copies && !takes(p, "sync"):
		return fmt.Sprintf("runner %s does not take jobs of kind sync now%s, and this plan begins with the copy that a sync makes; whoever runs it can allow them in its runner file", runner.Name, because)
	case job.ComponentKind != "" && !TakesComponents(runner, job.ComponentKind):
		return fmt.Sprintf(
			"runner %s does not take components of kind %s; whoever runs it can allow them in its runner file",
			runner.Name, job.ComponentKind,
		)
	}
	return ""
}
