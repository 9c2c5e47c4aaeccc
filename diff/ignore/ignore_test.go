package ignore_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/ignore"
)

func parse(t interface{ Fatal(...any) }, toml string) *ignore.Rules {
	r, err := ignore.Parse("rules.toml", []byte(toml))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// field returns a difference at a path with dots; its pointer has slashes.
func field(path string) diff.FieldChange {
	return diff.FieldChange{
		Path: path, Pointer: "/" + strings.ReplaceAll(path, ".", "/"),
		Before: diff.ShownValue{Text: "1", Type: diff.TypeNumber}, After: diff.ShownValue{Text: "2", Type: diff.TypeNumber},
	}
}

func update(fields ...diff.FieldChange) diff.Change {
	return diff.Change{
		Address: "shop/Deployment.apps/web", Namespace: "shop", ResourceKind: "Deployment.apps", Name: "web",
		Action: diff.Update, Risk: diff.RiskInPlace, Fields: fields,
	}
}

func report(changes ...diff.Change) *diff.Report {
	r := &diff.Report{Kind: diff.KindKubernetes, Applyable: true, Changes: changes}
	r.Sort()
	r.Totals = r.Count()
	return r
}

// TestSelectors checks that a rule applies to exactly the objects that match all of its selectors.
func TestSelectors(t *testing.T) {
	for selectors, want := range map[string]bool{
		"":                                         true,
		`kind = "Deployment"`:                      true,
		`kind = "deployment"`:                      false,
		`kind = "Deploy*"`:                         true,
		`kind = "Deploy"`:                          false,
		`kind = "Deployment.apps"`:                 false,
		`group = "apps"`:                           true,
		`group = "core"`:                           false,
		`group = "*"`:                              true,
		`namespace = "shop"`:                       true,
		`namespace = "sho"`:                        false,
		`namespace = "*-prod"`:                     false,
		`object = "w*b"`:                           true,
		`object = "web-*"`:                         false,
		`address = "shop/*/web"`:                   true,
		`address = "shop"`:                         false,
		"kind = \"Deployment\"\nobject = \"x\"":    false,
		"kind = \"Deployment\"\nnamespace = \"*\"": true,
	} {
		r := report(update(field("spec.replicas")))
		parse(t, "[[ignore]]\nname = \"r\"\npointers = [\"/spec/replicas\"]\n"+selectors).Apply(r)
		if got := r.Changes[0].Fields[0].Fold == "ignored by r"; got != want {
			t.Errorf("%s: ignored %t", selectors, got)
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", selectors, err)
		}
	}
	// The group without a name, and a Terraform address with characters that other globs treat as
	// special.
	service := diff.Change{Address: "Service/web", ResourceKind: "Service", Name: "web", Action: diff.Update,
		Risk: diff.RiskInPlace, Fields: []diff.FieldChange{field("spec.type")}}
	bucket := diff.Change{Address: `module.a["x/y"].aws_s3_bucket.logs[0]`, ResourceKind: "aws_s3_bucket", Name: "logs",
		Action: diff.Update, Risk: diff.RiskInPlace, Fields: []diff.FieldChange{field("tags")}}
	r := report(service, bucket)
	parse(t, "[[ignore]]\nname = \"s\"\ngroup = \"core\"\nkind = \"Service\"\npointers = [\"\"]\n[[ignore]]\nname = "+
		"\"b\"\naddress = 'module.a[\"x/y\"].*[0]'\npointers = [\"/tags\"]").Apply(r)
	if a, b := r.Changes[0].Fields[0].Fold, r.Changes[1].Fields[0].Fold; a != "ignored by s" || b != "ignored by b" {
		t.Errorf("folded by %q and %q", a, b)
	}
}

// TestPointers checks that a pointer matches a field and everything below it, with stars for steps
// and inside steps.
func TestPointers(t *testing.T) {
	for _, c := range []struct {
		pattern, pointer string
		want             bool
	}{
		{"/spec/replicas", "/spec/replicas", true},
		{"/spec/replicas", "/spec/replicasets", false},
		{"/spec/replicas", "/spec", false},
		{"/spec", "/spec/template/spec/containers/name=web/image", true},
		{"", "/spec", true},
		{"", "", true},
		{"/**", "", true},
		{"/", "", false},
		{"/", "/", true},
		{"/*", "", false},
		{"/spec/*/x", "/spec/a/x", true},
		{"/spec/*/x", "/spec/a/b/x", false},
		{"/spec/**/x", "/spec/a/b/x", true},
		{"/spec/**/x", "/spec/x", true},
		{"/spec/**/x", "/spec/a/b/y", false},
		{"/**/image", "/spec/template/spec/containers/name=web/image", true},
		{"/**/containers/name=w*/image", "/spec/template/spec/containers/name=web/image", true},
		{"/**/containers/name=web/image", "/spec/template/spec/containers/name=db/image", false},
		{"/metadata/annotations/checksum~1*", "/metadata/annotations/checksum~1config", true},
		{"/metadata/annotations/checksum~1*", "/metadata/annotations/checksum", false},
		{"/a~01", "/a~01", true},
		{"/a~01", "/a~1", false},
		{"/data/app.json/@json/log", "/data/app.json/@json/log/level", true},
		{"/**/**/a", "/a", true},
	} {
		f := field("x")
		f.Pointer = c.pointer
		r := report(update(f))
		parse(t, fmt.Sprintf("[[ignore]]\nname = 'r'\npointers = ['/nothing', '%s']", c.pattern)).Apply(r)
		if got := r.Changes[0].Fields[0].Fold != ""; got != c.want {
			t.Errorf("%q on %q: %t", c.pattern, c.pointer, got)
		}
	}
}

// TestFolding checks that ignored fields are counted by rule, also if they were folded before, and
// that fields that force a replacement are always shown.
func TestFolding(t *testing.T) {
	label := field("metadata.labels.chart")
	label.Fold = "chart label"
	forces := field("spec.selector")
	forces.ForcesReplace = true
	replaced := update(forces, field("spec.replicas"))
	replaced.Address, replaced.Action, replaced.Risk, replaced.Order = "shop/Deployment.apps/zoo", diff.Replace,
		diff.RiskReplace, diff.DestroyFirst
	other := label
	other.Path, other.Pointer = "chart", "/chart"
	second := update(other)
	second.Address, second.ResourceKind = "shop/Pod/x", "Pod"
	r := report(update(label, field("spec.paused"), field("spec.replicas")), second, replaced)
	r.AddFold("chart label", diff.FoldFields, 2)
	r.AddFold("default", diff.FoldFields, 0)
	parse(t, `
[[ignore]]
name = "all"
kind = "Deployment"
reason = "to see what stays"
pointers = [""]
[[ignore]]
name = "second"
pointers = ["/spec/replicas"]
[[ignore]]
name = "old"
pointers = ["/gone"]
[[ignore]]
name = "no such kind"
kind = "Pot"
pointers = [""]
`).Apply(r)
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	var folds []string
	for _, c := range r.Changes {
		for _, f := range c.Fields {
			folds = append(folds, f.Path+": "+f.Fold)
		}
	}
	want := []string{"metadata.labels.chart: ignored by all", "spec.paused: ignored by all",
		"spec.replicas: ignored by all", "spec.selector: ", "spec.replicas: ignored by all", "chart: chart label"}
	if d := cmp.Diff(want, folds); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]diff.Fold{{Rule: "chart label", What: "fields", Count: 1},
		{Rule: "ignored by all", What: "fields", Count: 4}}, r.Folded); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`ignore rules "old", "no such kind" matched nothing`}, r.Notes); d != "" {
		t.Error(d)
	}
	if r.Totals.Noise != 2 || r.Totals.Update != 0 || r.Totals.Replace != 1 {
		t.Errorf("counts %+v", r.Totals)
	}
	if !ignore.OnlyIgnored(&r.Changes[0]) || ignore.OnlyIgnored(&r.Changes[1]) || ignore.OnlyIgnored(&r.Changes[2]) {
		t.Error("a chart label, or a replacement, counts as ignored")
	}
	alone := report(update(field("spec.replicas")))
	parse(t, "[[ignore]]\nname = 'r'\npointers = ['']").Apply(alone)
	if !ignore.OnlyIgnored(&alone.Changes[0]) || len(alone.Notes) > 0 {
		t.Errorf("%+v", alone)
	}
}

// TestFindings checks that findings about ignored fields only are removed and counted. Findings of
// destructive changes remain, and so do those for which another field can be a reason: a finding
// names only the first.
func TestFindings(t *testing.T) {
	find := func(rule, path string, risk diff.Risk, security bool) diff.Finding {
		return diff.Finding{Rule: rule, Source: "s", Message: "w", Path: path, Risk: risk, Security: security}
	}
	const image, replicas = "spec.template.image", "spec.replicas"
	changed := func(a diff.Action, fold string, f diff.Finding) diff.Change {
		folded := field("spec.template.metadata.annotations.checksum")
		folded.Fold = fold
		c := update(folded, field(image), field("spec.template.name"), field(replicas))
		c.Action, c.Risk = a, a.Risk()
		c.AddFindings(f)
		return c
	}
	const restart, roll, down = diff.RiskRestart, "pods-roll", "scale-down"
	for name, c := range map[string]struct {
		change   diff.Change
		pointers string
		findings int
		risk     diff.Risk
		folded   string
	}{
		"the one field": {changed(diff.Update, "default", find(down, replicas, restart, true)),
			`"/spec/replicas"`, 0, diff.RiskInPlace, "security findings"},
		"another field": {changed(diff.Update, "default", find(down, replicas, restart, false)),
			`"/spec/template"`, 1, restart, ""},
		"all its fields": {changed(diff.Update, "default", find(roll, image, restart, false)), `"/spec/template"`,
			0, diff.RiskInPlace, "findings"},
		"the first of its fields": {changed(diff.Update, "default", find(roll, image, restart, false)),
			`"/spec/template/image"`, 1, restart, ""},
		"all but a checksum": {changed(diff.Update, "checksum", find(roll, image, restart, false)),
			`"/spec/template/*"`, 0, diff.RiskInPlace, "findings"},
		"a checksum is a reason": {changed(diff.Update, "checksum", find(roll, image, restart, false)),
			`"/spec/template/image", "/spec/template/name"`, 1, restart, ""},
		"of no known rule": {changed(diff.Update, "default", find("x", replicas, restart, false)),
			`"/spec/replicas"`, 1, restart, ""},
		"of no known rule, all": {changed(diff.Update, "default", find("x", replicas, restart, false)), `""`, 0,
			diff.RiskInPlace, "findings"},
		"the object, all ignored": {changed(diff.Update, "default", find(roll, "", restart, false)), `""`, 0,
			diff.RiskInPlace, "findings"},
		"the object, some ignored": {changed(diff.Update, "default", find(roll, "", restart, false)), `"/spec/template"`, 1,
			restart, ""},
		"the object comes": {changed(diff.Create, "", find(roll, "", diff.RiskAdditive, true)), `""`, 1,
			diff.RiskAdditive, ""},
		"data goes": {changed(diff.Update, "default", find(down, replicas, diff.RiskDestroy, false)),
			`"/spec/replicas"`, 1, diff.RiskDestroy, ""},
		"the object goes": {changed(diff.Destroy, "default", find(down, replicas, restart, true)), `""`, 1,
			diff.RiskDestroy, ""},
		"the object is made anew": {changed(diff.Replace, "default", find(down, replicas, restart, true)), `""`, 1,
			diff.RiskReplace, ""},
		"the risk is the action's": {changed(diff.Create, "default", find(down, replicas, restart, true)),
			`"/spec/replicas"`, 0, diff.RiskAdditive, "security findings"},
		"only what it cannot touch": {changed(diff.Update, "default", find(roll, image, restart, false)), `"/spec/replicas"`,
			1, restart, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := report(c.change)
			parse(t, "[[ignore]]\nname = 'r'\npointers = ["+c.pointers+"]").Apply(r)
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			got := r.Changes[0]
			if len(got.Findings) != c.findings || got.Risk != c.risk {
				t.Errorf("risk %s, findings %v", got.Risk, got.Findings)
			}
			counted := ""
			for _, f := range r.Folded {
				if f.What != diff.FoldFields {
					counted = f.What
				}
			}
			if counted != c.folded {
				t.Errorf("counted %v, want %q", r.Folded, c.folded)
			}
		})
	}
}

// TestEveryList checks that the rules apply to every list of a report.
func TestEveryList(t *testing.T) {
	r := report()
	v := reflect.ValueOf(r).Elem()
	lists := 0
	for i := range v.NumField() {
		if list, is := v.Field(i).Addr().Interface().(*[]diff.Change); is {
			*list = []diff.Change{update(field("spec.replicas"))}
			lists++
		}
	}
	r.Totals = r.Count()
	parse(t, "[[ignore]]\nname = 'r'\npointers = ['/spec']").Apply(r)
	if len(r.Folded) != 1 || r.Folded[0].Count != lists {
		t.Errorf("folded %v of %d lists", r.Folded, lists)
	}
}

// TestWrongFiles checks that errors contain the place and the remedy, and no control characters.
func TestWrongFiles(t *testing.T) {
	long := strings.Repeat("x", 65)
	for text, want := range map[string]string{
		"[[ignore]\n": "rules.toml:1:9: ",
		"[[ignore]]\nnam = 'x'": "rules.toml:2:1: there is no ignore.nam; a file has " +
			"[[ignore]] rules with name, kind",
		"[ignored]\nx = 1\n":                                 "rules.toml:1:2: there is no ignored",
		"\n[[ignore]]\nkind = 'x'":                           "rules.toml:2:3: the rule has no name; add one",
		"[[ignore]]\nname = 'x'":                             `rules.toml:1:3: rule "x" has no pointers; name fields, as in pointers = ["/spec/replicas"], or [""] for all`,
		"[[ignore]]\nname = 1":                               "rules.toml:2:8: ",
		"[[ignore]]\nname = ' x'":                            "rules.toml:1:3: the rule's name must be at most 64 characters",
		"[[ignore]]\nname = \"a\\u001b[2Jb\"\npointers=['']": "rules.toml:1:3: the rule's name must be",
		"[[ignore]]\nname = '" + long + "'":                  "rules.toml:1:3: the rule's name must be",
		"[[ignore]]\nname = 'x'\npointers = ['spec']":        `rules.toml:1:3: rule "x": the pointer "spec" does not begin with "/"`,
		"[[ignore]]\nname = 'x'\npointers = ['/a~b']":        `rules.toml:1:3: rule "x": the pointer "/a~b" has a "~" alone; write "~0" for "~"`,
		"[[ignore]]\nname = 'x'\npointers = ['/a~']":         `has a "~" alone`,
		"ignore = [{name = 'x'}]":                            `rules.toml:1:1: rule "x" has no pointers`,
		"[[ignore]]\nname = 'x'\npointers = ['']\n  [[ignore]]\nname = 'x'\npointers=['']": `rules.toml:4:5: rule "x" occurs twice`,
		"[[ignore]]\nname = 'x'\n[[ignore]]\nname = 'y'": "rules.toml:3:3: rule \"y\" " +
			"has no pointers",
		"\"\\u001b[2J\" = 1": `rules.toml:1:1: there is no \x1b[2J`,
		strings.Repeat("#", 256<<10+1): "rules.toml: " +
			"it is larger than 262144 bytes",
		"ignore = [" + strings.Repeat("{name='x'},", 1001) + "]": "rules.toml: " +
			"it has more than 1000 rules",
		"[[ignore]]\nname = 'x'\npointers = [" + strings.Repeat("'',", 1001) +
			"]": "more than 1000 pointers",
		"[[ignore]]\nname = 'x'\npointers = " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000): "rules.toml:",
		"[[ignore]]\n" + strings.Repeat("a.", 100_000) + "a = 1":                                            "rules.toml:",
		"[[ignore]]\nname = \"\xff\"": "rules.toml:2:",
	} {
		r, err := ignore.Parse("rules.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\xff") {
			t.Errorf("%.80q: %q", text, err)
		}
	}
	for _, empty := range []string{"", "# nothing yet\n", "ignore = []"} {
		r := report(update(field("a")))
		parse(t, empty).Apply(r)
		if r.Changes[0].Fields[0].Fold != "" || len(r.Notes) > 0 {
			t.Errorf("%q: %+v", empty, r)
		}
	}
}

// TestManyRules checks that a report stays within its bounds with any number of rules, and that its
// counts are complete.
func TestManyRules(t *testing.T) {
	var text strings.Builder
	c := update()
	for i := range 300 {
		c.Fields = append(c.Fields, field(fmt.Sprintf("f%d", i)))
		fmt.Fprintf(&text, "[[ignore]]\nname = 'rule %d %s'\npointers = ['/f%d']\n[[ignore]]\nname = 'old %d'\n"+
			"pointers=['/x']\n", i, strings.Repeat(`"`, 40), i, i)
	}
	r := report(c)
	parse(t, text.String()).Apply(r)
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, f := range r.Folded {
		all += f.Count
	}
	if all != 300 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], " more matched nothing") {
		t.Errorf("counts %d, notes %v", all, r.Notes)
	}
	r.Notes = make([]string, 100)
	parse(t, "[[ignore]]\nname='x'\npointers=['/y']").Apply(r)
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// TestProperties checks, for arbitrary rules, that a report stays valid, that no change leaves its
// list or gets another action, that nothing new is shown, and that applying the rules twice has the
// effect of applying them once.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var changes []diff.Change
		for i := range rapid.IntRange(0, 4).Draw(t, "changes") {
			c := update()
			c.Address = fmt.Sprintf("a%d", i)
			c.Action = rapid.SampledFrom([]diff.Action{diff.Create, diff.Update, diff.Update, diff.Replace,
				diff.Destroy}).Draw(t, "action")
			c.Risk = c.Action.Risk()
			for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "a.b", "a.c", "b", "a.b.c"}), 0, 4,
				rapid.ID[string]).Draw(t, "fields") {
				f := field(p)
				f.Fold = rapid.SampledFrom([]string{"", "", "", "chart label"}).Draw(t, "fold")
				f.ForcesReplace = rapid.Bool().Draw(t, "forces")
				c.Fields = append(c.Fields, f)
			}
			for range rapid.IntRange(0, 2).Draw(t, "findings") {
				c.AddFindings(diff.Finding{Rule: "r", Message: "w",
					Path: rapid.SampledFrom([]string{"", "a", "a.b", "b", "z"}).Draw(t, "at"),
					Risk: diff.Risk(rapid.IntRange(0, 5).Draw(t, "risk")), Security: rapid.Bool().Draw(t, "security")})
			}
			changes = append(changes, c)
		}
		r := report(changes...)
		var text strings.Builder
		for i, p := range rapid.SliceOfN(rapid.StringMatching(`(/(a|b|c|\*|\*\*|a\*)){0,3}`), 1, 3).Draw(t, "pointers") {
			fmt.Fprintf(&text, "[[ignore]]\nname = 'r%d'\npointers = ['%s']\naddress = '%s'\n", i, p,
				rapid.SampledFrom([]string{"", "*", "a0", "*1"}).Draw(t, "address"))
		}
		before := r.Risk()
		parse(t, text.String()).Apply(r)
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if r.Risk() > before || before >= diff.RiskReplace && r.Risk() != before {
			t.Fatalf("the risk was %s and is %s", before, r.Risk())
		}
		for i, c := range r.Changes {
			if c.Action != changes[i].Action || len(c.Fields) != len(changes[i].Fields) {
				t.Fatalf("%s became %s", changes[i].Action, c.Action)
			}
			if c.Action.Destructive() && c.IsNoise() {
				t.Fatal("what destroys is noise")
			}
		}
		r.Notes = nil
		again := *r
		parse(t, text.String()).Apply(&again)
		again.Notes = nil
		if d := cmp.Diff(r, &again); d != "" {
			t.Fatal(d)
		}
	})
}

// FuzzParse checks that no file causes a panic, and that accepted files leave a report valid.
func FuzzParse(f *testing.F) {
	f.Add([]byte("[[ignore]]\nname = 'x'\npointers = ['/a/**/b*', '']\nkind = '*'\n"), "/a/b")
	f.Add([]byte("ignore = [{}]"), "")
	f.Add([]byte("[[ignore.x]]\n[ignore]\n"), "/~")
	f.Fuzz(func(t *testing.T, text []byte, pointer string) {
		rules, err := ignore.Parse("f", text)
		if err != nil {
			return
		}
		c := update(field("a"))
		c.Fields[0].Pointer = pointer
		r := report(c)
		rules.Apply(r)
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
