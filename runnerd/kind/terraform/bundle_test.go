package terraform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// TestSavedPlanComesBack checks that load restores what save returned, and rejects files
// of another kind, or one too many or too few.
func TestSavedPlanComesBack(t *testing.T) {
	t.Parallel()
	made := savedPlan{
		metadata: planMetadata{Workspace: "/w", Terraform: "1.11.4"},
		plan:     []byte("plan"),
		vars:     []artifact.File{{Path: "000.tfvars.json", Content: []byte("{}")}},
		tree:     []artifact.File{{Path: "m/gen/x", Content: []byte("x"), Executable: true}, {Path: "m/link", Link: "gen/x"}},
	}
	files, err := made.save()
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got, cmp.AllowUnexported(savedPlan{})); diff != "" {
		t.Fatal(diff)
	}
	for name, files := range map[string][]artifact.File{
		"nothing":  nil,
		"no plan":  files[:1],
		"no note":  files[1:],
		"too many": append(files[:len(files):len(files)], artifact.File{Path: "more"}),
	} {
		if _, err := load(files); err == nil || !strings.Contains(err.Error(), "plan again") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDirectoryOf(t *testing.T) {
	t.Parallel()
	good := map[string]string{artifact.AnnotationFormat: "1", annotationDirectory: "m"}
	tests := map[string]struct {
		media artifact.Media
		notes map[string]string
		want  string
	}{
		"module": {artifact.MediaTerraform, good, ""},
		"source": {artifact.MediaSource, good, "not a Terraform module"},
		"newer": {artifact.MediaTerraform,
			map[string]string{artifact.AnnotationFormat: "2", annotationDirectory: "m"}, "update the runner"},
		"way out": {artifact.MediaTerraform,
			map[string]string{artifact.AnnotationFormat: "1", annotationDirectory: "../m"}, "inside itself"},
		"nothing":     {artifact.MediaTerraform, map[string]string{artifact.AnnotationFormat: "1"}, "inside itself"},
		"no notation": {artifact.MediaTerraform, nil, "in format \"\""},
	}
	for name, test := range tests {
		_, err := directoryOf(artifact.Artifact{Type: test.media, Annotations: test.notes})
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	env := r.env(api.JobSpecKindPlan)
	env.Redact.Add([]byte("planted-secret"))
	shown := &outputParser{log: env.Log, location: location{root: "/w/tree", module: "m"}}
	for _, part := range []string{
		`{"@level":"info","@message":"Outputs: 1","type":"outputs","outputs":{"a":{"value":"never-shown"}}}` + "\n" +
			`{"@level":"info",`,
		`"@message":"x: planted-secret\n\nmore","type":"provision_progress"}` + "\n",
		`{"@level":"error","@message":"Error: no","type":"diagnostic","diagnostic":{"severity":"error","summary":"No.","detail":"Not at all.","address":"x.y","range":{"filename":"../n/a.tf","start":{"line":7}}}}` + "\n",
		`{"@level":"warn","@message":"w","type":"diagnostic","diagnostic":{"severity":"warning","summary":"Careful"}}` + "\n",
		"plain text\n" + `{"@level":"info","@message":"Apply complete!","type":"change_summary","changes":{"operation":"apply"}}`,
	} {
		if _, err := shown.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	shown.flush()
	log := r.log.String()
	for _, want := range []string{`"m":"Outputs: 1"`, `"m":"x: (sensitive)"`, `"m":"more"`,
		`"l":"error","m":"n/a.tf:7: x.y: No: Not at all."`, `"l":"warn","m":"Careful"`, `"m":"plain text"`} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is not in\n%s", want, log)
		}
	}
	if strings.Contains(log, "never-shown") || strings.Contains(log, "planted") || !shown.applied ||
		len(shown.errors) != 1 {
		t.Errorf("%v %q\n%s", shown.applied, shown.errors, log)
	}
}

// TestScreenLeavesOutWhatIsTooLong checks that no part of a line that is too long is shown,
// because it may be a state in JSON.
func TestScreenLeavesOutWhatIsTooLong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shown := &outputParser{log: r.env(api.JobSpecKindApply).Log}
	long := strings.Repeat("never-shown ", 1<<20)
	for range maxOutputLine/len(long) + 2 {
		if _, err := shown.Write([]byte(long)); err != nil {
			t.Fatal(err)
		}
	}
	if len(shown.partial) > maxOutputLine {
		t.Errorf("it holds %d bytes", len(shown.partial))
	}
	if _, err := shown.Write([]byte("never-shown\n{\"@message\":\"Emergency state dump\",\"state\":{\"version\":4}}\n" +
		"after\n")); err != nil {
		t.Fatal(err)
	}
	if log := r.log.String(); strings.Contains(log, "never-shown") || !strings.Contains(log, "left out") ||
		!strings.Contains(log, "after") {
		t.Errorf("%.2000s", log)
	}
	if string(shown.state) != `{"version":4}` {
		t.Errorf("the state that Terraform printed is %q", shown.state)
	}
}
