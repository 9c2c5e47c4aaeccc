package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// wording is the content of an app independent of its spelling: each section as a tree of
// map[string]any, []any and scalars.
type wording struct {
	single map[string]map[string]any   // by file without .toml
	many   map[string][]map[string]any // by directory, or by file for sections with both forms
}

// fullWording sets everything that an app version can contain.
func fullWording() wording {
	repo := func(directory string) map[string]any {
		return map[string]any{"repo": "acme/infra", "directory": directory, "branch": "main"}
	}
	return wording{
		single: map[string]map[string]any{
			"metadata": {"version": "v2", "display_name": "Ledger", "description": "Books",
				"readme": "# Ledger\n\nsays \"hello\"\n", "default_labels": map[string]any{"a": "1", "b.c": "x"}},
			"sandbox": {"terraform_version": "1.11.4", "public_repo": repo("."), "max_auto_retries": 3,
				"vars":     map[string]any{"name": "n-{{.nuon.install.id}}", "size": "2"},
				"var_file": []any{map[string]any{"contents": "x = 1\n"}, map[string]any{"contents": "x = 2\n"}}},
			"runner": {"runner_type": "aws", "env_vars": map[string]any{"A": "1"}},
			"stack": {"type": "aws-cloudformation", "name": "s-{{.nuon.install.id}}", "description": "lets in",
				"vpc_nested_template_url":    "https://t.example.com/vpc.yaml",
				"runner_nested_template_url": "https://t.example.com/runner.yaml",
				"custom_nested_stacks": []any{
					map[string]any{"name": "one", "template_url": "https://t.s3.amazonaws.com/1.yaml", "index": 1,
						"parameters": map[string]any{"p": "{{.nuon.install.id}}"}},
					map[string]any{"name": "two", "template_url": "https://t.s3.amazonaws.com/2.yaml", "index": 2},
				}},
			"operation_roles": {"rules": []any{map[string]any{"principal": "nuon::component:web", "operation": "deploy",
				"role": "{{.nuon.install.id}}-maintenance"}}},
		},
		many: map[string][]map[string]any{
			"inputs": {
				{"name": "size", "display_name": "Size", "description": "how big", "group": "g", "type": "number", "default": "2"},
				{"name": "zone", "display_name": "Zone", "description": "where", "group": "g", "required": true},
			},
			"input_groups": {{"name": "g", "description": "all of them", "display_name": "General"}},
			"secrets": {{"name": "mail", "description": "to send mail",
				"kubernetes_sync_targets": []any{map[string]any{"namespaces": []any{"a", "b"}, "name": "mail"}}},
				{"name": "token", "description": "made there", "auto_generate": true}},
			"permissions": {
				{"type": "provision", "name": "{{.nuon.install.id}}-provision", "description": "makes",
					"policies": []any{map[string]any{"managed_policy_name": "AdministratorAccess"}}},
				{"type": "maintenance", "name": "{{.nuon.install.id}}-maintenance", "description": "keeps",
					"permissions_boundary": "{\"Version\": \"2012-10-17\", \"Statement\": []}\n",
					"policies":             []any{map[string]any{"managed_policy_name": "PowerUserAccess"}}},
			},
			"break_glass": {{"name": "{{.nuon.install.id}}-repair", "description": "repairs",
				"policies": []any{map[string]any{"managed_policy_name": "PowerUserAccess"}}}},
			"policies": {{"name": "rules", "type": "terraform_module", "engine": "opa", "components": []any{"net", "web"},
				"contents": "package nuon\n\ndeny contains msg if {\n\tinput.plan.x\n\tmsg := \"no\"\n}\n"}},
			"components": {
				{"type": "terraform_module", "name": "net", "terraform_version": "1.11.4", "public_repo": repo("modules/net"),
					"labels": map[string]any{"tier": "1"}},
				{"type": "terraform_module", "name": "web", "terraform_version": "1.11.4", "connected_repo": repo("modules/web"),
					"dependencies": []any{"net", "image"}, "max_auto_retries": 2,
					"vars":     map[string]any{"cidr": "{{.nuon.components.net.outputs.cidr}}", "n": "3"},
					"env_vars": map[string]any{"DATADOG_HOST": "warn"},
					"operation_roles": []any{map[string]any{"operation": "deploy", "role": "{{.nuon.install.id}}-maintenance"},
						map[string]any{"operation": "teardown", "role": "{{.nuon.install.id}}-maintenance"}}},
				{"type": "helm_chart", "name": "chart", "chart_name": "ledger-web", "public_repo": repo("chart"),
					"values": map[string]any{"image.tag": "{{.nuon.components.image.outputs.image.tag}}", "replicas": 3,
						"port": "8080", "ratio": 0.5, "flag": "false", "on": true},
					"values_file": []any{map[string]any{"contents": "a: 1\n"}, map[string]any{"contents": "a: 2\n"}}},
				{"type": "container_image", "name": "image", "public": map[string]any{"image_url": "ghcr.io/acme/web", "tag": "1"}},
				{"type": "kubernetes_manifest", "name": "quota", "namespace": "x", "manifest": "apiVersion: v1\nkind: ConfigMap\n" +
					"metadata:\n  name: x\n"},
				{"type": "docker_build", "name": "built", "dockerfile": "Dockerfile", "public_repo": repo("."),
					"env_vars": map[string]any{"ARG": "1"}},
				{"type": "pulumi", "name": "cache", "runtime": "go", "public_repo": repo("pulumi"),
					"config": map[string]any{"aws:region": "eu"}},
			},
			"actions": {{"name": "check", "description": "looks", "timeout": "2m",
				"triggers": []any{map[string]any{"type": "manual"}, map[string]any{"type": "post-deploy-component",
					"component_name": "web"}},
				"inputs": []any{map[string]any{"name": "page", "description": "which", "default": "x"}},
				"labels": map[string]any{"k": "v"},
				"steps": []any{map[string]any{"name": "one", "inline_contents": "#!/bin/sh\necho 'x' \"$A\"\n",
					"env_vars": map[string]any{"A": "{{.nuon.install.id}}"}},
					map[string]any{"name": "two", "command": "./run.sh -a", "public_repo": repo("scripts")}}}},
			"runbooks": {{"name": "repair", "description": "step by step", "readme": "# How\n",
				"steps": []any{map[string]any{"name": "s", "type": "action", "action_name": "check"},
					map[string]any{"name": "d", "type": "component_deploy", "component_name": "web"}}}},
			"branches": {{"name": "stable", "connected_repo": repo("."), "post_deploy_runbooks": []any{"repair"},
				"install_groups": []any{map[string]any{"name": "canary", "order": 1, "label_selector": map[string]any{"ring": "0"}},
					map[string]any{"name": "rest", "order": 2, "default": true}}}},
		},
	}
}

// lists are the sections that can be one file with an array, with the key of that array.
var lists = map[string]string{"secrets": "secret", "policies": "policy", "break_glass": "role"}

// sets are the arrays whose order is irrelevant.
var sets = []string{"dependencies", "components", "namespaces", "operation_roles", "custom_nested_stacks",
	"install_groups"}

// references are the keys whose value may refer to a file.
var references = []string{"readme", "contents", "inline_contents", "manifest", "permissions_boundary"}

// typed are the keys whose values preserve their types.
var typed = []string{"replicas", "port", "ratio", "flag", "on"}

// writer writes an app in one of its many spellings.
type writer struct {
	t     *rapid.T
	files fstest.MapFS
	base  string // directory that references of the current file are relative to
}

func write(t *rapid.T, w wording) fstest.MapFS {
	to := &writer{t: t, files: fstest.MapFS{}}
	for _, name := range slices.Sorted(maps.Keys(w.single)) {
		to.base = ""
		to.file(name+".toml", w.single[name])
	}
	ownInputs := rapid.Bool().Draw(t, "inputs are files")
	for _, section := range slices.Sorted(maps.Keys(w.many)) {
		key, may := lists[section]
		switch {
		case section == "inputs" || section == "input_groups":
			if ownInputs {
				to.directory(section, w.many[section])
			}
		case may && rapid.Bool().Draw(t, section+" in one file"):
			var all []any
			for _, one := range to.shuffled(w.many[section]) {
				all = append(all, one)
			}
			to.base = ""
			if section == "break_glass" {
				to.base = "permissions/"
			}
			to.file(section+".toml", map[string]any{key: all})
		default:
			to.directory(section, w.many[section])
		}
	}
	if !ownInputs {
		to.base = ""
		to.file("inputs.toml", map[string]any{"input": anyOf(w.many["inputs"]), "group": anyOf(w.many["input_groups"])})
	}
	return to.files
}

func anyOf(tables []map[string]any) []any {
	var all []any
	for _, one := range tables {
		all = append(all, one)
	}
	return all
}

func (w *writer) shuffled(all []map[string]any) []map[string]any {
	return rapid.Permutation(all).Draw(w.t, "order")
}

func (w *writer) directory(section string, all []map[string]any) {
	for i, one := range w.shuffled(all) {
		below := rapid.SampledFrom([]string{"", "deep/", "a/b/"}).Draw(w.t, "below")
		w.base = section + "/"
		if section == "runbooks" || section == "policies" || section == "secrets" || section == "inputs" {
			w.base = ""
		}
		if section == "break_glass" {
			w.base = "permissions/"
		}
		w.file(fmt.Sprintf("%s/%s%d-x.toml", section, below, i), one)
	}
}

func (w *writer) file(name string, table map[string]any) {
	var b strings.Builder
	if rapid.Bool().Draw(w.t, "mark") {
		b.WriteString("\ufeff")
	}
	w.comment(&b)
	w.table(&b, nil, table)
	text := b.String()
	if rapid.Bool().Draw(w.t, "CRLF") && !strings.Contains(text, `"""`) && !strings.Contains(text, "'''") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	w.files[name] = &fstest.MapFile{Data: []byte(text)}
}

func (w *writer) comment(b *strings.Builder) {
	if rapid.IntRange(0, 3).Draw(w.t, "comment") == 0 {
		b.WriteString(rapid.SampledFrom([]string{"# why\n", "\n\n", "#:schema https://example.com\n",
			"  \t\n"}).Draw(w.t, "words"))
	}
}

// table writes the keys of a table: scalars first, then those with their own header.
func (w *writer) table(b *strings.Builder, path []string, table map[string]any) {
	keys := rapid.Permutation(slices.Sorted(maps.Keys(table))).Draw(w.t, "keys")
	var later []string
	for _, key := range keys {
		switch value := table[key].(type) {
		case map[string]any:
			switch rapid.IntRange(0, 2).Draw(w.t, "form") {
			case 0:
				later = append(later, key)
			case 1:
				fmt.Fprintf(b, "%s = %s\n", w.key(key), w.inline(key, value))
			default:
				w.dotted(b, w.key(key), value)
			}
		case []any:
			if _, tables := value[0].(map[string]any); tables && rapid.Bool().Draw(w.t, "headers") {
				later = append(later, key)
				continue
			}
			fmt.Fprintf(b, "%s = %s\n", w.key(key), w.inline(key, value))
		default:
			fmt.Fprintf(b, "%s = %s\n", w.key(key), w.scalar(key, value))
		}
		w.comment(b)
	}
	for _, key := range later {
		below := append(slices.Clone(path), w.key(key))
		if inner, ok := table[key].(map[string]any); ok {
			fmt.Fprintf(b, "[%s]\n", strings.Join(below, "."))
			w.table(b, below, inner)
			continue
		}
		for _, item := range w.items(key, table[key].([]any)) {
			fmt.Fprintf(b, "[[%s]]\n", strings.Join(below, " . "))
			w.table(b, below, item.(map[string]any))
		}
	}
}

func (w *writer) dotted(b *strings.Builder, path string, table map[string]any) {
	for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(table))).Draw(w.t, "keys") {
		if below, ok := table[key].(map[string]any); ok {
			w.dotted(b, path+"."+w.key(key), below)
			continue
		}
		fmt.Fprintf(b, "%s.%s = %s\n", path, w.key(key), w.inline(key, table[key]))
	}
}

func (w *writer) items(key string, items []any) []any {
	if slices.Contains(sets, key) {
		items = rapid.Permutation(items).Draw(w.t, "set")
	}
	return items
}

func (w *writer) inline(key string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		var parts []string
		for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(value))).Draw(w.t, "keys") {
			parts = append(parts, w.key(key)+" = "+w.inline(key, value[key]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		var parts []string
		for _, item := range w.items(key, value) {
			parts = append(parts, w.inline("", item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return w.scalar(key, value)
}

func (w *writer) key(key string) string {
	if strings.ContainsAny(key, ".:") || rapid.IntRange(0, 4).Draw(w.t, "quoted") == 0 {
		return Quote(key)
	}
	return key
}

func (w *writer) scalar(key string, value any) string {
	text, ok := value.(string)
	exact := slices.Contains(typed, key)
	if !ok {
		if !exact && rapid.IntRange(0, 3).Draw(w.t, "as text") == 0 {
			return fmt.Sprintf("%q", fmt.Sprint(value))
		}
		return fmt.Sprint(value)
	}
	if slices.Contains(references, key) && rapid.Bool().Draw(w.t, "file") {
		name := fmt.Sprintf("payload/%d.txt", len(w.files))
		w.files[w.base+name] = &fstest.MapFile{Data: []byte(text)}
		return Quote("./" + name)
	}
	number := strings.Trim(text, "0123456789") == "" && text != "" && text[0] != '0'
	switch form := rapid.IntRange(0, 4).Draw(w.t, "quotes"); {
	case form == 1 && !strings.ContainsAny(text, "'\n"):
		return "'" + text + "'"
	case form == 2 && !strings.Contains(text, `"""`) && !strings.HasSuffix(text, `"`) && !strings.Contains(text, `\`):
		return "\"\"\"\n" + text + "\"\"\""
	case form == 3 && !strings.Contains(text, "'''") && !strings.HasSuffix(text, "'"):
		return "'''" + strings.TrimPrefix("\n"+text, "") + "'''"
	case form == 4 && number && !exact:
		return text
	}
	return Quote(text)
}

func load(t interface{ Fatalf(string, ...any) }, dir fstest.MapFS) *App {
	app, found := Load(dir, Options{})
	if app == nil {
		var all strings.Builder
		for name, file := range dir {
			fmt.Fprintf(&all, "-- %s --\n%s\n", name, file.Data)
		}
		t.Fatalf("%v\n%s", found, all.String())
	}
	return app
}

// All spellings of an app load as one App with one digest, which survives a JSON round trip.
func TestSpellingsOfAnAppAreOneApp(t *testing.T) {
	want := fullWording()
	rapid.Check(t, func(t *rapid.T) {
		one, two := load(t, write(t, want)), load(t, write(t, want))
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("the apps differ:\n%s", diff)
		}
		if one.Digest() != two.Digest() {
			t.Fatalf("the digests differ:\n%s", cmp.Diff(string(one.Canonical()), string(two.Canonical())))
		}
	})
	one := load(t, write2(t, want))
	roundTrip(t, one)
}

// write2 writes an app in one spelling.
func write2(t *testing.T, w wording) fstest.MapFS {
	t.Helper()
	return rapid.Custom(func(t *rapid.T) fstest.MapFS { return write(t, w) }).Example(1)
}

// changeable are the keys whose value can be any text or number, and the tables that contain such
// values.
var changeable = []string{
	"display_name", "description", "readme", "max_auto_retries", "vars", "env_vars", "labels", "default_labels", "values",
	"config", "inline_contents", "command", "tag", "image_url",
	"default", "order", "parameters", "index", "directory", "branch", "manifest", "contents", "permissions_boundary",
	"namespaces", "managed_policy_name",
}

// changes returns every change of one value that leaves an app valid, by path.
func changes(w wording) map[string]func() {
	all := map[string]func(){}
	for name, table := range w.single {
		collect(all, name, table, false)
	}
	for name, tables := range w.many {
		for i, table := range tables {
			collect(all, fmt.Sprintf("%s[%d]", name, i), table, false)
		}
	}
	return all
}

func collect(all map[string]func(), path string, table map[string]any, free bool) {
	for key, value := range table {
		at, may := path+"."+key, free || slices.Contains(changeable, key)
		set := func(value any) { table[key] = value }
		collectValue(all, at, value, set, may && key != "type")
	}
}

func collectValue(all map[string]func(), at string, value any, set func(any), may bool) {
	switch value := value.(type) {
	case map[string]any:
		collect(all, at, value, may)
		if may {
			all[at+" gets a key"] = func() { value["more"] = "1" }
		}
	case []any:
		for i, item := range value {
			collectValue(all, fmt.Sprintf("%s[%d]", at, i), item, func(other any) { value[i] = other }, may)
		}
	case string:
		if may {
			all[at] = func() { set(changedText(value)) }
		}
	case int:
		if may {
			all[at] = func() { set(value + 7) }
		}
	}
}

// changedText returns a different text that is equally valid.
func changedText(text string) string {
	switch {
	case strings.HasPrefix(text, "{\""):
		return "{\"Version\": \"2012-10-17\",  \"Statement\": []}\n"
	case strings.HasPrefix(text, "package"):
		return strings.Replace(text, `"no"`, `"never"`, 1)
	case strings.HasPrefix(text, "apiVersion"), strings.HasPrefix(text, "a:"), strings.HasPrefix(text, "x ="):
		return text + "# more\n"
	case strings.Trim(text, "0123456789") == "":
		return text + "1"
	}
	return text + "x"
}

// Any change of one value changes the digest.
func TestEveryValueIsInTheDigest(t *testing.T) {
	before := load(t, write2(t, fullWording())).Digest()
	paths := slices.Sorted(maps.Keys(changes(fullWording())))
	if len(paths) < 70 {
		t.Fatalf("only %d values can be changed: %v", len(paths), paths)
	}
	for _, path := range paths {
		changed := fullWording()
		changes(changed)[path]()
		if after := load(t, write2(t, changed)).Digest(); after == before {
			t.Errorf("%s can change without a new version", path)
		}
	}
}
