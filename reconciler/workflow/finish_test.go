package workflow

import "testing"

// TestASkippedChainNamesItsCause checks that components that need one another name the one that is the cause, and that
// the summary states its reason once.
func TestASkippedChainNamesItsCause(t *testing.T) {
	steps, err := Compose(KindDeploy, []ComponentPart{
		{Component: "secret"}, {Component: "forge", DependsOn: []string{"secret"}},
		{Component: "balancer", DependsOn: []string{"forge"}}, {Component: "ssh", DependsOn: []string{"forge"}},
	}, WorkflowActions{}, counter())
	if err != nil {
		t.Fatal(err)
	}
	g := &Graph{Kind: KindDeploy, Status: Running, Steps: steps, Desired: map[string]DesiredState{
		"secret": {Digest: "d", WaitReason: "it has no password", Stalled: true},
		"forge":  {Digest: "d", WaitReason: "secret"}, "balancer": {Digest: "d", WaitReason: "forge"},
		"ssh": {Digest: "d", WaitReason: "forge"}}}
	said := run(g)
	const reason = "waits for something that needs an action: it has no password"
	same(t, said[len(said)-1:], "FinishWorkflow{superseded secret skipped: "+reason+
		"; forge, balancer, ssh skipped: secret was not deployed}")
	for _, name := range []string{"forge", "balancer", "ssh"} {
		if got := g.groupOf(name).apply.Reason; got != "secret was not deployed: "+reason {
			t.Errorf("%s is skipped because %s", name, got)
		}
	}
}
