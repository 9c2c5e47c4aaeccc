package terraform_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// change returns a plan that changes before to after, for a resource or an output.
func change(t *testing.T, actions []string, before, after, unknown any, output bool) []byte {
	t.Helper()
	c := map[string]any{"actions": actions, "before": before, "after": after, "after_unknown": unknown,
		"before_sensitive": false, "after_sensitive": false}
	plan := map[string]any{"format_version": "1.2"}
	if output {
		plan["output_changes"] = map[string]any{"o": c}
	} else {
		plan["resource_changes"] = []any{map[string]any{"address": "x_y.z", "mode": "managed", "type": "x_y", "name": "z",
			"change": c}}
	}
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unmarked returns values that contain a secret that no provider marks, with "planted" in it.
func unmarked(n string) map[string]any {
	type o = map[string]any
	type l = []any
	document := func(v any) string {
		data, _ := json.Marshal(v)
		return string(data)
	}
	pw := "planted-" + n
	return map[string]any{
		"environment":       o{"environment": l{o{"variables": o{"DB_PASSWORD": pw, "REGION": n}}}},
		"settings":          o{"app_settings": o{"ApiKey": pw}},
		"number":            o{"tags": o{"token": json.Number("7777" + strings.Repeat(n, 5))}, "x": pw[:0]},
		"list":              o{"m": o{"passwords": l{pw}}},
		"block with a name": o{"set": l{o{"name": "db.password", "value": pw}}},
		"document": o{"container_definitions": document(l{o{"name": "a",
			"environment": l{o{"name": "DB_PASSWORD", "value": pw}}}})},
		"URL":              o{"dsn": "postgres://user:" + pw + "@host/db", "other": l{"amqp://u:" + pw + "@h"}},
		"script":           o{"user_data": "#!/bin/sh\nexport PGPASSWORD=" + pw + "\nrun " + n + "\n"},
		"one line":         o{"command": "Server=db;Password=" + pw + ";Pool=" + n},
		"commands":         o{"commands": l{"export PGPASSWORD=" + pw, "run " + n}},
		"header":           o{"headers": o{"Authorization": "Bearer " + pw + pw}, "list": l{o{"value": "bearer " + pw + pw}}},
		"private key":      o{"content": "-----BEGIN RSA PRIVATE KEY-----\n" + pw + "\n-----END RSA PRIVATE KEY-----\n"},
		"values":           o{"values": l{"auth:\n  password: " + pw + "\n  n: " + n + "\n"}},
		"Secret":           o{"manifest": o{"kind": "Secret", "data": o{"x": pw}, "stringData": o{"y": pw}}},
		"Secret in a text": o{"body": "kind: Secret\nstringData:\n  x: " + pw + "\n  y: " + n + "\n"},
	}
}

// TestUnmarkedSecrets checks that secrets known by name or format are in no rendering, for every
// action, and that their change is reported.
func TestUnmarkedSecrets(t *testing.T) {
	before, after := unmarked("1"), unmarked("2")
	for name := range before {
		for what, plan := range map[string][]byte{
			"update":  change(t, []string{"update"}, before[name], after[name], map[string]any{}, false),
			"create":  change(t, []string{"create"}, nil, after[name], map[string]any{}, false),
			"delete":  change(t, []string{"delete"}, before[name], nil, map[string]any{}, false),
			"replace": change(t, []string{"delete", "create"}, before[name], after[name], map[string]any{}, false),
			"unknown": change(t, []string{"update"}, before[name], map[string]any{}, unknowns(before[name]), false),
			"output":  change(t, []string{"update"}, before[name], after[name], false, true),
			"comes":   change(t, []string{"update"}, map[string]any{"a": 1}, after[name], map[string]any{}, false),
		} {
			r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Changes)+len(r.Outputs) != 1 {
				t.Errorf("%s, %s: nothing is listed", name, what)
			}
			for ext, text := range renderings(t, r) {
				if strings.Contains(text, "planted") || strings.Contains(text, "77771") || strings.Contains(text, "77772") {
					t.Errorf("%s, %s: the secret is in the %s rendering:\n%s", name, what, ext, text)
				}
				if what == "update" && !strings.Contains(text, "sensitive") && !strings.Contains(text, "masked") {
					t.Errorf("%s, %s: the %s rendering does not say that it changes:\n%s", name, what, ext, text)
				}
			}
		}
	}
}

// unknowns marks every attribute as known after apply.
func unknowns(of any) map[string]any {
	out := map[string]any{}
	for k := range of.(map[string]any) {
		out[k] = true
	}
	return out
}

// TestReadableAllTheSame checks that access rules, references to secrets and the other parts of
// scripts are shown.
func TestReadableAllTheSame(t *testing.T) {
	type o = map[string]any
	trust := func(who string) string {
		return `{"Statement":[{"Condition":{"StringLike":{"token.actions.githubusercontent.com:sub":"repo:` + who + `:*"}}}]}`
	}
	for name, c := range map[string]struct {
		before, after o
		shows         string
	}{
		"trust": {o{"policy": trust("a/b")}, o{"policy": trust("evil/b")}, "evil/b"},
		"reference": {o{"environment": o{"DB_PASSWORD_FILE": "/a"}}, o{"environment": o{"DB_PASSWORD_FILE": "/other"}},
			"/other"},
		"arn": {o{"config": o{"secret_arn": "arn:1"}}, o{"config": o{"secret_arn": "arn:2"}}, "arn:2"},
		"schema": {o{"token_type": "a", "block": []any{o{"secret": "projects/1"}}},
			o{"token_type": "a", "block": []any{o{"secret": "projects/2"}}}, "projects/2"},
		"script": {o{"user_data": "#!/bin/sh\nTOKEN=abcdefgh\nsafe\n"}, o{"user_data": "#!/bin/sh\nTOKEN=abcdefgh\nevil\n"},
			"+ evil"},
	} {
		r, err := terraform.Report(bytes.NewReader(change(t, []string{"update"}, c.before, c.after, o{}, false)),
			terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := renderings(t, r)["txt"]; !strings.Contains(text, c.shows) {
			t.Errorf("%s: %s is not shown:\n%s", name, c.shows, text)
		}
	}
}

// TestProblemsHoldNoSecrets checks the messages of conditions, which contain configuration values.
func TestProblemsHoldNoSecrets(t *testing.T) {
	r := report(t, `"checks":[{"address":{"to_display":"check.c"},"status":"fail","problems":[{"message":"got postgres://u:planted@h"},{"message":"password=planted1 is bad"}]}]`)
	for ext, text := range renderings(t, r) {
		if strings.Contains(text, "planted") || !strings.Contains(text, "sensitive") {
			t.Errorf("%s:\n%s", ext, text)
		}
	}
}
