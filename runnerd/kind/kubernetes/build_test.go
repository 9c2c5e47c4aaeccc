package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

func file(path, text string) artifact.File {
	return artifact.File{Path: path, Content: []byte(text)}
}

// TestBuild checks that a build packs the manifest unchanged, records whether it has templates,
// and parses one without templates.
func TestBuild(t *testing.T) {
	r := bareRig(t)
	one, err := r.build(api.KustomizeSpec{}, file(fileName, settings))
	if err != nil {
		t.Fatal(err)
	}
	two, err := r.build(api.KustomizeSpec{}, file(fileName, settings))
	if err != nil || one.Digest != two.Digest {
		t.Errorf("two builds of the same differ: %v", err)
	}
	templated, err := r.build(api.KustomizeSpec{},
		file(fileName, "{{ if .nuon.install.id }}\nkind: no object yet\n{{ end }}"))
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[api.ArtifactRef]string{one: "false", templated: "true"} {
		packed, err := r.env(api.JobSpecKindPlan).Install.Pull(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if packed.Type != artifact.MediaManifest || packed.Annotations[annotationTemplates] != want ||
			packed.Annotations[artifact.AnnotationTree] != "sha256:tree" {
			t.Errorf("got %s %v", packed.Type, packed.Annotations)
		}
	}
	for text, want := range map[string]string{
		"# nothing\n": "holds no object", "kind: X\n": "document 1 (line 1): it has no apiVersion",
	} {
		if _, err := r.build(api.KustomizeSpec{}, file(fileName, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := r.build(api.KustomizeSpec{}, file("other.yaml", settings)); err == nil ||
		!strings.Contains(err.Error(), "bug in the control plane") {
		t.Errorf("got %v", err)
	}
}

const base = "resources: [settings.yaml]\n"

// made runs a kustomization of files.
func made(spec api.KustomizeSpec, files ...artifact.File) (string, error) {
	return kustomize(files, spec)
}

func TestKustomize(t *testing.T) {
	files := []artifact.File{
		file("base/kustomization.yaml", base), file("base/settings.yaml", settings),
		file("prod/kustomization.yaml", "resources: [../base]\nnamePrefix: prod-\nconfigMapGenerator: [{name: made, "+
			"literals: [\"url=https://a.example\"]}]\n"),
		file("patches/merge.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: prod-settings}\ndata: {b: \"2\"}\n"),
		file("patches/json.yaml", "target: {kind: ConfigMap, name: prod-settings}\npatch: |\n  - {op: replace, path: "+
			"/data/a, value: \"9\"}\n"),
		{Path: "linked", Link: "prod"},
	}
	for name, c := range map[string]struct {
		spec api.KustomizeSpec
		want []string
	}{
		"as it is": {api.KustomizeSpec{Path: "prod"},
			[]string{"name: prod-settings", "name: prod-made-", "url: https://a.example"}},
		"patched": {api.KustomizeSpec{Path: "prod", Patches: []string{"patches/merge.yaml", "patches/json.yaml"}},
			[]string{`a: "9"`, `b: "2"`}},
		"through a link, helm allowed and not used": {api.KustomizeSpec{Path: "./linked", EnableHelm: true,
			LoadRestrictor: "none"}, []string{"name: prod-settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := made(c.spec, files...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(one, want) {
					t.Errorf("%q is not in:\n%s", want, one)
				}
			}
			if two, err := made(c.spec, files...); err != nil || one != two {
				t.Errorf("a second run gives something else: %v", err)
			}
		})
	}
	r := bareRig(t)
	if _, err := r.build(api.KustomizeSpec{Path: "prod"}, files...); err != nil {
		t.Error(err)
	}
}

// TestKustomizeNeverFetches checks that no request is sent to a server and that git is not run.
func TestKustomizeNeverFetches(t *testing.T) {
	trap := setTraps(t)
	url, host := trap.url+"/a.yaml", strings.TrimPrefix(trap.url, "http://")
	for _, text := range []string{
		"resources: ['" + url + "']", "RESOURCES: ['" + url + "']", "bases: ['" + url + "']",
		"components: ['" + url + "']", "crds: ['" + url + "']",
		"configurations: ['" + url + "']", "openapi: {path: '" + url + "'}",
		"resources: ['git::" + trap.url + "/a/b']", "resources: ['ssh://" + host + "/a/b.git']",
		"resources: ['git@" + host + ":a/b.git']", "resources: [github.com/a/b]", "resources: [GitHub.com/a/b//c]",
		"resources: ['file:///etc']",
		"patchesStrategicMerge: ['" + url + "']", "patches: [{path: '" + url + "'}]",
		"patches: [{Path: '" + url + "', target: {kind: X}}]",
		"patchesJson6902: [{path: '" + url + "', target: {kind: X, version: v1, name: a}}]",
		"replacements: [{path: '" + url + "'}]",
		"configMapGenerator: [{name: a, files: ['" + url + "']}]",
		"configMapGenerator: [{name: a, files: ['k=" + url + "']}]",
		"secretGenerator: [{name: a, envs: ['" + url + "']}]", "configMapGenerator: [{name: a, env: '" + url + "'}]",
		"helmCharts: [{name: a, repo: '" + trap.url + "'}]",
		"helmChartInflationGenerator: [{chartName: a, chartRepoUrl: '" + trap.url + "'}]",
		"helmGlobals: {chartHome: /etc}",
		"generators: ['" + url + "']", "transformers: [remote-transformer.yaml]", "generators: [helm.yaml]",
		"transformers: [exec.yaml]", "validators: [starlark.yaml]",
		"transformers: [dir]", "generators: [\"apiVersion: builtin\\nkind: ConfigMapGenerator\\nmetadata: {name: " +
			"a}\\nfiles: ['" + url + "']\\n\"]",
		"resources: [nested]", "generators: [keyed.yaml]", "generators: [variables.yaml]",
		"transformers: [paths.yaml]", "transformers: [replacements.yaml]",
		"generators: [\"apiVersion: builtin\\nkind: ConfigMapGenerator\\nmetadata: {name: a}\\nfiles: ['k=" +
			url + "']\\n\"]",
		"configMapGenerator: [{name: a, files: [\"k=" + url + "\\n\"]}]",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := made(api.KustomizeSpec{Path: ".", LoadRestrictor: "none", EnableHelm: true},
				file("kustomization.yaml", text+"\n"),
				file("remote-transformer.yaml",
					"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: '"+url+"'\n"),
				file("keyed.yaml", "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nname: a\nfiles: ['k="+url+
					"']\n"),
				file("variables.yaml", "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nname: a\nenvs: [' "+url+
					"']\n"),
				file("paths.yaml", "apiVersion: builtin\nkind: PatchStrategicMergeTransformer\nmetadata: {name: a}\npaths: ["+url+
					"]\n"),
				file("replacements.yaml", "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: a}\n"+
					"replacements: [{path: "+url+"}]\n"),
				file("helm.yaml", "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: a\nrepo: "+
					trap.url+"\n"),
				file("exec.yaml", "apiVersion: v1\nkind: X\nmetadata: {name: a, annotations: {config.kubernetes.io/function: "+
					"\"exec: {path: sh}\"}}\n"),
				file("starlark.yaml", "apiVersion: v1\nkind: X\nmetadata: {name: a, annotations: {config.kubernetes.io/function: "+
					"\"container: {image: a}\"}}\n"),
				file("dir/kustomization.yaml", "resources: [../exec.yaml]\n"), file("nested/kustomization.yml",
					"resources: ['"+url+"']\n"))
			if err == nil {
				t.Error("it is built")
			} else if !strings.Contains(err.Error(), "kustomization.y") || strings.Contains(err.Error(), sourceDir) {
				t.Errorf("it does not say where: %v", err)
			}
		})
	}
	trap.mustBeUntouched()
}

// TestVariablesComeFromTheSource checks variables without a value, for which kustomize would
// read the environment of the build.
func TestVariablesComeFromTheSource(t *testing.T) {
	t.Setenv("NUON_TEST_PLANTED", "planted-value")
	variables := file("variables.env", "# what is set\nA=b\n\nNUON_TEST_PLANTED\n")
	for name, text := range map[string]string{
		"generator": "secretGenerator: [{name: a, envs: [variables.env]}]\n",
		"old key":   "configMapGenerator: [{name: a, env: variables.env}]\n",
		"plugin":    "generators: [g.yaml]\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := made(api.KustomizeSpec{Path: "."}, file("kustomization.yaml", text), variables,
				file("g.yaml", "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nname: a\nenvs: "+
					"[variables.env]\n"))
			if err == nil || !strings.Contains(err.Error(), "line 4 has a name and no value") ||
				strings.Contains(err.Error(), "PLANTED") {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

// TestHarmlessAddressesStay checks that an address in an annotation is not taken for a file.
func TestHarmlessAddressesStay(t *testing.T) {
	got, err := made(api.KustomizeSpec{Path: "."},
		file("kustomization.yaml", "resources: [a.yaml]\ntransformers: [t.yaml]\n"), file("a.yaml", settings),
		file("t.yaml", "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: a}\nannotations: {docs: "+
			"'https://docs.example/x'}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n"))
	if err != nil || !strings.Contains(got, "https://docs.example/x") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestLinksInAnyOrder checks a link to a directory that itself gets its
// files from a later link.
func TestLinksInAnyOrder(t *testing.T) {
	got, err := made(api.KustomizeSpec{Path: "."}, file("kustomization.yaml", "resources: [a]\n"),
		artifact.File{Path: "a", Link: "d"},
		file("d/kustomization.yaml", "resources: [b]\n"), artifact.File{Path: "d/b", Link: "../base"},
		file("base/kustomization.yaml", "resources: [x.yaml]\n"), file("base/x.yaml", settings))
	if err != nil || !strings.Contains(got, "kind: ConfigMap") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestKustomizeSeesOnlyTheSource checks that a kustomization can read no file of the machine.
func TestKustomizeSeesOnlyTheSource(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: planted}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, restrictor := range []string{"rootOnly", "none"} {
		for _, text := range []string{
			"resources: [" + secret + "]", "resources: [../../../../../../../.." + secret + "]",
			"configMapGenerator: [{name: a, files: [x=" + secret + "]}]",
			"configMapGenerator: [{name: a, envs: [" + secret + "]}]",
			"resources: [link.yaml]", "openapi: {path: " + secret + "}",
		} {
			got, err := made(api.KustomizeSpec{Path: "app", LoadRestrictor: restrictor},
				file("app/kustomization.yaml", text+"\n"),
				artifact.File{Path: "app/link.yaml", Link: "../../.." + secret})
			if err == nil || strings.Contains(got, "planted") {
				t.Errorf("%s, %s: %v %s", restrictor, text, err, got)
			}
		}
	}
	// A file outside of the root but in the source can be read only without the restrictor.
	files := []artifact.File{file("app/kustomization.yaml", "resources: [../settings.yaml]\n"),
		file("settings.yaml", settings)}
	if _, err := made(api.KustomizeSpec{Path: "app"}, files...); err == nil ||
		!strings.Contains(err.Error(), "is not in or below") {
		t.Errorf("got %v", err)
	}
	if _, err := made(api.KustomizeSpec{Path: "app", LoadRestrictor: "none"}, files...); err != nil {
		t.Error(err)
	}
	for spec, want := range map[*api.KustomizeSpec]string{
		{Path: "../x"}:                              "is not in the source",
		{Path: "/etc"}:                              "is not in the source",
		{Path: "nothing"}:                           "there is no directory",
		{Path: "app", LoadRestrictor: "all"}:        "is neither rootOnly nor none",
		{Path: "app", Patches: []string{"../../x"}}: "there is no file",
		{Path: "app", Patches: []string{"list"}}:    "does not say which object it is for",
	} {
		if _, err := made(*spec, append(files, file("list", "- {op: remove, path: /a}\n"))...); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", *spec, err)
		}
	}
}

// TestLinksAreBounded checks that links to each other cannot produce an endless tree.
func TestLinksAreBounded(t *testing.T) {
	var files []artifact.File
	for i := range 1000 {
		files = append(files, file("d0/f"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26), "a"))
	}
	for i := range 8 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		for _, branch := range []string{"a", "b", "c", "d", "e", "f"} {
			files = append(files, artifact.File{Path: "d" + to + "/" + branch, Link: "../d" + from})
		}
	}
	if _, err := newSourceFS(files); err == nil || !strings.Contains(err.Error(), "use fewer links") {
		t.Errorf("got %v", err)
	}
}
