package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// TestFourRealChanges covers a Deployment for which other tools report up to 118 changes.
func TestFourRealChanges(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/situations/four-real-changes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r := compare(t, string(archive.Files[0].Data), string(archive.Files[1].Data), kubernetes.Options{})
	if len(r.Changes) != 1 || len(r.Folded) != 0 {
		t.Fatalf("%d changes, folded %v", len(r.Changes), r.Folded)
	}
	var got []string
	for _, f := range r.Changes[0].Fields {
		got = append(got, f.Pointer)
	}
	want := []string{
		"/metadata/labels/tier",
		"/spec/template/spec/containers",
		"/spec/template/spec/containers/name=web/env/name=FEATURE_CART",
		"/spec/template/spec/containers/name=web/image",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNothingChangesInEqualInput checks that a manifest compared with itself
// has no changes, and that the same pair always has the same digest.
func TestNothingChangesInEqualInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &planted{t: t}
		one, other := p.side(), p.side()
		same, err := kubernetes.Report(source("a", one), source("b", one), kubernetes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(same.Changes)+len(same.Hooks)+len(same.Drift) > 0 || same.Applyable {
			t.Fatalf("equal input has changes")
		}
		three, err := kubernetes.Report(source("a", one), source("b", one),
			kubernetes.Options{ThreeWay: true, Live: source("c", one)})
		if err != nil {
			t.Fatal(err)
		}
		if len(three.Changes)+len(three.Drift) > 0 || three.Applyable {
			t.Fatalf("what runs as it was applied has changes")
		}
		var digests []string
		for range 3 {
			r, err := kubernetes.Report(source("a", one), source("b", other), kubernetes.Options{})
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, r.Digest())
		}
		if digests[0] != digests[1] || digests[0] != digests[2] {
			t.Fatal("the same pair has several digests")
		}
	})
}

const (
	service = "apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {ports: [{port: %d}]}\n---\n"
	config  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: %q, b: same, c: same}\n---\n"
)

// TestRenames covers new objects that replace old ones.
func TestRenames(t *testing.T) {
	kept := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {helm.sh/resource-policy: keep}}\ndata: " +
		"{a: x}\n---\n"
	for name, c := range map[string]struct {
		before, after string
		from          []string // of the changes in order; "" is no rename
	}{
		"a version in the name": {fmt.Sprintf(config, "a-v1", "x"), fmt.Sprintf(config, "a-v2", "y"),
			[]string{"ConfigMap/a-v1"}},
		"each its own": {
			fmt.Sprintf(config, "a-v1", "x") + fmt.Sprintf(config, "b-v1", "y"),
			fmt.Sprintf(config, "b-v2", "y") + fmt.Sprintf(config, "a-v2", "x"), []string{"ConfigMap/a-v1", "ConfigMap/b-v1"},
		},
		"equal but for the name": {fmt.Sprintf(config, "left", "x"), fmt.Sprintf(config, "right", "x"),
			[]string{"ConfigMap/left"}},
		"a version, and all values differ": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-v1}\ndata: {a: x}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-v2}\ndata: {a: z}\n",
			[]string{"ConfigMap/a-v1"},
		},
		"a version, and nothing in common": {fmt.Sprintf(config, "a-v1", "x"),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-v2}\ndata: {z: zz}\n", []string{"", ""}},
		"nothing in common": {fmt.Sprintf(config, "left", "x"),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: right}\ndata: {z: zz}\n", []string{"", ""}},
		"another kind": {fmt.Sprintf(config, "a-v1", "x"), fmt.Sprintf(service, "a-v2", 80),
			[]string{"", ""}},
		"what is kept": {fmt.Sprintf(kept, "a-v1"), fmt.Sprintf(kept, "a-v2"), []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := compare(t, c.before, c.after, kubernetes.Options{})
			var from []string
			for _, change := range r.Changes {
				from = append(from, change.From)
				if change.Renamed != (change.From != "") || change.Renamed && change.Action != diff.Replace {
					t.Errorf("%s: renamed %v from %q by %s", change.Address, change.Renamed, change.From, change.Action)
				}
			}
			if !slices.Equal(from, c.from) {
				t.Errorf("from %q, want %q", from, c.from)
			}
		})
	}
}

// TestManyOfOneKind checks that renames among thousands of objects take
// little time, because not every pair is compared.
func TestManyOfOneKind(t *testing.T) {
	var before, after strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&before, service, fmt.Sprintf("old%da", i), i+1)
		fmt.Fprintf(&after, service, fmt.Sprintf("new%db", i), i+1)
	}
	r := compare(t, before.String(), after.String(), kubernetes.Options{})
	if len(r.Changes) != 4000 {
		t.Errorf("%d changes", len(r.Changes))
	}
}

// TestNamespaces checks that an object without a namespace is in that of the
// release, if its kind is namespaced.
func TestNamespaces(t *testing.T) {
	with := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {a: x}\n"
	without := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: x}\n"
	if r := compare(t, with, without, kubernetes.Options{Namespace: "shop"}); r.Totals.Noise+r.Totals.Unchanged != 1 ||
		r.Totals.Replace != 0 {
		t.Errorf("the namespace of the release and none: %+v", r.Totals)
	}
	if r := compare(t, with, without, kubernetes.Options{Namespace: "other"}); r.Totals.Create != 1 ||
		r.Totals.Destroy != 1 {
		t.Errorf("another namespace: %+v", r.Totals)
	}
	cluster := "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, namespace: x}\n"
	if r := compare(t, cluster, strings.Replace(cluster, ", namespace: x", "", 1),
		kubernetes.Options{Namespace: "shop"}); r.Totals.Destroy+r.Totals.Create != 0 {
		t.Errorf("a Namespace in a namespace: %+v", r.Totals)
	}
}

// TestReplicasAreNoDefault checks that setting replicas again, after leaving
// them to an autoscaler, counts as a change.
func TestReplicasAreNoDefault(t *testing.T) {
	text := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  paused: false\n%s  template: {spec: " +
		"{containers: [{name: web, image: a}]}}\n"
	r := compare(t, fmt.Sprintf(text, ""), fmt.Sprintf(text, "  replicas: 1\n  minReadySeconds: 0\n"),
		kubernetes.Options{})
	if len(r.Changes) != 1 || r.Changes[0].IsNoise() {
		t.Fatalf("changes: %+v", r.Totals)
	}
	for _, f := range r.Changes[0].Fields {
		if want := map[string]string{"spec.replicas": "", "spec.minReadySeconds": "default"}[f.Path]; f.Fold != want {
			t.Errorf("%s is folded by %q, want %q", f.Path, f.Fold, want)
		}
	}
}

// TestNewObjectsFoldNothing checks that chart labels are no noise on an
// object that is added or removed.
func TestNewObjectsFoldNothing(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {helm.sh/chart: a-1}, creationTimestamp: " +
		"\"2026-01-01T00:00:00Z\"}\ndata: {a: x}\n"
	for _, r := range []*diff.Report{compare(t, "", text, kubernetes.Options{}),
		compare(t, text, "", kubernetes.Options{})} {
		for _, f := range r.Changes[0].Fields {
			if want := map[string]string{"metadata.creationTimestamp": "server-owned"}[f.Path]; f.Fold != want {
				t.Errorf("%s is folded by %q, want %q", f.Path, f.Fold, want)
			}
		}
	}
}

// TestErrors checks that an error of either side names the place and contains no value.
func TestErrors(t *testing.T) {
	good := fmt.Sprintf(config, "a", "x")
	for name, bad := range map[string]string{
		"no YAML": good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  hunter22: [hunter22\n",
		"no name": "apiVersion: v1\nkind: ConfigMap\ndata: {a: hunter22}\n",
		"twice":   good + strings.Replace(good, "same", "hunter22", 1),
	} {
		for side, pair := range map[string][2]string{"before.yaml:": {bad, good}, "after.yaml:": {good, bad}} {
			_, err := kubernetes.Report(source("before.yaml", []byte(pair[0])), source("after.yaml", []byte(pair[1])),
				kubernetes.Options{})
			if err == nil || !strings.Contains(err.Error(), side) || strings.Contains(err.Error(), "hunter22") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := kubernetes.Report(source("a", []byte(good)), source("b", []byte(good)),
		kubernetes.Options{MaxBytes: 10}); err == nil {
		t.Error("more than the bound is read")
	}
	if r, err := kubernetes.Report(nil, []manifest.Source{}, kubernetes.Options{}); err != nil || len(r.Changes) != 0 ||
		r.Validate() != nil {
		t.Errorf("nothing at all: %v", err)
	}
}

// FuzzReport compares any two texts: it checks that there is no panic, that the report
// is valid and can be marshaled, and that a text compared with itself has no changes.
func FuzzReport(f *testing.F) {
	files, _ := filepath.Glob("testdata/situations/*.txtar")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		archive := txtar.Parse(data)
		f.Add(archive.Files[0].Data, archive.Files[1].Data, archive.Files[min(2, len(archive.Files)-1)].Data)
	}
	f.Fuzz(func(t *testing.T, before, after, live []byte) {
		for _, o := range []kubernetes.Options{{MaxBytes: 1 << 20},
			{ThreeWay: true, Live: source("live", live), Again: source("again", live), Namespace: "shop"}} {
			r, err := kubernetes.Report(source("before", before), source("after", after), o)
			if err != nil {
				continue
			}
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Fatal(err)
			}
			renderings(t, r)
		}
		r, err := kubernetes.Report(source("a", before), source("b", slices.Clone(before)), kubernetes.Options{})
		if err == nil && len(r.Changes)+len(r.Hooks)+len(r.Tests)+len(r.Kept) > 0 {
			t.Fatal("a text differs from itself")
		}
	})
}
