package source

import "testing"

func TestCheck(t *testing.T) {
	files := func(pairs ...string) []string {
		return append([]string{"deploy/web/Chart.yaml", yamlOf("web", "1.0.0")}, pairs...)
	}
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"fine": {files("deploy/web/templates/a.yaml",
			"{{ include \"x\" . | nindent 4 }}{{ lookup \"v1\" \"Pod\" \"a\" \"b\" }}{{ toToml . }}", "deploy/web/values.yaml",
			"# none\n",
			"deploy/web/values.schema.json", "{}", "deploy/web/charts/x/Chart.yaml", yamlOf("x", "1.0.0"),
			"deploy/web/charts/x/templates/b.yaml", "{{ if }}"), nil},
		"a template": {files("deploy/web/templates/a.yaml", "a\n{{ if }}\n"),
			[]string{"deploy/web/templates/a.yaml:2: ", "fix the template"}},
		"a function": {files("deploy/web/templates/_a.tpl", "\n\n{{ toYamll . }}"),
			[]string{`deploy/web/templates/_a.tpl:3: function "toYamll" not defined`}},
		"the environment": {files("deploy/web/templates/a.yaml", "{{ env \"HOME\" }}"),
			[]string{`function "env" not defined`}},
		"several": {files("deploy/web/templates/a.yaml", "{{ x }}", "deploy/web/templates/b.yaml", "{{ end }}"),
			[]string{"a.yaml:1", "b.yaml:1"}},
		"values": {files("deploy/web/values.yaml", "a: 1\nb: [\n"),
			[]string{"deploy/web/values.yaml:", "fix the YAML"}},
		"values in a list": {files("deploy/web/values.yaml", "# x\n- a\n"),
			[]string{"deploy/web/values.yaml:2: values are a mapping"}},
		"a schema": {files("deploy/web/values.schema.json", "{\n \"a\": }\n"),
			[]string{"deploy/web/values.schema.json:2: ", "fix the JSON"}},
		"control": {files("deploy/web/templates/a.yaml", "{{ \"\x1b[31m }}"), []string{"a.yaml:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := New(Options{}).FromTree(t.Context(), filesOf(test.files...), "deploy/web")
			if err != nil {
				t.Fatal(err)
			}
			err = made.Check()
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, test.want...)
		})
	}
}
