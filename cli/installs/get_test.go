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
