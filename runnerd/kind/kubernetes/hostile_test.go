package kubernetes

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// traps are a server that must get no request, and programs that must not run.
type traps struct {
	t     *testing.T
	url   string
	ran   string
	asked atomic.Int32
}

func setTraps(t *testing.T) *traps {
	t.Helper()
	bin := t.TempDir()
	made := &traps{t: t, ran: filepath.Join(bin, "ran")}
	served := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { made.asked.Add(1) }))
	t.Cleanup(served.Close)
	made.url = served.URL
	for _, program := range []string{"git", "ssh", "helm", "helmV3", "sh", "docker", "podman", "planted/v1/x/X"} {
		script := "#!/bin/bash\necho " + program + " >> " + made.ran + "\nexit 1\n"
		at := filepath.Join(bin, program)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(script), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("KUSTOMIZE_PLUGIN_HOME", bin)
	return made
}

func (s *traps) mustBeUntouched() {
	s.t.Helper()
	if asked := s.asked.Load(); asked > 0 {
		s.t.Errorf("a server was asked %d times", asked)
	}
	if list, err := os.ReadFile(s.ran); err == nil {
		s.t.Errorf("programs were run: %s", list)
	}
}

// TestKustomizeNeverFetchesBySpelling repeats TestKustomizeNeverFetches with spellings
// that hide the reference.
func TestKustomizeNeverFetchesBySpelling(t *testing.T) {
	trap := setTraps(t)
	host := strings.TrimPrefix(trap.url, "http://")
	for _, entry := range []string{
		`"` + trap.url + `/a.git\n"`, `"` + trap.url + `/a.git\n?ref=x"`, `"\n` + trap.url + `/a.git"`,
		`"git@` + host + `:a/b\n"`,
		`"file:///srv/a.git\n"`, `"ssh://` + host + `/a//b\n"`, `"git::` + trap.url + `/a.git\n"`, `"github.com/a/b\n"`,
		`"\t` + trap.url + `/a.yaml"`, `"a.yaml\r"`, `"s3::` + trap.url + `/a"`, `"hg::` + trap.url + `/a"`,
		`"org-1@github.com:a/b"`,
		`"HTTP://` + host + `/a.yaml"`, `"http:/` + host + `/a"`, `!!binary "aHR0cDovLzEyNy4wLjAuMS9hLnlhbWw="`,
		`"` + trap.url + `/%2e%2e/a\u0085"`,
		`"https://user:password@` + host + `/a.git?ref=x&timeout=1s"`, `"\u0000` + trap.url + `"`,
	} {
		for _, key := range []string{"resources", "bases", "components", "re\u017fources", "<<"} {
			text := key + ": [" + entry + "]\n"
			if key == "<<" {
				text = "<<: {resources: [" + entry + "]}\n"
			}
			got, err := made(api.KustomizeSpec{Path: ".", LoadRestrictor: "none", EnableHelm: true},
				file("kustomization.yaml", text), file("a.yaml", settings))
			if err == nil || !strings.Contains(err.Error(), "kustomization.yaml") {
				t.Errorf("%q: %v\n%s", text, err, got)
			}
		}
	}
	trap.mustBeUntouched()
}

// TestKustomizeRunsNothing checks that no plugin is run, in any spelling and from any file,
// and that Helm is not run, even if the component enables it.
func TestKustomizeRunsNothing(t *testing.T) {
	trap := setTraps(t)
	function := func(what string) string {
		return "metadata: {name: a, annotations: {config.kubernetes.io/function: \"" + what +
			"\", config.k8s.io/function: \"" + what + "\"}}\n"
	}
	files := []artifact.File{
		file("exec.yaml", "apiVersion: v1\nkind: X\n"+function("exec: {path: sh}")),
		file("starlark.yaml", "apiVersion: v1\nkind: X\n"+function("starlark: {name: a, path: a.star, url: '"+trap.url+"'}")),
		file("container.yaml", "apiVersion: v1\nkind: X\n"+function("container: {image: a, network: true, mounts: [{type: "+
			"bind, src: /, dst: /x}]}")),
		file("installed.yaml", "apiVersion: planted/v1\nkind: X\nmetadata: {name: a}\n"),
		file("list.yaml", "apiVersion: builtin\nkind: List\nitems:\n- {apiVersion: planted/v1, kind: X, metadata: "+
			"{name: a}}\n"),
		file("maps.yaml", "apiVersion: builtin\nkind: ConfigMapList\nitems:\n- {apiVersion: builtin, kind: "+
			"HelmChartInflationGenerator, metadata: {name: a}, name: a}\n"),
		file("second.yaml", "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a}\nprefix: a\n---\n"+
			"apiVersion: planted/v1\nkind: X\nmetadata: {name: b}\n"),
		file("version.yaml", "apiVersion: planted/builtin\nkind: X\nmetadata: {name: a}\n"),
		file("a.star", "load('http://a')\n"), file("a.yaml", settings), file("chart/Chart.yaml", "name: a\nversion: 1.0.0\n"),
		file("part/kustomization.yaml",
			"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers: [../exec.yaml]\n"),
		file("base/kustomization.yaml", "resources: [../a.yaml]\nvalidators: [../exec.yaml]\n"),
	}
	texts := []string{
		"components: [part]", "resources: [base]", "helmCharts: [{name: chart, releaseName: a}]",
		"HELMCHARTS: [{name: chart}]",
		"helmChartInflationGenerator: [{chartName: chart}]", "helmGlobals: {chartHome: .}",
	}
	for _, kind := range []string{"generators", "transformers", "validators", "Transformers"} {
		for _, name := range []string{"exec", "starlark", "container", "installed", "list", "maps", "second", "version"} {
			texts = append(texts, kind+": ["+name+".yaml]")
		}
		texts = append(texts, kind+": [\"apiVersion: planted/v1\\nkind: X\\nmetadata: {name: a}\\n\"]", kind+": [base]")
	}
	for _, text := range texts {
		for _, helm := range []bool{false, true} {
			spec := api.KustomizeSpec{Path: ".", LoadRestrictor: "none", EnableHelm: helm}
			if got, err := made(spec, append(files, file("kustomization.yaml", "resources: [a.yaml]\n"+text+
				"\n"))...); err == nil {
				t.Errorf("%s is built:\n%s", text, got)
			}
		}
	}
	// An annotation turns neither a built-in plugin nor an object into a function.
	got, err := made(api.KustomizeSpec{Path: "."}, append(files,
		file("kustomization.yaml", "resources: [a.yaml, exec.yaml]\ntransformers: [own.yaml]\n"),
		file("own.yaml", "apiVersion: builtin\nkind: PrefixTransformer\nprefix: pre-\nfieldSpecs: [{path: metadata/name}]\n"+
			function("exec: {path: sh}")))...)
	if err != nil || !strings.Contains(got, "name: pre-settings") {
		t.Errorf("%v\n%s", err, got)
	}
	trap.mustBeUntouched()
}

// TestKustomizeReadsNothingOfTheMachine tries every key that names a file with paths that
// lead out of the source.
func TestKustomizeReadsNothingOfTheMachine(t *testing.T) {
	t.Setenv("NUON_TEST_PLANTED", "apiVersion=planted-value")
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	content := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, annotations: {a: planted-value}}\n"
	if err := os.WriteFile(secret, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{
		secret, "/proc/self/root" + secret, "../../../../../../../.." + secret, "/proc/self/environ",
		"../../../proc/self/environ",
		"./link", "linked" + secret, "//" + secret, "/source/../../" + secret, filepath.Dir(secret),
	} {
		for _, text := range []string{
			"components: [OUT]", "crds: [OUT]", "configurations: [OUT]", "openapi: {path: OUT}", "patches: [{path: OUT}]",
			"patches: [{path: OUT, target: {kind: ConfigMap}}]", "patchesStrategicMerge: [OUT]", "replacements: [{path: OUT}]",
			"patchesJson6902: [{path: OUT, target: {version: v1, kind: ConfigMap, name: settings}}]",
			"generators: [OUT]", "transformers: [OUT]",
			"validators: [OUT]", "secretGenerator: [{name: a, envs: [OUT]}]", "secretGenerator: [{name: a, env: OUT}]",
			"configMapGenerator: [{name: a, files: [OUT]}]", "configMapGenerator: [{name: a, files: [k=OUT]}]",
			"resources: [OUT]",
			"generators: [\"apiVersion: builtin\\nkind: SecretGenerator\\nmetadata: {name: a}\\nname: a\\nfiles: [k=OUT]\\n\"]",
			"transformers: [\"apiVersion: builtin\\nkind: PatchTransformer\\nmetadata: {name: a}\\npath: OUT\\n\"]",
			"helmCharts: [{name: a, valuesFile: OUT}]",
		} {
			text = strings.ReplaceAll(text, "OUT", out)
			if !strings.HasPrefix(text, "resources") {
				text = "resources: [a.yaml]\n" + text
			}
			got, err := made(api.KustomizeSpec{Path: "app", LoadRestrictor: "none", EnableHelm: true},
				file("app/kustomization.yaml", text+"\n"),
				file("app/a.yaml", settings), artifact.File{Path: "app/link", Link: "../.." + out},
				artifact.File{Path: "app/linked", Link: "../../../.."})
			if err == nil || strings.Contains(err.Error()+got, "planted-value") {
				t.Errorf("%s: %v\n%s", text, err, got)
			}
		}
	}
	// The paths in the component's own spec.
	for _, spec := range []api.KustomizeSpec{
		{Path: filepath.Dir(secret)}, {Path: "app/../../.." + filepath.Dir(secret)}, {Path: "app", Patches: []string{secret}},
		{Path: "app", Patches: []string{"../../../.." + secret}}, {Path: "app", Patches: []string{"/proc/self/environ"}},
	} {
		spec.LoadRestrictor = "none"
		got, err := made(spec, file("app/kustomization.yaml", "resources: [a.yaml]\n"), file("app/a.yaml", settings))
		if err == nil || strings.Contains(err.Error()+got, "planted-value") {
			t.Errorf("%+v: %v\n%s", spec, err, got)
		}
	}
}

// TestKustomizeTakesBoundedMemory checks that small kustomizations that need gigabytes,
// or never end, fail the build with an explanation, and use no memory of this process.
func TestKustomizeTakesBoundedMemory(t *testing.T) {
	was := maxMemory
	t.Cleanup(func() { maxMemory = was })
	maxMemory = 192 << 20
	for name, files := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := bareRig(t).build(api.KustomizeSpec{Path: "app", LoadRestrictor: "none"}, files...)
			if err == nil || len(err.Error()) > 4<<10 {
				t.Fatalf("it is built, or the error is too long: %.300v", err)
			}
			t.Log(err)
		})
	}
}

// bombs returns kustomizations that never end, or take too long.
func bombs() map[string][]artifact.File {
	aliases := "x0: &x0 [" + strings.Repeat("aaaaaaaaaa, ", 10) + "]\n"
	for i := range 9 {
		aliases += fmt.Sprintf("x%d: &x%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*x%d, ", i), 10))
	}
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {text: a}\n"
	long := strings.Repeat("a", 1<<20)
	app := func(text string) artifact.File { return file("app/kustomization.yaml", text) }
	a := file("app/a.yaml", object)
	made := map[string][]artifact.File{
		"aliases in an object": {app("resources: [a.yaml]\n"), file("app/a.yaml", object+aliases)},
		"aliases in a patch": {app("resources: [a.yaml]\npatches: [{path: p.yaml}]\n"), a,
			file("app/p.yaml", object+aliases)},
		"aliases in the file": {app("resources: [a.yaml]\n" + aliases), a},
		"an alias of itself":  {app("resources: [a.yaml]\n"), file("app/a.yaml", object+"x: &x [*x]\n")},
		"a patch with itself": {app("resources: [a.yaml]\npatches: [{path: p.yaml}]\n"), a,
			file("app/p.yaml", object+"x: &x {a: *x}\n")},
		"bases in a ring": {app("resources: [../b]\n"), file("b/kustomization.yaml", "resources: [../c]\n"),
			file("c/kustomization.yaml", "resources: [../app]\n")},
		"a base that is itself": {app("resources: [../app]\n")},
		"components in a ring": {app("components: [../b]\n"), file("b/kustomization.yaml",
			"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncomponents: [../b]\n")},
		"a base by its own link": {app("resources: [again]\n"), {Path: "app/again", Link: "../app"}},
		"deeply nested": {app("resources: [a.yaml]\n"),
			file("app/a.yaml", object+"x: "+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+"\n")},
		"deeply nested in a patch": {app("resources: [a.yaml]\npatches: [{path: p.yaml}]\n"), a,
			file("app/p.yaml", object+"x: "+strings.Repeat("{a: ", 200_000)+strings.Repeat("}", 200_000)+"\n")},
	}
	// Each replacement appends the whole text to itself.
	doubled := "resources: [a.yaml]\nreplacements:\n"
	for range 40 {
		doubled += "- source: {kind: ConfigMap, name: settings, fieldPath: data.text}\n" +
			"  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.text], options: {delimiter: ',', index: 1000000}}]\n"
	}
	made["replacements"] = []artifact.File{app(doubled), a}
	// Each short name is replaced by a long value.
	made["variables"] = []artifact.File{
		app("resources: [a.yaml]\nvars: [{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: settings}, fieldref: " +
			"{fieldpath: data.text}}]\n" +
			"configurations: [c.yaml]\n"),
		file("app/c.yaml", "varReference: [{kind: ConfigMap, path: data/used}]\n"),
		file("app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {text: "+long+", used: \""+
			strings.Repeat("$(V)", 10_000)+"\"}\n"),
	}
	// Each level includes the one below it twice.
	levels := []artifact.File{file("l0/kustomization.yaml", "resources: [a.yaml]\n"),
		file("l0/a.yaml", strings.Replace(object, "text: a", "text: "+long, 1)), app("resources: [../l30]\n")}
	for i := range 30 {
		levels = append(levels, file(fmt.Sprintf("l%d/kustomization.yaml", i+1),
			fmt.Sprintf("resources: [../p%d, ../q%d]\n", i, i)))
		for _, side := range []string{"p", "q"} {
			levels = append(levels, file(fmt.Sprintf("%s%d/kustomization.yaml", side, i),
				fmt.Sprintf("resources: [../l%d]\nnamePrefix: %s\n", i, side)))
		}
	}
	made["bases twice at each level"] = levels
	return made
}

// TestKustomizeEndsWithItsJob checks that the process ends when the process of its job has
// ended, even if its work is endless.
func TestKustomizeEndsWithItsJob(t *testing.T) {
	packed, err := artifact.Pack(artifact.MediaSource, bombs()["bases twice at each level"], nil, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	order := kustomizeOrder{Spec: api.KustomizeSpec{Path: "app", LoadRestrictor: "none"}, Memory: 2 << 30,
		Parent: os.Getpid() + 1}
	input, err := kustomizeInput(t.TempDir(), packed.Layer, order)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	started := exec.CommandContext(t.Context(), os.Args[0])
	started.Env, started.Stdin = []string{varKustomize + "=1"}, input
	exit := (*exec.ExitError)(nil)
	if err := started.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitOrphaned {
		t.Errorf("it ended with %v", err)
	}
}
