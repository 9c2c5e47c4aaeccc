package cloudformation_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// specVersion is the version of the resource specification that `make tools` installs.
const specVersion = "0.1.216"

// specCheck returns a command that checks templates against the specification, and skips a test where that was not
// installed.
func specCheck(t *testing.T, templates ...string) *exec.Cmd {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(cache, "nuon-tools", "aws-service-spec-"+specVersion, "node_modules")
	node, err := exec.LookPath("node")
	if _, missing := os.Stat(modules); missing != nil || err != nil {
		t.Skip("needs node and the resource specification of CloudFormation: make tools installs it, once")
	}
	command := exec.CommandContext(t.Context(), node, append([]string{"testdata/check.cjs"}, templates...)...)
	command.Env = append(os.Environ(), "NODE_PATH="+modules)
	return command
}

// TestSpecification checks templates against the published specification of CloudFormation's resources.
func TestSpecification(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for name, stack := range variants(t) {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
		if err := os.WriteFile(file, render(t, stack), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if said, err := specCheck(t, files...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}

	broken := strings.NewReplacer(`"HttpPutResponseHopLimit":1`, `"HttpPutResponseHopLimit":"one"`,
		`"Encrypted":true`, `"Encrypted":true,"Sealed":true`, `"LatestVersionNumber"`, `"NewestVersion"`,
		`"MaxSize":"1",`, "").Replace(string(render(t, stacktest.Stack(t, stacktest.App("aws"), stacktest.Facts()))))
	file := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := specCheck(t, file).CombinedOutput()
	for _, want := range []string{`"one" is no integer`, "has no property Sealed",
		"RunnerTemplate.NewestVersion: AWS::EC2::LaunchTemplate has no such attribute", "MaxSize is missing"} {
		if err == nil || !strings.Contains(string(said), want) {
			t.Errorf("the check does not say %q: %v\n%s", want, err, said)
		}
	}
}

// TestSpecificationVersion checks that make installs the version that the test looks for.
func TestSpecificationVersion(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil || !strings.Contains(string(makefile), "aws-service-spec-"+specVersion+"\n") {
		t.Errorf("the Makefile installs another version than %s: %v", specVersion, err)
	}
}
