package installs

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestNoInputsAreSaidSo checks that an install without inputs says so; an empty
// heading would look like lost data.
func TestNoInputsAreSaidSo(t *testing.T) {
	var got strings.Builder
	if err := show(&got, api.Install{}); err != nil {
		t.Fatal(err)
	}
	if want := "\ninputs               none set: the app's defaults apply\n" +
		"components\n"; !strings.Contains(got.String(), want) {
		t.Errorf("no %q in:\n%s", want, got.String())
	}
}

// TestLongOutputsAreCut checks that a chart's kilobytes of JSON do not hide everything else.
func TestLongOutputsAreCut(t *testing.T) {
	long := `{"web":"` + strings.Repeat("ä", 2*maxShown) + `"}`
	i := api.Install{Components: []api.InstallComponent{{Name: "web", Outputs: []api.OutputValue{{Name: "services",
		Value: []byte(long)}, {Name: "short", Value: []byte(`"whole"`)}}}}}
	var got strings.Builder
	if err := show(&got, i); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`services         {"web":"` + strings.Repeat("ä", maxShown-8) +
		"…  (410 bytes, -o json shows all)\n", `short            "whole"` + "\n"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
}

// TestStackOfADeprovisionedInstall checks that the customer's last step is named, until the stack reports its deletion.
func TestStackOfADeprovisionedInstall(t *testing.T) {
	i := api.Install{Status: api.InstallStatusDeprovisioned, Stack: api.StackStatus{Status: api.StackActive, Newest: 2}}
	check := func(want string) {
		t.Helper()
		var got strings.Builder
		if err := show(&got, i); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.String(), "stack                "+want+"\n") {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
	const now = "nothing of the app is left, so the customer deletes the stack now"
	check(now)
	i.StackOutputs.PhoneHome = &api.PhoneHomeState{Subject: api.CloudSubject{Cloud: "gcp", Account: "acme-prod"}}
	check(now + ", in the gcp account acme-prod")
	i.StackOutputs.PhoneHome.StackID = "arn:aws:cloudformation:eu-central-1:123456789012:stack/acme/1"
	check(now + ": arn:aws:cloudformation:eu-central-1:123456789012:stack/acme/1")
	i.Stack.Status = api.StackDeleted
	check("deleted by the customer")
	i.Status, i.Stack.Status = api.InstallStatusCurrent, api.StackActive
	check("version 2, the newest")
}
