//go:build unix

// Package terminal tests the screens of nuon on a terminal, with the real programs.
package terminal

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// greeting is a policy that warns of the word first and denies the word forbidden.
const greeting = `package nuon

said contains word if {
	some r in input.plan.resource_changes
	word := r.change.after.input
}

warn contains sprintf("it says %s", [word]) if { some word in said; word == "first" }

deny contains sprintf("it says %s", [word]) if { some word in said; word == "forbidden" }
`

// app is an app with one component, whose output says a word.
func app(word string) fstest.MapFS {
	const module = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/"
	return fstest.MapFS{
		"metadata.toml":       {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":         {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml":        {Data: []byte(module + "base\"\n")},
		"components/web.toml": {Data: []byte("type = \"terraform_module\"\nname = \"web\"\n" + module + "web\"\n")},
		"policies.toml": {Data: []byte("[[policy]]\nname = \"greeting\"\ntype = \"terraform_module\"\n" +
			"engine = \"opa\"\ncomponents = [\"web\"]\ncontents = \"\"\"\n" + greeting + "\"\"\"\n")},
		"modules/base/main.tf": {Data: []byte("output \"text\" {\n  value = \"text\"\n}\n")},
		"modules/web/main.tf": {Data: []byte("resource \"terraform_data\" \"page\" {\n  input = \"" + word +
			"\"\n}\noutput \"page\" {\n  value = terraform_data.page.output\n}\n")},
	}
}

// TestScreens follows an install from its first plan on, and opens every screen: it approves the
// plans in the review, and reads the workflow, its log, the app, the runner, the audit and the causes.
func TestScreens(t *testing.T) {
	t.Parallel()
	w := fleettest.Start(t, fleet.Options{})
	vendor, err := w.Fleet.NewRepository(w.Ctx, "shop", app("first"))
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", vendor.URL)
	w.Nuon("sync", "--app", "shop", "--wait")

	c := exec.Command(filepath.Join(w.Fleet.Bin, "nuon"))
	c.Env = w.Fleet.Person()
	s := screentest.Sit(t, c, false)
	s.Size(140, 45)
	s.Sees("Nothing needs you.")
	w.Nuon("installs", "create", "acme", "--app", "shop", "--runner", "customer")
	for _, component := range []string{"sandbox", "web"} {
		s.Sees("deploy " + component + " on acme of shop")
		s.Presses("R", component+" on shop/acme")
		s.Sees("change 1 of")
		if component == "web" {
			s.Sees("policy greeting warns: it says first")
			s.Presses("i", "1 plan is assigned to you")
			s.Presses("e", "rules · web on shop/acme")
			s.Presses("\x1b", "change 1 of") // escape and a key right after it would be one key with alt
			s.Keys(" ")                      // a selection of one
			s.Sees("1 plan selected: +1; highest risk: ")
			s.Answers("a", "Type 1 to approve", "1\r", "Approved by")
			s.Presses("q", "fleet")
			continue
		}
		s.Presses("F", "✓ apply    sandbox") // shows the apply live
		s.Presses("\x1b", "fleet")
	}
	w.Until("acme", 1)
	s.Sees("Nothing needs you.")

	s.Keys(":installs\r")
	s.Sees("› installs")
	s.Sees("current")
	s.Keys(" ")
	s.Sees("1 marked")
	s.Keys("a")
	s.Sees("No plans are waiting for approval.")
	s.Keys("\x1b")
	s.Sees("1 marked")
	s.Presses("d", "Deploy everything that is behind on 1 install: shop/acme?")
	s.Keys("n")
	s.Sees("canceled")
	s.Keys("\r")
	s.Sees("components")
	s.Sees(`"first"`)
	s.Keys("\t")
	s.Keys("\r")
	s.Sees("✓ apply    web")
	s.Keys("L")
	s.Sees("Apply complete!")
	s.Keys("/creation complete\r")
	s.Sees("1 of 1 ")
	s.Keys("n")
	s.Sees("/ creation complete")
	s.Sees("Apply complete!")
	for _, c := range []struct{ line, title, want string }{
		{"workflows", "› workflows", "provision 1"}, {"apps", "› apps", "complete"}, {"app shop", "› shop", "releases"},
		{"states shop/acme web", "› state of web on shop/acme", "kept"}, {"app shop", "› shop", "DEPENDS ON"},
		{"runners", "› runners", "customer"}, {"runner customer", "› runner customer", "shop/acme"},
		{"audit", "› audit", "install.create"}, {"explain install acme", "› why install acme", "RECORD"},
	} {
		s.Keys(":" + c.line + "\r")
		s.Sees(c.title)
		s.Sees(c.want)
	}
	s.Keys("!")
	s.Sees("nuon explain install acme")
	s.Keys("q")
	s.Sees("go to")
	s.Keys("q")
	s.Leaves(exitcode.Done)
	s.Sees("approved: web on shop/acme")

	const page = "modules/web/main.tf"
	w.Must(vendor.Write(page, string(app("forbidden")[page].Data)))
	w.Must(vendor.Push(w.Ctx, "Say another word"))
	w.Nuon("sync", "--app", "shop")
	testtime.Until(t, "a plan that is denied", func() bool {
		return strings.Contains(w.Nuon("review", "--print"), "denies: it says forbidden")
	})
	if shown := w.Nuon("status"); !strings.Contains(shown, "blocked\tdeploy web on acme of shop\t") ||
		!strings.Contains(shown, "policy greeting denies it: change what is denied and push, or reject the plan") {
		t.Errorf("the denied plan is not blocked:\n%s", shown)
	}
	c = exec.Command(filepath.Join(w.Fleet.Bin, "nuon"), "review")
	c.Env = w.Fleet.Person()
	s = screentest.Sit(t, c, false)
	s.Sees("policy greeting denies: it says forbidden")
	s.Presses("a", "a policy denies this plan")
	s.Answers("r", "Reason", "say something else\r", "Rejected by")
	s.Keys("q")
	s.Leaves(exitcode.Done)
}
