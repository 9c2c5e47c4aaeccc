package risk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

func deployment(t *testing.T, before, after string) (*diff.Change, risk.Subject) {
	t.Helper()
	s := situation{Kind: "Deployment", Group: "apps", Before: json.RawMessage(before), After: json.RawMessage(after)}
	return s.change(t, diff.KindKubernetes, true)
}

// TestFoldedFields checks that a checksum counts as a restart of pods though it is folded, and that
// a default that is filled in has no finding.
func TestFoldedFields(t *testing.T) {
	for fold, want := range map[string]int{"": 1, "checksum": 1, "chart label": 1, "restart mark": 1, "default": 0,
		"server-owned": 0, "regenerated": 0} {
		c, s := deployment(t, `{"spec":{"template":{"metadata":{"annotations":{"checksum/config":"a"}}}}}`,
			`{"spec":{"template":{"metadata":{"annotations":{"checksum/config":"b"}}}}}`)
		c.Fields[0].Fold, s.Differences[0].Folded = fold, fold != ""
		risk.Judge(c, s)
		if len(c.Findings) != want {
			t.Errorf("fold %q: %d findings, want %d", fold, len(c.Findings), want)
		}
	}
}

func TestReplacement(t *testing.T) {
	c, s := deployment(t, `{"spec":{"selector":{"a":"1","b":"1","c":"1","d":"1"},"replicas":1}}`,
		`{"spec":{"selector":{"a":"2","b":"2","c":"2","d":"2"},"replicas":2}}`)
	c.Why = "it was adopted"
	risk.Judge(c, s)
	want := "4 fields of spec.selector cannot change in place; it was adopted"
	if c.Why != want || c.Order != diff.DestroyFirst || c.Risk != diff.RiskDestroy {
		t.Errorf("why %q, order %s, risk %s", c.Why, c.Order, c.Risk)
	}
	for _, f := range c.Fields {
		if f.ForcesReplace != strings.HasPrefix(f.Path, "spec.selector") {
			t.Errorf("%s forces a replacement: %t", f.Path, f.ForcesReplace)
		}
	}
	if len(c.Findings) != 1 || c.Findings[0].Path != "spec.selector.a" {
		t.Errorf("findings: %+v", c.Findings)
	}
	r := &diff.Report{Kind: diff.KindKubernetes, Changes: []diff.Change{*c}}
	r.Totals = r.Count()
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// TestGoneFieldIsNamed checks that the finding for a changed definition cites the removed field.
func TestGoneFieldIsNamed(t *testing.T) {
	s := situation{
		Kind: "CustomResourceDefinition", Group: "apiextensions.k8s.io",
		Before: json.RawMessage(`{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}]}}`),
		After: json.RawMessage(
			`{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"properties":{"a":{"type":"integer"}}}}}]}}`),
	}
	c, subject := s.change(t, diff.KindKubernetes, false)
	risk.Judge(c, subject)
	paths := map[string]string{}
	for _, f := range c.Findings {
		paths[f.Rule] = f.Path
	}
	const schema = "spec.versions[v1].schema.openAPIV3Schema.properties"
	if paths["crd-field-gone"] != schema+".b" || paths["crd-type"] != schema+".a.type" {
		t.Errorf("findings: %+v", c.Findings)
	}
}

func TestRegeneratedFields(t *testing.T) {
	s := situation{Kind: "Secret", Before: json.RawMessage(`{"data":{"a":"1"}}`),
		After: json.RawMessage(`{"data":{"a":"2"}}`)}
	c, subject := s.change(t, diff.KindKubernetes, true)
	c.Fields[0].Regenerated = true
	risk.Judge(c, subject)
	if len(c.Findings) != 1 || c.Findings[0].Rule != "value-regenerated" {
		t.Errorf("findings: %+v", c.Findings)
	}
}

// TestNothingIsPutIntoWords checks that findings consist only of the rules' own words and the
// report's own paths, for arbitrary values.
func TestNothingIsPutIntoWords(t *testing.T) {
	words, details := map[string]bool{}, map[string]bool{}
	for _, r := range risk.Rules() {
		words[r.Name+"\n"+r.Message] = true
	}
	for _, w := range append(risk.GainTexts(), "local-exec") {
		details[w] = true
	}
	for _, engine := range []string{diff.KindKubernetes, diff.KindTerraform} {
		for _, s := range situations(t, engine) {
			c, subject := s.change(t, engine, true)
			for i := range c.Fields {
				c.Fields[i].Path = fmt.Sprintf("path %d", i)
			}
			risk.Judge(c, subject)
			for _, f := range c.Findings {
				if f.Rule == "role-widens" || f.Rule == "provisioner-runs" {
					var gains string
					f.Message, gains, _ = strings.Cut(f.Message, ": ")
					for _, g := range strings.Split(gains, "; ") {
						if gains != "" && !details[g] {
							t.Errorf("%s: a gain in words of its own: %s", s.Name, g)
						}
					}
				}
				if !words[f.Rule+"\n"+f.Message] || f.Path != "" && !strings.HasPrefix(f.Path, "path ") {
					t.Errorf("%s: %+v", s.Name, f)
				}
			}
		}
	}
}

// TestJudgeTakesAnything runs Judge on values of any shape, in any place and of any kind, and with
// fewer differences than fields.
func TestJudgeTakesAnything(t *testing.T) {
	words := rapid.SampledFrom([]string{"spec", "template", "containers", "name", "rules", "subjects", "policy",
		"ingress", "Statement", "versions",
		"securityContext", "resources", "limits", "cpu", "1", "*", "", "data", "clusterIP", "permissions", "webhooks",
		"metadata", "annotations",
		"labels", "image", "volumes", "steps", "apiVersion", "kind", "mtls", "servers", "tls", "endpoints", "finalizers",
		"required", "type"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaves := []*rapid.Generator[any]{rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](7), words.AsAny(),
			rapid.Just[any](`{"Statement":[{"Effect":"Allow","Action":["*"]}]}`)}
		if depth == 0 {
			return rapid.OneOf(leaves...)
		}
		return rapid.OneOf(append(leaves, rapid.MapOfN(words, value(depth-1), 0, 4).AsAny(),
			rapid.SliceOfN(value(depth-1), 0, 3).AsAny())...)
	}
	kinds := map[string][]string{}
	for _, r := range risk.Rules() {
		kinds[r.Engine] = append(kinds[r.Engine], r.Kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		engine := rapid.SampledFrom([]string{diff.KindKubernetes, diff.KindTerraform}).Draw(t, "engine")
		side := func(name string) json.RawMessage {
			data, err := json.Marshal(value(5).Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		s := situation{Before: side("before"), After: side("after")}
		kind := strings.ReplaceAll(rapid.SampledFrom(kinds[engine]).Draw(t, "kind"), "*", "x")
		s.Kind, s.Group, _ = strings.Cut(kind, ".")
		if engine == diff.KindTerraform {
			s.Kind, s.Group = kind, ""
		}
		s.Action = rapid.SampledFrom([]diff.Action{diff.Create, diff.Update, diff.Replace, diff.Destroy,
			diff.Move}).Draw(t, "action")
		c, subject := change(t, s, engine)
		risk.Judge(c, subject)
		if c.Risk < c.Action.Risk() {
			t.Fatalf("%s has the risk %s", c.Action, c.Risk)
		}
	})
	c := &diff.Change{Address: "a", Action: diff.Update, Fields: make([]diff.FieldChange, 3)}
	risk.Judge(c, risk.Subject{Engine: diff.KindKubernetes, Kind: "Service",
		Differences: []risk.Difference{{Path: tree.Path{}.Field("spec")}}})
	risk.Judge(c, risk.Subject{Engine: "other"})
}

func change(t *rapid.T, s situation, engine string) (*diff.Change, risk.Subject) {
	var inner testing.T
	c, subject := s.change(&inner, engine, rapid.Bool().Draw(t, "deep"))
	return c, subject
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := risk.Table(&b); err != nil {
		t.Fatal(err)
	}
	for _, r := range risk.Rules() {
		if !strings.Contains(b.String(), "| [`"+r.Name+"`]("+r.Source+") |") {
			t.Errorf("%s is not in the table", r.Name)
		}
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
			t.Errorf("not a row: %s", line)
		}
	}
}

// BenchmarkJudge judges one Deployment with a new image, the most common change.
func BenchmarkJudge(b *testing.B) {
	s := situation{Kind: "Deployment", Group: "apps",
		Before: json.RawMessage(
			`{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"}]}}}}`),
		After: json.RawMessage(
			`{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a:2"},{"name":"b","image":"b:2"}]}}}}`)}
	var t testing.T
	c, subject := s.change(&t, diff.KindKubernetes, true)
	for b.Loop() {
		fresh := *c
		risk.Judge(&fresh, subject)
	}
}

// TestFindingsPointAtTheirField checks that a finding cites its own field and not the first
// difference.
func TestFindingsPointAtTheirField(t *testing.T) {
	c, s := deployment(t, `{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a:1","securityContext":{"privileged":false}}]}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a:2","securityContext":{"privileged":true}}]}}}}`)
	risk.Judge(c, s)
	paths := map[string]string{}
	for _, f := range c.Findings {
		paths[f.Rule] = f.Path
	}
	if paths["pod-privileged"] != "spec.template.spec.containers[a].securityContext.privileged" ||
		paths["pods-roll"] != "spec.template.spec.containers[a].image" {
		t.Errorf("paths: %v", paths)
	}
}

// TestRenamedSettings checks that settings that replace others under a new name are judged under the
// new name, so that they cause no finding.
func TestRenamedSettings(t *testing.T) {
	for _, renamed := range []bool{false, true} {
		s := situation{Kind: "ConfigMap", Before: json.RawMessage(`{"data":{"a":"1"}}`),
			After: json.RawMessage(`{"data":{"a":"2"}}`)}
		c, subject := s.change(t, diff.KindKubernetes, true)
		c.Action, c.Order, c.Renamed = diff.Replace, diff.CreateFirst, renamed
		risk.Judge(c, subject)
		found := slices.ContainsFunc(c.Findings, func(f diff.Finding) bool { return f.Rule == "config-gone" })
		if found == renamed {
			t.Errorf("renamed %t: found %t", renamed, found)
		}
	}
}

// TestRoleGains checks that a finding lists what a role newly allows, most severe first, with the
// place.
func TestRoleGains(t *testing.T) {
	rule := func(groups, resources, verbs, names string) string {
		return fmt.Sprintf(`{"apiGroups":[%s],"resources":[%s],"verbs":[%s],"resourceNames":[%s]}`, groups, resources,
			verbs, names)
	}
	for _, test := range []struct{ kind, before, after, want string }{
		{"ClusterRole", "", rule(`""`, `"secrets","pods/exec","serviceaccounts/token"`, `"get","create"`, ""),
			"in all namespaces: read secrets; write secrets; exec into pods; mint tokens of service accounts"},
		{"Role", rule(`""`, `"pods"`, `"get"`, ""), rule(`""`, `"pods","secrets"`, `"get"`, ""), "read secrets"},
		{"Role", rule(`""`, `"secrets"`, `"get"`, `"a"`), rule(`""`, `"secrets"`, `"get"`, `"b"`),
			"read more kinds of objects"},
		{"Role", "", rule(`""`, `"secrets"`, `"get"`, `"a"`), "read secrets of certain names"},
		{"Role", rule(`""`, `"secrets"`, `"get"`, `"a"`), rule(`""`, `"secrets"`, `"get"`, ""), "read secrets"},
		{"ClusterRole", "", rule(`"*"`, `"*"`, `"*"`, ""), "do everything"},
		{"ClusterRole", "", rule(`"admissionregistration.k8s.io"`, `"*"`, `"delete"`, ""),
			"on the cluster: change what admission checks"},
		{"ClusterRole", "", rule(`"apps"`, `"deployments"`, `"patch"`, ""),
			"in all namespaces: start pods, and so use every account and secret beside them"},
		{"Role", "", rule(`"x.io"`, `"foos"`, `"get","delete"`, ""), "read more kinds of objects; delete more kinds " +
			"of objects"},
		{"ClusterRole", "", `{"nonResourceURLs":["*"],"verbs":["get"]}`, "reach every path of the API"},
	} {
		s := situation{Kind: test.kind, Group: "rbac.authorization.k8s.io",
			Before: json.RawMessage(`{"rules":[` + test.before + `]}`), After: json.RawMessage(`{"rules":[` + test.after + `]}`)}
		c, subject := s.change(t, diff.KindKubernetes, true)
		risk.Judge(c, subject)
		at := slices.IndexFunc(c.Findings, func(f diff.Finding) bool { return f.Rule == "role-widens" })
		if at < 0 {
			t.Errorf("%s: no finding", test.want)
			continue
		}
		if _, got, _ := strings.Cut(c.Findings[at].Message, ": "); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
