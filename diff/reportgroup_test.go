package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
)

// planOf returns a report with the install's name, id and namespace in every
// text that can hold them.
func planOf(name, id, namespace string) *diff.Report {
	text := func(before, after string) diff.FieldChange {
		return diff.FieldChange{
			Path: "spec." + name, Pointer: "/spec/" + name, Owner: name + "-operator",
			Before: diff.ShownValue{Text: before, Type: diff.TypeString}, After: diff.ShownValue{Text: after,
				Type: diff.TypeString},
		}
	}
	lines := text("host: "+name+"\n", "host: "+name+".example\n")
	lines.Lines = []diff.Line{{Op: diff.LineRemoved, Text: "host: " + name},
		{Op: diff.LineAdded, Text: "host: " + name + ".example"}}
	masked := text("", "")
	masked.Before, masked.After = diff.ShownValue{Masked: true, Tag: "t-" + id[:3]},
		diff.ShownValue{Masked: true, Mark: diff.MarkChanged, Tag: "u-" + id[:3]}
	between := text("a", "b")
	between.Path, between.Pointer, between.Owner = "spec.m", "/spec/m", ""
	fields := []diff.FieldChange{lines, masked, text(name, "x-"+name+"_"+id), between}
	slices.SortStableFunc(fields, func(a, b diff.FieldChange) int { return strings.Compare(a.Path, b.Path) })
	r := &diff.Report{
		Kind: diff.KindKubernetes,
		Changes: []diff.Change{
			{
				Address: namespace + "/Deployment.apps/" + name + "-db", Namespace: namespace, ResourceKind: "Deployment.apps",
				Name:   name + "-db",
				Action: diff.Update, Risk: diff.RiskRestart, Why: "spec." + name + " changed",
				Fields: fields,
			},
			{Address: "cache", ResourceKind: "ConfigMap", Name: "cache", Action: diff.Create, Risk: diff.RiskAdditive},
			{Address: "module." + name, Module: name, ResourceKind: "x", Name: name, Action: diff.Import,
				Risk: diff.RiskAdditive, ImportID: id,
				From: "module.old-" + name},
		},
		Checks: []diff.Check{{Address: "check." + name, Status: diff.CheckFail,
			Problems: []string{name + " is not there"}}},
		Notes:     []string{"Nothing was asked of the cluster of " + id + "."},
		Applyable: true,
	}
	r.Changes[0].AddFindings(diff.Finding{Rule: "r", Risk: diff.RiskRestart, Message: "pods of " + name + " restart",
		Path: "spec." + name},
		diff.Finding{Rule: "r", Risk: diff.RiskRestart, Message: "pods restart", Path: "spec.m"})
	r.Sort()
	r.Totals = r.Count()
	return r
}

func member(name, id, namespace string) diff.Member {
	return diff.Member{Install: name, Names: []string{name, id, namespace}, Report: planOf(name, id, namespace)}
}

func TestGroupOfCopiesIsOne(t *testing.T) {
	// zorro sorts after "cache" and acme before it: the position in a list must not matter.
	members := []diff.Member{member("zorro", "ins_2", "ns-zorro"), member("acme", "ins_1", "ns-acme"),
		member("acme-prod", "ins_3", "acme")}
	other := member("globex", "ins_4", "ns-globex")
	other.Report.Changes[1].Risk = diff.RiskDestroy
	got := diff.Group(append(members, other))
	if len(got) != 2 || !slices.Equal(got[0].Members, []string{"acme", "acme-prod", "zorro"}) ||
		!slices.Equal(got[1].Members, []string{"globex"}) {
		t.Fatalf("groups: %+v", got)
	}
	shown := got[0].Report
	if err := shown.Validate(); err != nil {
		t.Error(err)
	}
	all := fmt.Sprintf("%+v", shown)
	for _, own := range []string{"acme", "ins_1", "t-ins"} {
		if strings.Contains(all, own) {
			t.Errorf("%q is still in the report of the group: %s", own, all)
		}
	}
	if want := "‹own name 3›/Deployment.apps/‹own name›-db"; !strings.Contains(all, want) {
		t.Errorf("%q is not in the report of the group: %s", want, all)
	}
	if members[1].Report.Digest() != planOf("acme", "ins_1", "ns-acme").Digest() {
		t.Error("Group changed a member's report")
	}
}

// TestGroupSplitsOnEveryDifference checks that every difference except in own
// names separates two reports.
func TestGroupSplitsOnEveryDifference(t *testing.T) {
	want := planOf("acme", "ins_1", "ns-acme").GroupDigest("acme", "ins_1", "ns-acme")
	for name, spoil := range map[string]func(*diff.Report){
		"kind":              func(r *diff.Report) { r.Kind = "x" },
		"another's name":    func(r *diff.Report) { r.Changes[2].Address = "acme" },
		"own names swapped": func(r *diff.Report) { r.Changes[2].Namespace = "globex" },
		"action":            func(r *diff.Report) { r.Changes[0].Action = diff.Forget },
		"order":             func(r *diff.Report) { r.Changes[0].Order = diff.CreateFirst },
		"risk":              func(r *diff.Report) { r.Changes[0].Risk = diff.RiskNone },
		"finding":           func(r *diff.Report) { r.Changes[2].Findings[0].Security = true },
		"rule":              func(r *diff.Report) { r.Changes[2].Findings[0].Rule = "other" },
		"source":            func(r *diff.Report) { r.Changes[2].Findings[0].Source = "other" },
		"hook":              func(r *diff.Report) { r.Changes[0].Hook = "pre-install" },
		"renamed":           func(r *diff.Report) { r.Changes[1].Renamed = true },
		"deposed":           func(r *diff.Report) { r.Changes[1].Deposed = "0a" },
		"unchanged":         func(r *diff.Report) { r.Changes[1].Unchanged++ },
		"line":              func(r *diff.Report) { r.Changes[2].Fields[0].Lines[0].Op = diff.LineSame },
		"line text":         func(r *diff.Report) { r.Changes[2].Fields[0].Lines[0].Text += "x" },
		"value":             func(r *diff.Report) { r.Changes[2].Fields[2].After.Text = "globex-x" },
		"type":              func(r *diff.Report) { r.Changes[2].Fields[2].After.Type = diff.TypeList },
		"mark":              func(r *diff.Report) { r.Changes[2].Fields[1].After.Mark = diff.MarkSame },
		"masked": func(r *diff.Report) {
			r.Changes[2].Fields[2].After = diff.ShownValue{Masked: true, Mark: diff.MarkChanged}
		},
		"sum":             func(r *diff.Report) { r.Changes[2].Fields[2].After.Sum = "sha256:x" },
		"fold":            func(r *diff.Report) { r.Changes[2].Fields[2].Fold = "default" },
		"owner":           func(r *diff.Report) { r.Changes[2].Fields[2].Owner = "" },
		"forces":          func(r *diff.Report) { r.Changes[2].Fields[2].ForcesReplace = true },
		"regenerated":     func(r *diff.Report) { r.Changes[2].Fields[2].Regenerated = true },
		"reordered":       func(r *diff.Report) { r.Changes[2].Fields[2].Reordered = true },
		"one field less":  func(r *diff.Report) { r.Changes[2].Fields = r.Changes[2].Fields[:2] },
		"one change less": func(r *diff.Report) { r.Changes = r.Changes[:2] },
		"list":            func(r *diff.Report) { r.Hooks, r.Changes = r.Changes, nil },
		"check":           func(r *diff.Report) { r.Checks[0].Status = diff.CheckError },
		"folded":          func(r *diff.Report) { r.AddFold("default", diff.FoldFields, 1) },
		"note":            func(r *diff.Report) { r.Notes = nil },
		"applyable":       func(r *diff.Report) { r.Applyable = false },
		"totals":          func(r *diff.Report) { r.Totals.Security++ },
		"bad risk":        func(r *diff.Report) { r.Changes[0].Risk = 77 },
	} {
		r := planOf("globex", "ins_2", "ns-globex")
		if got := r.GroupDigest("globex", "ins_2", "ns-globex"); got != want {
			t.Fatal("the two are not alike to begin with")
		}
		spoil(r)
		if got := r.GroupDigest("globex", "ins_2", "ns-globex"); got == want {
			t.Errorf("%s: another plan has the same group digest", name)
		}
	}
	if r := planOf("acme", "ins_1", "ns-acme"); want == r.Digest() || r.GroupDigest() == r.Digest() {
		t.Error("a group digest is a digest")
	}
}

func value(before, after string) *diff.Report {
	r := &diff.Report{Kind: "test",
		Changes: []diff.Change{{Address: "a", Action: diff.Update, Risk: diff.RiskInPlace, Fields: []diff.FieldChange{{
			Path: "p", Before: diff.ShownValue{Text: before, Type: diff.TypeString},
			After: diff.ShownValue{Text: after, Type: diff.TypeString},
		}}}}}
	r.Totals = r.Count()
	return r
}

// TestAlikeValues compares the same change in two installs, by the values before and after it.
func TestAlikeValues(t *testing.T) {
	for _, c := range []struct {
		why                 string
		one                 string
		oneBefore, oneAfter string
		two                 string
		twoBefore, twoAfter string
		alike               bool
	}{
		{"own names", "acme", "a", "acme", "globex", "a", "globex", true},
		{"own names inside", "acme", "http://acme-db.svc", "acme_x", "globex", "http://globex-db.svc", "globex_x", true},
		{"one goes to the other", "prod", "prod", "dev", "dev", "prod", "dev", false},
		{"each goes to the other", "prod", "prod", "dev", "dev", "dev", "prod", false},
		{"both come from elsewhere", "prod", "x", "dev", "dev", "x", "dev", false},
		{"another's name in both", "acme", "globex", "acme", "initech", "globex", "initech", true},
		{"a part of a word", "acme", "acmes", "x", "globex", "globexs", "x", false},
		{"unicode letters join", "acme", "äacme", "x", "globex", "äglobex", "x", false},
		{"looks like a placeholder", "acme", "‹own name›", "acme", "globex", "globex", "globex", false},
		{"looks like an escaped one", "acme", "‹‹own name›", "x", "globex", "‹globex", "x", false},
		{"a placeholder's mark before a name", "acme", "‹acme", "x", "globex", "‹globex", "x", true},
		{"another mark", "acme", "‹‹acme", "x", "globex", "‹globex", "x", false},
		{"words of power", "admin", "x", "admin", "viewer", "x", "viewer", false},
		{"words of power in a row", "cluster-admin", "x", "cluster-admin", "cluster-viewer", "x", "cluster-viewer", false},
		{"addresses", "0.0.0.0", "x", "0.0.0.0/0", "10.0.0.0", "x", "10.0.0.0/0", false},
		{"networks", "0.0.0.0/0", "x", "0.0.0.0/0", "10.0.0.0/8", "x", "10.0.0.0/8", false},
		{"numbers", "1", "x", "1", "1000", "x", "1000", false},
		{"versions", "v1.2", "x", "v1.2", "v2.0", "x", "v2.0", false},
		{"sizes", "10Gi", "x", "10Gi", "1Gi", "x", "1Gi", false},
		{"everything", "*", "x", "*", "arn", "x", "arn", false},
		{"account ids", "123456789012", "x", "arn:aws:iam::123456789012:root", "210987654321", "x",
			"arn:aws:iam::210987654321:root", true},
		{"an ordinary word, whole", "web", "x", "web", "api", "x", "api", true},
		{"an ordinary word as a part of a name", "web", "x", "web-frontend", "acme", "x", "web-frontend", true},
		{"a short name, whole", "eu", "x", "eu", "us", "x", "us", true},
		{"a short name as a part of a name", "eu", "x", "eu-west-1", "us", "x", "eu-west-1", true},
		{"bytes that are no text", "acme", "\xff", "x", "globex", "\xfe", "x", false},
		{"an empty name", "", "x", "y", "globex", "x", "y", true},
	} {
		one, two := value(c.oneBefore, c.oneAfter), value(c.twoBefore, c.twoAfter)
		if got := one.GroupDigest(c.one) == two.GroupDigest(c.two); got != c.alike {
			t.Errorf("%s: alike: %t, want %t", c.why, got, c.alike)
		}
	}
}

func TestNumbersAreNoNames(t *testing.T) {
	r := func(n string) *diff.Report {
		r := value("x", n)
		r.Changes[0].Fields[0].After.Type = diff.TypeNumber
		return r
	}
	if r("123456789").GroupDigest("123456789") == r("987654321").GroupDigest("987654321") {
		t.Error("two numbers are alike")
	}
}

// TestWhatRunsIsNoName checks that an install with the name of an image is
// not alike to one that runs another image.
func TestWhatRunsIsNoName(t *testing.T) {
	r := func(path, text string, kind diff.ValueType) *diff.Report {
		r := value("x", text)
		r.Changes[0].Fields[0].Path, r.Changes[0].Fields[0].After.Type = path, kind
		return r
	}
	for _, c := range []struct {
		path, text string
		kind       diff.ValueType
		alike      bool
	}{
		{"spec.template.spec.containers[main].image", "NAME:1.2", diff.TypeString, false},
		{"image", "NAME", diff.TypeString, false},
		{"rules[0].verbs[2]", "NAME", diff.TypeString, false},
		{`data["a.json"] (json) image`, "NAME", diff.TypeString, false},
		{"spec.containers", `[{"args":["a\"b"],"image":"NAME"}]`, diff.TypeList, false},
		{"spec.containers", `[{"args":["NAME"],"name":"image"}]`, diff.TypeList, true},
		{"data.app", "a: b\n  - \"image\": NAME\n", diff.TypeString, false},
		{"data.app", "a: b\nhost: NAME\n", diff.TypeString, true},
		{"spec.image.pullSecret", "NAME", diff.TypeString, true},
		{"spec.host", "NAME", diff.TypeString, true},
	} {
		one, two := r(c.path, strings.ReplaceAll(c.text, "NAME", "nginx"), c.kind),
			r(c.path, strings.ReplaceAll(c.text, "NAME", "httpd"), c.kind)
		if got := one.GroupDigest("nginx") == two.GroupDigest("httpd"); got != c.alike {
			t.Errorf("%s %s: alike %t", c.path, c.text, got)
		}
	}
}

// TestNamesInOrder checks that the index of a name in the list identifies it.
func TestNamesInOrder(t *testing.T) {
	a := value("acme", "ins_acme").GroupDigest("acme", "ins_acme")
	if b := value("ins_globex", "globex").GroupDigest("globex", "ins_globex"); a == b {
		t.Error("a name and an id change places, and nobody sees it")
	}
	if b := value("globex", "ins_globex").GroupDigest("globex", "ins_globex"); a != b {
		t.Error("a name inside an id is taken for the name")
	}
	if value("", "acme-prod").GroupDigest("acme", "acme-prod") != value("", "globex-eu").GroupDigest("globex",
		"globex-eu") {
		t.Error("the longest name does not come first")
	}
}

// TestCutValuesAreAlikeOnlyAsTheyAre checks that a cut value counts by its
// sum, and that names in it are not replaced.
func TestCutValuesAreAlikeOnlyAsTheyAre(t *testing.T) {
	r := func(text, sum string) *diff.Report {
		r := value("x", text)
		r.Changes[0].Fields[0].After.Sum, r.Changes[0].Fields[0].After.Size = sum, 5000
		return r
	}
	if r("acme", "sha256:1").GroupDigest("acme") == r("globex", "sha256:2").GroupDigest("globex") {
		t.Error("two cut values with two sums are alike")
	}
	if r("acme", "sha256:1").GroupDigest("acme") == r("globex", "sha256:1").GroupDigest("globex") {
		t.Error("two cut values that show two texts are alike")
	}
	if r("same", "sha256:1").GroupDigest("acme") != r("same", "sha256:1").GroupDigest("globex") {
		t.Error("one cut value is not alike")
	}
}

// TestGroupProperties checks that copies under other names form one group in
// any order, and that a real difference in one of them is detected.
func TestGroupProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[b-z]{5}[0-9]{2}`), 2, 8, rapid.ID[string]).Draw(t, "names")
		var members []diff.Member
		for _, n := range names {
			members = append(members, member(n, "ins_"+n, "ns-"+n))
		}
		odd := rapid.IntRange(-1, len(members)-1).Draw(t, "odd")
		want := 1
		if odd >= 0 {
			r := members[odd].Report
			f := &r.Changes[rapid.IntRange(0, len(r.Changes)-1).Draw(t, "change")]
			f.Why += rapid.SampledFrom(append(names, "x")).Filter(func(s string) bool { return s != names[odd] }).Draw(t, "why")
			want = 2
		}
		groups := diff.Group(members)
		if len(groups) != want {
			t.Fatalf("%d groups, want %d", len(groups), want)
		}
		shuffled := rapid.Permutation(members).Draw(t, "order")
		if d := cmp.Diff(groups, diff.Group(shuffled)); d != "" {
			t.Fatalf("the order of the members matters:\n%s", d)
		}
	})
}

// TestGroupDigestTurnsBack checks that different texts never have the same
// group digest under the same names.
func TestGroupDigestTurnsBack(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"acme", "ins_1", "‹", "›", "own name", "‹own name›", "‹own name 2›", "x", "-",
		"xff", "\xff", "2", " "})
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(pieces, 0, 5).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		same := value("", a).GroupDigest("acme", "ins_1") == value("", b).GroupDigest("acme", "ins_1")
		if same != (a == b) {
			t.Fatalf("%q and %q: one digest: %t", a, b, same)
		}
	})
}

func TestGroupOfNothing(t *testing.T) {
	if got := diff.Group(nil); len(got) != 0 {
		t.Errorf("groups of nothing: %+v", got)
	}
	got := diff.Group([]diff.Member{{Install: "b"}, {Install: "a", Report: &diff.Report{}}})
	if len(got) != 1 || !slices.Equal(got[0].Members, []string{"a", "b"}) {
		t.Errorf("groups of empty reports: %+v", got)
	}
}

// BenchmarkGroup groups 1,000 reports of 100 changes.
func BenchmarkGroup(b *testing.B) {
	members := make([]diff.Member, 1000)
	for i := range members {
		name := fmt.Sprintf("install-%04d", i)
		r := &diff.Report{Kind: "test"}
		for range 34 {
			r.Changes = append(r.Changes, planOf(name, "ins_"+name, "ns-"+name).Changes...)
		}
		r.Totals = r.Count()
		members[i] = diff.Member{Install: name, Names: []string{name, "ins_" + name, "ns-" + name}, Report: r}
	}
	for b.Loop() {
		if n := len(diff.Group(members)); n != 1 {
			b.Fatalf("%d groups", n)
		}
	}
}
