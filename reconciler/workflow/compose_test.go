package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counter returns a function that names steps 1, 2, 3 …
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint(n) }
}

// lines formats steps as "id kind what <- needs".
func lines(steps []*Step) []string {
	var out []string
	for _, s := range steps {
		line := fmt.Sprintf("%s %s %s%s", s.ID, s.Kind, s.Component, s.Action)
		if s.Kind == StepAction {
			line = fmt.Sprintf("%s action %s after %s", s.ID, s.Action, s.Component)
		}
		if s.Destroy {
			line += " (destroy)"
		}
		if len(s.Needs) > 0 {
			line += " <- " + strings.Join(s.Needs, ",")
		}
		out = append(out, line)
	}
	return out
}

func TestCompose(t *testing.T) {
	hello := []ComponentPart{
		{Component: "web", DependsOn: []string{"sandbox", "network", "database"},
			ActionsAfter: []TriggeredAction{{Action: "migrate"}, {Action: "smoke", ReadsFrom: []string{"metrics"}}}},
		{Component: "sandbox"},
		{Component: "network", DependsOn: []string{"sandbox"}},
		{Component: "metrics", DependsOn: []string{"sandbox"}},
	}
	for _, c := range []struct {
		name  string
		kind  Kind
		parts []ComponentPart
		want  []string
	}{
		{"provision: sandbox first, independent ones side by side, actions last", KindProvision, hello, []string{
			"1 sync sandbox", "2 plan sandbox <- 1", "3 approve sandbox <- 2", "4 apply sandbox <- 3",
			"5 sync metrics <- 4", "6 plan metrics <- 5", "7 approve metrics <- 6", "8 apply metrics <- 7",
			"9 sync network <- 4", "10 plan network <- 9", "11 approve network <- 10", "12 apply network <- 11",
			"13 sync web <- 12,4", "14 plan web <- 13", "15 approve web <- 14", "16 apply web <- 15",
			"17 action migrate after web <- 16", "18 action smoke after web <- 16,8,17",
		}},
		{"deploy: edges only among what is in it", KindDeploy, []ComponentPart{hello[0], hello[3]}, []string{
			"1 sync metrics", "2 plan metrics <- 1", "3 approve metrics <- 2", "4 apply metrics <- 3",
			"5 sync web", "6 plan web <- 5", "7 approve web <- 6", "8 apply web <- 7",
			"9 action migrate after web <- 8", "10 action smoke after web <- 8,4,9",
		}},
		{"deprovision: the other way round", KindDeprovision,
			[]ComponentPart{{Component: "web", DependsOn: []string{"sandbox", "network", "database"}}, hello[1], hello[2],
				hello[3]},
			[]string{
				"1 sync metrics (destroy)", "2 plan metrics (destroy) <- 1", "3 approve metrics (destroy) <- 2",
				"4 apply metrics (destroy) <- 3",
				"5 sync web (destroy)", "6 plan web (destroy) <- 5", "7 approve web (destroy) <- 6", "8 apply web (destroy) <- 7",
				"9 sync network (destroy) <- 8", "10 plan network (destroy) <- 9", "11 approve network (destroy) <- 10",
				"12 apply network (destroy) <- 11",
				"13 sync sandbox (destroy) <- 4,12,8", "14 plan sandbox (destroy) <- 13", "15 approve sandbox (destroy) <- 14",
				"16 apply sandbox (destroy) <- 15",
			}},
		{"teardown: one", KindTeardown, []ComponentPart{{Component: "old", DependsOn: []string{"sandbox"}}}, []string{
			"1 sync old (destroy)", "2 plan old (destroy) <- 1", "3 approve old (destroy) <- 2", "4 apply old (destroy) <- 3",
		}},
		{"restore: it needs no artifact", KindRestore, []ComponentPart{{Component: "web"}}, []string{
			"1 plan web", "2 approve web <- 1", "3 apply web <- 2",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps, err := Compose(c.kind, c.parts, WorkflowActions{}, counter())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, lines(steps)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestComposeActions runs every kind of action around two components on a sandbox, in
// both directions.
func TestComposeActions(t *testing.T) {
	act := func(name string) []TriggeredAction { return []TriggeredAction{{Action: name, Trigger: name}} }
	parts := []ComponentPart{
		{Component: "sandbox", Sandbox: true, ActionsBefore: act("pre-base"), ActionsAfter: act("post-base")},
		{Component: "network", DependsOn: []string{"sandbox"}, ActionsBefore: append(act("pre-net"), act("pre-net2")...),
			ActionsAfter: act("post-net")},
		{Component: "web", DependsOn: []string{"network", "sandbox"}, ActionsBefore: []TriggeredAction{
			{Action: "pre-plan", Trigger: "pre-plan", BeforePlan: true}, {Action: "pre-web", Trigger: "pre-web"}},
			ActionsAfter: []TriggeredAction{{Action: "post-web", Trigger: "post-web", ReadsFrom: []string{"network"}}}},
	}
	around := WorkflowActions{Before: act("pre-all"), After: act("post-all"), BeforeComponents: act("pre-inner"),
		AfterComponents: act("post-inner")}
	for _, c := range []struct {
		kind Kind
		want []string
	}{
		{KindProvision, []string{
			"action pre-all", "sync sandbox <- pre-all", "plan sandbox <- sync sandbox", "approve sandbox <- plan sandbox",
			"apply sandbox <- approve sandbox, pre-base",
			"action pre-base <- approve sandbox", "action post-base <- apply sandbox",
			"action pre-inner <- pre-all, apply sandbox",
			"sync network <- apply sandbox, pre-all, pre-inner, post-base", "plan network <- sync network",
			"approve network <- plan network",
			"apply network <- approve network, pre-net, pre-net2", "action pre-net <- approve network",
			"action pre-net2 <- approve network, pre-net",
			"action post-net <- apply network",
			"action pre-plan <- apply network, apply sandbox, pre-all, pre-inner, post-base",
			"sync web <- apply network, apply sandbox, pre-all, pre-inner, post-base, pre-plan", "plan web <- sync web",
			"approve web <- plan web", "apply web <- approve web, pre-web",
			"action pre-web <- approve web", "action post-web <- apply web, apply network",
			"action post-inner <- apply network, post-net, apply web, post-web",
			"action post-all <- apply sandbox, post-base, apply network, post-net, apply web, post-web, post-inner",
		}},
		{KindDeprovision, []string{
			"action pre-all", "action pre-inner <- pre-all",
			"action pre-plan <- pre-all, pre-inner",
			"sync web <- pre-all, pre-inner, pre-plan", "plan web <- sync web", "approve web <- plan web",
			"apply web <- approve web, pre-web",
			"action pre-web <- approve web", "action post-web <- apply web",
			"sync network <- apply web, pre-all, pre-inner, post-web", "plan network <- sync network",
			"approve network <- plan network",
			"apply network <- approve network, pre-net, pre-net2", "action pre-net <- approve network",
			"action pre-net2 <- approve network, pre-net",
			"action post-net <- apply network",
			"action post-inner <- apply web, post-web, apply network, post-net",
			"sync sandbox <- apply network, apply web, pre-all, post-inner, post-net, post-web", "plan sandbox <- sync sandbox",
			"approve sandbox <- plan sandbox",
			"apply sandbox <- approve sandbox, pre-base", "action pre-base <- approve sandbox",
			"action post-base <- apply sandbox",
			"action post-all <- apply web, post-web, apply network, post-net, apply sandbox, post-base, post-inner",
		}},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			steps, err := Compose(c.kind, parts, around, counter())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, named(steps)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// named formats steps by what they do, with what the steps that they need do.
func named(steps []*Step) []string {
	names := map[string]string{}
	for _, s := range steps {
		names[s.ID] = fmt.Sprint(s.Kind, " ", s.Component)
		if s.Kind == StepAction {
			names[s.ID] = s.Action
		}
	}
	var out []string
	for _, s := range steps {
		line := names[s.ID]
		if s.Kind == StepAction {
			line = "action " + line
		}
		var needs []string
		for _, id := range s.Needs {
			needs = append(needs, names[id])
		}
		if len(needs) > 0 {
			line += " <- " + strings.Join(needs, ", ")
		}
		out = append(out, line)
	}
	return out
}

func TestComposeRefusesWhatCannotBeOrdered(t *testing.T) {
	_, err := Compose(KindDeploy, []ComponentPart{{Component: "a", DependsOn: []string{"b"}},
		{Component: "b", DependsOn: []string{"a"}},
		{Component: "c"}}, WorkflowActions{}, counter())
	if err == nil || err.Error() != "these components need each other: a, b" {
		t.Errorf("a cycle gives %v", err)
	}
	if _, err := Compose(KindDeploy, []ComponentPart{{Component: "a"}, {Component: "a"}}, WorkflowActions{},
		counter()); err == nil {
		t.Error("a component was taken twice")
	}
}
