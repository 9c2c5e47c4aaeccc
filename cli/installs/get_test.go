package installs

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestNoInputsAreSaidSo: a heading without anything below it looks as if something was lost.
func TestNoInputsAreSaidSo(t *testing.T) {
	var got strings.Builder
	if err := show(&got, api.Install{}); err != nil {
		t.Fatal(err)
	}
	if want := "\ninputs               none set: the app's defaults are in force\ncomponents\n"; !strings.Contains(got.String(), want) {
		t.Errorf("no %q in:\n%s", want, got.String())
	}
}
