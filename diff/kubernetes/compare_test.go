package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// definitionText returns a large CustomResourceDefinition with properties in
// some versions, some of them with a different type.
func definitionText(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " +
		"things.acme.example}\nspec:\n" +
		"  group: acme.example\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n  versions:\n")
	versions := rapid.Permutation([]string{"v1alpha1", "v1beta1", "v1"}).Draw(t, "versions")
	for _, v := range versions[:rapid.IntRange(1, 3).Draw(t, "count")] {
		fmt.Fprintf(&b, "    - name: %s\n      served: true\n      schema:\n        openAPIV3Schema:\n          type: "+
			"object\n          properties:\n", v)
		other := rapid.SliceOfN(rapid.IntRange(0, 120), 0, 3).Draw(t, "other")
		for i := range 120 {
			kind := "string"
			if slices.Contains(other, i) {
				kind = rapid.SampledFrom([]string{"integer", "boolean"}).Draw(t, "kind")
			}
			fmt.Fprintf(&b, "            field%d:\n              description: this is what the field %d of a thing is for, in "+
				"some words that nobody "+
				"reads, so that there are more of them than of "+
				"anything else, and then some more, which say the same again\n              type: %s\n              enum:\n"+
				"                - a\n                - %s\n", i, i, kind, kind)
		}
	}
	return b.String()
}

// outcomeOf compares two texts of one object each. With whole it parses both completely.
func outcomeOf(t *testing.T, before, after string, whole bool) outcome {
	t.Helper()
	c := &comparer{comparison: &comparison{schemas: schema.Builtin(), masker: diff.NewMasker(diff.MaskOptions{})}}
	j := &job{before: objectOf(t, before), after: objectOf(t, after)}
	j.id = j.after.ID
	if !whole {
		out, err := c.compare(j)
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	v, err := c.read(j, true)
	if err != nil {
		t.Fatal(err)
	}
	return c.compareValues(j, &v)
}

// TestLeavingOutChangesNothing checks that the differences are the same when
// equal blocks of large objects are not parsed.
func TestLeavingOutChangesNothing(t *testing.T) {
	texts := rapid.Custom(definitionText)
	left := 0
	for seed := range 15 {
		before, after := texts.Example(2*seed), texts.Example(2*seed+1)
		part, whole := outcomeOf(t, before, after, false), outcomeOf(t, before, after, true)
		if part.section != whole.section || len(part.differences) != len(whole.differences) {
			t.Fatalf("seed %d: %d differences, %d of the whole", seed, len(part.differences), len(whole.differences))
		}
		for i := range whole.differences {
			p, w := &part.differences[i], &whole.differences[i]
			if plainText(p.path) != plainText(w.path) || p.hasBefore != w.hasBefore || p.hasAfter != w.hasAfter ||
				!p.before.Equal(w.before) || !p.after.Equal(w.after) {
				t.Fatalf("seed %d: %s is not %s", seed, plainText(p.path), plainText(w.path))
			}
		}
		if _, _, partial, _ := manifest.Pair(objectOf(t, before), objectOf(t, after)); partial {
			left++
		}
	}
	if left == 0 {
		t.Error("nothing was ever left out, so this tests nothing")
	}
}

// objectOf reads the only object of a text.
func objectOf(t *testing.T, text string) *manifest.Object {
	t.Helper()
	set, err := manifest.Read([]manifest.Source{{Name: "x", Data: []byte(text)}}, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Objects[0]
}

// TestStoredSecrets checks that the same bytes are equal in every spelling.
func TestStoredSecrets(t *testing.T) {
	secret := func(data, plain map[string]any) raw.Value {
		o := map[string]any{"kind": "Secret"}
		if data != nil {
			o["data"] = data
		}
		if plain != nil {
			o["stringData"] = plain
		}
		return raw.Of(o)
	}
	one := secret(map[string]any{"a": "aGVsbG8gd29ybGQ="}, nil)
	for name, c := range map[string]struct {
		other raw.Value
		equal bool
	}{
		"in clear":           {secret(nil, map[string]any{"a": "hello world"}), true},
		"wrapped":            {secret(map[string]any{"a": "aGVsbG8g\nd29ybGQ=\n"}, nil), true},
		"in clear over data": {secret(map[string]any{"a": "eHh4"}, map[string]any{"a": "hello world"}), true},
		"other bytes":        {secret(nil, map[string]any{"a": "hello World"}), false},
		"no base64":          {secret(map[string]any{"a": "hello world"}, nil), false},
		"one more":           {secret(map[string]any{"a": "aGVsbG8gd29ybGQ="}, map[string]any{"b": ""}), false},
	} {
		if got := stored(one).Equal(stored(c.other)); got != c.equal {
			t.Errorf("%s: equal is %v", name, got)
		}
	}
}

// TestSecretTexts checks which texts are recognized as secrets by their form,
// and which part of them is masked elsewhere.
func TestSecretTexts(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://shop:hunter22@db/shop":       "hunter22",
		"x=1 amqp://a:p%40ss@mq:5672/ y":         "p%40ss p@ss",
		"--password=hunter22":                    "hunter22 whole",
		"postgres://shop:$(DB_PASSWORD)@db/shop": "",
		"https://example.org/a:b@c":              "",
		"--password=$(DB_PASSWORD)":              "",
		"--password-file=/run/secrets/db":        "",
	} {
		var got []string
		var n names
		n.sensitive(nil, false, false, none, raw.Of(text), func(part string, whole bool) bool {
			if got = append(got, part); whole {
				got = append(got, "whole")
			}
			return true
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestRedact checks that what a text sets under the name of a secret is
// hidden, and marked if it changed.
func TestRedact(t *testing.T) {
	for _, c := range []struct{ before, after, shownBefore, shownAfter string }{
		{"a=1\npassword=hunter22\n", "a=2\npassword=hunter22\n", "a=1\npassword=(sensitive)\n",
			"a=2\npassword=(sensitive)\n"},
		{"token: abcd", "token: abce", "token: (sensitive)", "token: (sensitive, changed)"},
		{"a.secret=aaaa b.secret=bbbb", "a.secret=bbbb b.secret=aaaa", "a.secret=(sensitive) b.secret=(sensitive)",
			"a.secret=(sensitive, changed) b.secret=(sensitive, changed)"},
		{`"apiKey": "abcd",`, `"apiKey": "abcd", x`, `"apiKey": "(sensitive)",`, `"apiKey": "(sensitive)", x`},
		{"password=$(cat x)\ntoken_ttl=3600", "", "password=$(cat x)\ntoken_ttl=3600", ""},
		{"DB_PASS=abcd export API_KEY='abcd' monkey=abcd key=abcd", "",
			"DB_PASS=(sensitive) export API_KEY='(sensitive)' monkey=abcd key=abcd", ""},
		{"vault-secret://path/x token_url=https://x", "", "vault-secret://path/x token_url=https://x", ""},
		{"x?token=abcd&y", "x?token=abcd&z", "x?token=(sensitive)&y", "x?token=(sensitive)&z"},
	} {
		d := difference{before: raw.Of(c.before), after: raw.Of(c.after), hasBefore: true, hasAfter: true}
		s := &shower{names: &names{}}
		s.redactSides(&d)
		if before, after := raw.Reveal(d.shownBefore()), raw.Reveal(d.shownAfter()); before != c.shownBefore ||
			after != c.shownAfter {
			t.Errorf("%q and %q, want %q and %q", before, after, c.shownBefore, c.shownAfter)
		}
	}
}

// TestRedactIsNotQuadratic checks that hostile texts take no more time than
// others. Each part makes another loop scan the rest of the text: for the end
// of a name, the end of a value, and the end of a value that is no secret.
func TestRedactIsNotQuadratic(t *testing.T) {
	for part, hides := range map[string]bool{
		"token": false, "token=": true, "token=abcd<": true, "apikey:": true, "pass pass": false,
		"token=//": true, "auth=": true, "token='//": false, "Basic ": false, "authorization: Basic ": true,
	} {
		t.Run(part, func(t *testing.T) {
			var own map[string]bool
			testtime.CheckCPUCost(t, 300, func() { _, own = redacted(raw.Of(strings.Repeat(part, 1<<18/len(part))), nil) })
			if hides != (len(own) > 0) {
				t.Errorf("it hides %d settings: the loop that this is about does not run", len(own))
			}
		})
	}
}

// TestTelling checks that values of a Secret that are no secrets are not masked elsewhere.
func TestTelling(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       bool
	}{
		{"password", "hunter22", true}, {"token", "shop", true}, {"username", "shop", false}, {"host", "db.shop.svc", false},
		{"port", "5432", false},
		{"username", "admin", false}, {"password", "admin", false}, {"a", "abc", false},
		{"url", "postgres://a:b@c/d e", true}, {"x", "zx81-vic20", true},
		{"tls.crt", "-----BEGIN CERTIFICATE-----\nabc\n", false}, {"password", "$(X)", false},
	} {
		if got := telling(c.key, c.value); got != c.want {
			t.Errorf("%s: %s is telling: %v", c.key, c.value, got)
		}
	}
}

// TestStems checks that versions and hashes are cut off names, and nothing else.
func TestStems(t *testing.T) {
	for name, want := range map[string]string{
		"migrate-v1": "migrate", "migrate-1.4.0": "migrate", "web-config-7g2m9k4t5h": "web-config",
		"web-config-m4b7c2d9f6": "web-config",
		"backup-20261121":       "backup", "web": "web", "web-front": "web-front", "web-config": "web-config",
		"api-7d9f8b6c5d-x2x9z": "api", "1": "1", "-1": "-1",
	} {
		if got := stem(name); got != want {
			t.Errorf("%s has the stem %s, want %s", name, got, want)
		}
	}
}

// TestRules checks that every rule describes what it folds, has a source, and folds something.
func TestRules(t *testing.T) {
	for _, r := range rules {
		if r.fold == "" || r.words == "" || !strings.HasPrefix(r.source, "https://") || len(r.at) == 0 && r.where == nil {
			t.Errorf("rule %q lacks words, a source or places", r.fold)
		}
	}
	for _, c := range []struct {
		path  []string
		value string
		want  string
	}{
		{[]string{"metadata", "labels", "helm.sh/chart"}, "shop-1.4.0", foldChart},
		{[]string{"spec", "jobTemplate", "metadata", "labels", "helm.sh/chart"}, "shop-1.4.0", foldChart},
		{[]string{"spec", "template", "metadata", "labels", "helm.sh/chart"}, "shop-1.4.0", ""},
		{[]string{"spec", "selector", "matchLabels", "helm.sh/chart"}, "shop-1.4.0", ""},
		{[]string{"metadata", "labels", "app"}, "shop", ""},
		{[]string{"metadata", "resourceVersion"}, "12", foldServer},
		{[]string{"status", "replicas"}, "12", foldServer},
		{[]string{"spec", "status"}, "12", ""},
		{[]string{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}, "{}", foldServer},
		{[]string{"spec", "template", "metadata", "annotations", "checksum/config"}, strings.Repeat("a1", 32), foldChecksum},
		{[]string{"spec", "template", "metadata", "annotations", "checksum/config"}, "a sentence, not a hash", ""},
		{[]string{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}, "2026-11-21",
			foldRestart},
		{[]string{"data", "checksum/config"}, strings.Repeat("a1", 32), ""},
	} {
		d := difference{before: raw.Of("x" + c.value), after: raw.Of(c.value), hasBefore: true, hasAfter: true}
		if c.want == foldChecksum || c.path[len(c.path)-1] == "checksum/config" {
			d.before = d.after
		}
		for _, k := range c.path {
			d.path = d.path.Field(k)
		}
		if got := foldOf(&d); got != c.want {
			t.Errorf("%s = %s is folded by %q, want %q", strings.Join(c.path, "/"), c.value, got, c.want)
		}
	}
}

// TestFolds checks that every rule by which a report can fold has a description.
func TestFolds(t *testing.T) {
	said := map[string]bool{}
	for _, f := range Folds() {
		said[f.Name] = true
		if f.Words == "" || f.Source != "" && !strings.HasPrefix(f.Source, "https://") {
			t.Errorf("%q lacks words, or its source is no address", f.Name)
		}
	}
	for _, name := range append(foldNames, foldRegenerated, foldRepeated, foldGone) {
		if !said[name] {
			t.Errorf("%q is not among the folds", name)
		}
	}
}
