package runner

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// TestStackOnGCP reads what the stack set on a machine on GCP, by its metadata server.
func TestStackOnGCP(t *testing.T) {
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	environ, set, err := cloud.GCP.StartMachine(cloudtest.Machine{Project: "acme-prod", Attributes: map[string]string{
		attributeInstall: "ins_1", attributeVersion: "3", attributeOutputs: `{"region": "europe-west3"}`}})
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(environ[0], "=")
	t.Setenv(name, value)
	report, err := stackOnGCP(t.Context())
	if err != nil || report.Install != "ins_1" || report.StackVersion != "3" ||
		string(report.Outputs["region"]) != `"europe-west3"` {
		t.Errorf("%+v, %v", report, err)
	}
	set(attributeOutputs, `{"region": "europe-west4"}`)
	if report, err = stackOnGCP(t.Context()); err != nil || string(report.Outputs["region"]) != `"europe-west4"` {
		t.Errorf("after a change %+v, %v", report, err)
	}
	set(attributeOutputs, "{")
	if _, err := stackOnGCP(t.Context()); err == nil {
		t.Error("what is no JSON is reported")
	}
}
