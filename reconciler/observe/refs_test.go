package observe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/reconciler/observe/observetest"
)

// TestABranchIsNotTakenForATag pushes a branch with the name of a tag that an app follows, and one with the full name.
func TestABranchIsNotTakenForATag(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	first := repo.Commit("start")
	repo.Git("tag", "plain")
	repo.Git("tag", "--annotate", "--message", "a release", "v1")
	repo.Git("branch", "v1")
	server := repo.Serve("", nil)
	options := observetest.FileOptions(repo)
	options.AllowPrivate, options.Roots = true, server.Roots
	type follower struct {
		*observetest.Fixture
		url, ref string
	}
	var followers []follower
	for _, url := range []string{repo.URL(), server.URL} {
		for _, ref := range []string{"plain", "v1", "refs/tags/v1", "refs/heads/v1"} {
			b := observetest.New(t, options)
			b.Connect(url, ref, "")
			if revision := b.MustPoll(); revision.Commit != first {
				t.Errorf("%s of %s: got commit %s, want %s", ref, url, revision.Commit, first)
			}
			followers = append(followers, follower{b, url, ref})
		}
	}
	repo.Write("a", "2")
	second := repo.Commit("hostile")
	for _, branch := range []string{"plain", "v1", "refs/tags/v1"} {
		repo.Git("update-ref", "refs/heads/"+branch, second)
	}
	for _, f := range followers {
		watch, revision := f.Poll()
		want, trouble := first, ""
		switch f.ref {
		case "refs/heads/v1":
			want = second
		case "plain", "v1":
			trouble = fmt.Sprintf("has a branch and a tag %q with different commits; delete one of them, or name the ref "+
				"in full, as refs/tags/%s or refs/heads/%s", f.ref, f.ref, f.ref)
		}
		if revision.Commit != want || !strings.Contains(watch.Error, trouble) || (watch.Error == "") != (trouble == "") {
			t.Errorf("%s of %s: commit %s, want %s; %q", f.ref, f.url, revision.Commit, want, watch.Error)
		}
	}
	repo.Git("update-ref", "-d", "refs/tags/v1")
	for _, f := range followers {
		if watch, revision := f.Poll(); f.ref == "refs/tags/v1" &&
			(revision.Commit != first || !strings.Contains(watch.Error, "has no branch or tag")) {
			t.Errorf("without the tag, the full name: commit %s, %q", revision.Commit, watch.Error)
		}
	}
}
