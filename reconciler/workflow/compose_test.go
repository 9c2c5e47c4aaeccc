package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counter names steps 1, 2, 3 …
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint(n) }
}

// lines shows steps as "id kind what <- needs".
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
	hello := []Part{
		{Component: "web", After: []string{"sandbox", "network", "database"}, Actions: []PostDeploy{{Action: "migrate"}, {Action: "smoke", After: []string{"metrics"}}}},
		{Component: "sandbox"},
		{Component: "network", After: []string{"sandbox"}},
		{Component: "metrics", After: []string{"sandbox"}},
	}
	for _, c := range []struct {
		name  string
		kind  Kind
		parts []Part
		want  []string
	}{
		{"provision: sandbox first, independent ones side by side, actions last", KindProvision, hello, []string{
			"1 plan sandbox", "2 approve sandbox <- 1", "3 apply sandbox <- 2",
			"4 plan metrics <- 3", "5 approve metrics <- 4", "6 apply metrics <- 5",
			"7 plan network <- 3", "8 approve network <- 7", "9 apply network <- 8",
			"10 plan web <- 9,3", "11 approve web <- 10", "12 apply web <- 11",
			"13 action migrate after web <- 12", "14 action smoke after web <- 12,6,13",
		}},
		{"deploy: edges only among what is in it", KindDeploy, []Part{hello[0], hello[3]}, []string{
			"1 plan metrics", "2 approve metrics <- 1", "3 apply metrics <- 2",
			"4 plan web", "5 approve web <- 4", "6 apply web <- 5",
			"7 action migrate after web <- 6", "8 action smoke after web <- 6,3,7",
		}},
		{"deprovision: the other way round, without actions", KindDeprovision, hello, []string{
			"1 plan metrics (destroy)", "2 approve metrics (destroy) <- 1", "3 apply metrics (destroy) <- 2",
			"4 plan web (destroy)", "5 approve web (destroy) <- 4", "6 apply web (destroy) <- 5",
			"7 plan network (destroy) <- 6", "8 approve network (destroy) <- 7", "9 apply network (destroy) <- 8",
			"10 plan sandbox (destroy) <- 3,9,6", "11 approve sandbox (destroy) <- 10", "12 apply sandbox (destroy) <- 11",
		}},
		{"teardown: one", KindTeardown, []Part{{Component: "old", After: []string{"sandbox"}}}, []string{
			"1 plan old (destroy)", "2 approve old (destroy) <- 1", "3 apply old (destroy) <- 2",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps, err := Compose(c.kind, c.parts, counter())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, lines(steps)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestComposeRefusesWhatCannotBeOrdered(t *testing.T) {
	_, err := Compose(KindDeploy, []Part{{Component: "a", After: []string{"b"}}, {Component: "b", After: []string{"a"}}, {Component: "c"}}, counter())
	if err == nil || err.Error() != "these components need each other: a, b" {
		t.Errorf("a cycle gives %v", err)
	}
	if _, err := Compose(KindDeploy, []Part{{Component: "a"}, {Component: "a"}}, counter()); err == nil {
		t.Error("a component was taken twice")
	}
}
