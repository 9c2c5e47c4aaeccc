// Package actions tests the way of code that actions run from a repository to an install, with the
// real programs.
package actions

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// world is a fleet with one app, which a runner deploys on two installs.
type world struct {
	*fleettest.World
	vendor *fleet.Repository
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.World = fleettest.Start(t, fleet.Options{})
	return w
}

// app is an app with an action whose step runs scripts/check.sh of its repository, by hand and after each deploy of
// web.
func app() fstest.MapFS {
	const module = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/base\"\n"
	program := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("#!/bin/sh\nset -eu\n" + text), Mode: 0o755}
	}
	return fstest.MapFS{
		"metadata.toml":       {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":         {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml":        {Data: []byte(module)},
		"components/web.toml": {Data: []byte("type = \"terraform_module\"\nname = \"web\"\n" + module)},
		"actions/check.toml": {Data: []byte("name = \"check\"\n[[triggers]]\ntype = \"manual\"\n[[triggers]]\n" +
			"type = \"post-deploy-component\"\ncomponent_name = \"web\"\n[[steps]]\nname = \"sign in/out\"\n" +
			"command = \"./check.sh {{.nuon.install.name}}\"\n[steps.public_repo]\nrepo = \".\"\ndirectory = \"scripts\"\n")},
		"modules/base/main.tf": {Data: []byte("output \"text\" {\n  value = \"text\"\n}\n")},
		"scripts/check.sh":     program(". lib/say.sh\nsay \"$1\"\n"),
		"scripts/lib":          {Data: []byte("../shared"), Mode: fs.ModeSymlink | 0o777},
		"shared/say.sh":        {Data: []byte(say("first"))},
	}
}

// say returns a library whose function writes a word to the log.
func say(word string) string { return "say() {\n  echo \"said " + word + " to $1\"\n}\n" }

// run runs the action on an install, and approves its script if that waits. It returns the workflow, and the script
// as the approver saw it, or "" if it did not wait.
func (w *world) run(install string) (done api.Workflow, seen string) {
	w.Helper()
	var begun api.Asked
	w.Must(w.Fleet.JSON(w.Ctx, &begun, "run", install, "check"))
	done = begun.Workflow
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the run on "+install+" ends", func() (bool, error) {
		if err := w.Fleet.JSON(w.Ctx, &done, "workflows", "get", done.ID); err != nil {
			return false, err
		}
		if step := done.Steps[0]; step.Status == api.StepStatusWaiting && step.Approval != "" {
			seen = w.Nuon("review", install+"/scripts")
			_, err := w.Fleet.Nuon(w.Ctx, "approve", step.Approval)
			return false, err
		}
		return done.Status != api.WorkflowStatusRunning, nil
	}))
	if done.Status != api.WorkflowStatusSucceeded {
		w.Fatalf("the run on %s %s: %s\n%s", install, done.Status, done.Outcome, w.Nuon("logs", "workflow", done.ID))
	}
	return done, seen
}

// said returns what the newest run of the action on an install wrote.
func (w *world) said(install string) string {
	w.Helper()
	_, line, _ := strings.Cut(w.Nuon("logs", "action", install, "check"), "said ")
	line, _, _ = strings.Cut(line, "\n")
	return strings.TrimSpace(line)
}

// builds returns the builds of the app, as "component number status".
func (w *world) builds() map[string]bool {
	w.Helper()
	var all []api.Build
	w.Must(w.Fleet.JSON(w.Ctx, &all, "builds", "list", "--app", "shop"))
	found := map[string]bool{}
	for _, b := range all {
		found[fmt.Sprintf("%s %d %s", b.Component, b.Number, b.Status)] = true
	}
	return found
}

// approveUntil approves the scripts of an install until it is current at a release.
func (w *world) approveUntil(install string, release int) {
	w.Helper()
	w.Must(fleet.Until(w.Ctx, testtime.Limit, install+" is current", func() (bool, error) {
		waiting, err := w.Fleet.Nuon(w.Ctx, "review", "--install", install, "-o", "name")
		if err != nil {
			return false, err
		}
		for _, id := range strings.Fields(string(waiting)) {
			_, _ = w.Fleet.Nuon(w.Ctx, "approve", id) // it may have been withdrawn
		}
		var i api.Install
		err = w.Fleet.JSON(w.Ctx, &i, "installs", "get", install)
		return i.Status == "current" && i.Release == release, err
	}))
}

// TestActionsRunCodeOfTheirRepository: code that an action runs is built once, and again only when it changes. Changed
// code is a new script for approvers, and a pinned install runs the code of its release.
func TestActionsRunCodeOfTheirRepository(t *testing.T) {
	w := newWorld(t)
	var err error
	w.vendor, err = w.Fleet.NewRepository(w.Ctx, "shop", app())
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", w.vendor.URL)
	w.Nuon("sync", "--app", "shop", "--wait")
	for _, name := range []string{"east", "west"} {
		w.Nuon("installs", "create", name, "--app", "shop", "--runner", "customer", "--approval", "approve-all")
		w.approveUntil(name, 1)
	}
	if got := w.said("east"); got != "first to east" {
		t.Errorf("after the deploy of web, the action said %s", got)
	}
	w.Nuon("installs", "pin", "west", "1")
	first, seen := w.run("east")
	if seen != "" {
		t.Errorf("an approved script waited: %s", seen)
	}
	if len(first.Steps[0].Sources) != 1 || first.Steps[0].Sources[0].Step != "sign in/out" {
		t.Fatalf("the run's record is %+v", first.Steps[0])
	}
	ran := first.Steps[0].Sources[0]
	want := fmt.Sprintf("step sign in/out ran actions:scripts at commit %.7s (%.19s)", ran.Commit, ran.Artifact)
	if out := w.Nuon("explain", "workflow", first.ID); !strings.Contains(out, want) {
		t.Errorf("explain does not print %q:\n%s", want, out)
	}
	want = fmt.Sprintf("ran actions:scripts at commit %.7s (step sign in/out)", ran.Commit)
	if out := w.Nuon("workflows", "get", first.ID); !strings.Contains(out, want) {
		t.Errorf("workflows get does not print %q:\n%s", want, out)
	}
	if out := w.Nuon("logs", "workflow", first.ID); !strings.Contains(out, ran.Artifact) {
		t.Errorf("the log does not name %s:\n%s", ran.Artifact, out)
	}

	w.Must(w.vendor.Write("README.md", "# Words\n"))
	w.Must(w.vendor.Push(w.Ctx, "Write words"))
	w.Nuon("sync", "--app", "shop", "--wait")
	before := map[string]bool{"sandbox 1 succeeded": true, "web 1 succeeded": true, "actions:scripts 1 succeeded": true}
	if diff := cmp.Diff(before, w.builds()); diff != "" {
		t.Errorf("a push beside the code: %s", diff)
	}

	w.Must(w.vendor.Write("shared/say.sh", say("second")))
	w.Must(w.vendor.Push(w.Ctx, "Say something else"))
	w.Nuon("sync", "--app", "shop", "--wait")
	before["actions:scripts 2 succeeded"] = true
	if diff := cmp.Diff(before, w.builds()); diff != "" {
		t.Errorf("a push of the code: %s", diff)
	}
	w.approveUntil("east", 2)
	second, seen := w.run("east")
	for _, line := range []string{"shared/say.sh", "said first", "said second"} {
		if !strings.Contains(seen, line) {
			t.Errorf("the approver does not see %q in\n%s", line, seen)
		}
	}
	if strings.Contains(seen, "lib/say.sh") {
		t.Errorf("the approver sees unchanged code:\n%s", seen)
	}
	if w.said("east") != "second to east" || second.Steps[0].Sources[0].Artifact == ran.Artifact {
		t.Errorf("changed code said %q, ran %+v", w.said("east"), second.Steps[0].Sources)
	}
	pinned, seen := w.run("west")
	if seen != "" || w.said("west") != "first to west" || pinned.Steps[0].Sources[0] != ran {
		t.Errorf("pinned code waited: %q, said %q, ran %+v", seen, w.said("west"), pinned.Steps[0].Sources)
	}

	// Hostile code is not built, and what was built before still runs.
	link := filepath.Join(w.vendor.Tree, "scripts", "passwd")
	w.Must(os.Symlink("../../../../../etc/passwd", link))
	w.refuse("Link out of the repository", "the symbolic link scripts/passwd leads out of the repository")
	w.Must(os.Remove(link))
	text := string(app()["actions/check.toml"].Data)
	w.Must(w.vendor.Write("actions/check.toml", strings.Replace(text, "./check.sh", "../shared/say.sh", 1)))
	w.refuse("Run a file outside", "is outside of the directory")
	if diff := cmp.Diff(before, w.builds()); diff != "" {
		t.Errorf("hostile code was built: %s", diff)
	}
	if _, seen := w.run("east"); seen != "" || w.said("east") != "second to east" {
		t.Errorf("after hostile pushes, the script waited: %q, and said %q", seen, w.said("east"))
	}
}

// refuse pushes everything, and requires that a sync fails with a reason.
func (w *world) refuse(message, reason string) {
	w.Helper()
	w.Must(w.vendor.Push(w.Ctx, message))
	out, err := w.Fleet.Nuon(w.Ctx, "sync", "--app", "shop", "--wait")
	if err == nil || !strings.Contains(string(out)+err.Error(), reason) {
		w.Errorf("a sync of %q: %v\n%s", message, err, out)
	}
}
