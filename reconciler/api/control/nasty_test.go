//go:build !race

package control_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// nasty are texts that somebody may use as a name: none may do harm, or be printed unescaped on a
// terminal.
var nasty = []string{
	"a b", `"`, "'; drop table apps; --", "\x1b[31mred\x1b[0m", "a\u202eb", "🦄", "<script>alert(1)</script>", "..",
	"../..", "%", "%2e%2e", "a/b", "a\nb", "\t",
	"{{.nuon}}", "\u0085", "\ufeff", "e\u0301", strings.Repeat("x", 5000), "-", "--force", "$(id)", "null", "-1",
	"99999999999999999999",
}

// TestNastyNamesInPaths checks that every operation refuses such a name in its path as invalid or
// not found, and never prints it unescaped.
func TestNastyNamesInPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.fillStates()
	before := w.text("select count(*)::text from installs") + w.text("select count(*)::text from apps")
	for _, op := range operations(t) {
		for _, p := range op.inPath() {
			for _, name := range nasty {
				path := op.Path + query[op.ID]
				for _, other := range op.inPath() {
					value := name
					if other.Name != p.Name {
						value = own(w.one, other)
					}
					path = strings.Replace(path, "{"+other.Name+"}", url.PathEscape(value), 1)
				}
				got := w.call(w.one.token["admin"], op.Method, path, bodies(w.one)[op.ID])
				if got.Status/100 == 3 {
					continue // the router's own redirect of a path with dots
				}
				if got.Status/100 != 4 {
					t.Errorf("%s %s: %d %s", op.Method, path, got.Status, got.Body)
					continue
				}
				w.printable(op.Method+" "+path, got)
			}
		}
	}
	if after := w.text("select count(*)::text from installs") +
		w.text("select count(*)::text from apps"); after != before {
		t.Errorf("there were %s installs and apps, and are %s", before, after)
	}
}

// odd lists text fields that bodies does not have, by operation; %s is replaced by the text.
var odd = map[string][]string{
	"createApp": {`"directory": %s`, `"ref": %s`},
	"createInstall": {
		`"runner": %s`, `"labels": {%s: %s}`,
		`"overrides": {"web": {"tf_vars": %s}}`, `"overrides": {%s: {"helm_values": %s}}`,
		`"toggles": {%s: true}`, `"account": {%s: {%s: %s}}`, `"inputs": [{"name": %s, "value": %s}]`, `"managed_by": %s`,
	},
	"updateInstall": {
		`"overrides": {"web": {"tf_vars": %s}}`, `"overrides": {%s: {"helm_values": %s}}`,
		`"labels": {%s: %s}`, `"toggles": {%s: true}`,
		`"inputs": [{"name": %s, "value": %s}]`, `"inputs": [{"name": "region", "value": %s}]`,
		`"managed_by": %s`, `"by": %s`,
	},
	"previewInstall": {`"labels": {%s: %s}`, `"toggles": {%s: true}`, `"inputs": [{"name": %s, "value": %s}]`},
	"createWorkflow": {
		`"kind": "deploy", "components": [%s]`, `"kind": "teardown", "components": [%s], "dependents": true`,
		`"kind": "action", "action": %s`,
		`"kind": "action", "action": "smoke", "env": {%s: %s}`,
		`"kind": "action", "action": "smoke", "inputs": {%s: %s}`,
		`"kind": "deploy", "components": [%s], "dry_run": true`,
		`"kind": "deploy", "components": [%s], "plan_only": true`,
	},
	"createToken":      {`"name": "x", "role": "viewer", "app": %s`},
	"createCredential": {`"username": %s`, `"repositories": [%s]`},
	"updateCredential": {`"add_repositories": [%s]`, `"remove_repositories": [%s]`},
	"pinInstall":       {`"reason": %s`},
}

// TestNastyTextsInBodies checks that any text in any field gets a regular response, and that stored
// data can still be read.
func TestNastyTextsInBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.fillStates()
	for _, op := range operations(t) {
		if op.Body != "application/json" {
			continue
		}
		path := op.Path
		for _, p := range op.inPath() {
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(own(w.one, p)), 1)
		}
		for _, body := range spoilt(t, bodies(w.one)[op.ID], odd[op.ID]) {
			got := w.call(w.one.token["admin"], op.Method, path, body)
			if got.Status/100 != 2 && got.Status/100 != 4 {
				t.Errorf("%s %s with %.200s: %d %s", op.Method, path, body, got.Status, got.Body)
			}
			if got.Status/100 == 4 {
				w.printable(op.ID, got)
			}
		}
	}
	for _, op := range operations(t) {
		if op.Method == http.MethodGet && len(op.inPath()) == 0 && op.ID != "listBuilds" {
			if got := w.call(w.one.token["admin"], op.Method, op.Path, nil); got.Status != http.StatusOK {
				t.Errorf("%s: %d %s", op.ID, got.Status, got.Body)
			}
		}
	}
}

// spoilt returns a body with each of its texts, one at a time, replaced by each nasty one, and with
// odd fields added.
func spoilt(t *testing.T, body any, odd []string) (all []string) {
	t.Helper()
	fields, _ := body.(map[string]any)
	for _, text := range nasty {
		raw, err := json.Marshal(text)
		must(t, err)
		forms := slices.Clone(odd)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if _, is := fields[key].(string); is {
				forms = append(forms, `"`+key+`": %s`)
			}
		}
		for _, form := range forms {
			var spoiling map[string]any
			must(t, json.Unmarshal([]byte("{"+strings.ReplaceAll(form, "%s", string(raw))+"}"), &spoiling))
			whole := maps.Clone(fields)
			maps.Copy(whole, spoiling)
			raw, err := json.Marshal(whole)
			must(t, err)
			all = append(all, string(raw))
		}
	}
	return all
}

// printable checks that an error can be printed unescaped on any terminal.
func (w *world) printable(what string, got answer) {
	w.Helper()
	var p api.Problem
	if err := json.Unmarshal([]byte(got.Body), &p); err != nil || p.Code == "" {
		w.Errorf("%s: %d %s", what, got.Status, got.Body)
		return
	}
	if odd := strings.IndexFunc(
		p.Title+p.Detail, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) },
	); odd >= 0 {
		w.Errorf("%s: %q %q shows what it was given as it is", what, p.Title, p.Detail)
	}
	if len(p.Title)+len(p.Detail) > 1000 {
		w.Errorf("%s: shows %d characters: %.200q", what, len(p.Title)+len(p.Detail), p.Title)
	}
}
