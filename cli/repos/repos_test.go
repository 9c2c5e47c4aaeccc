package repos

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// run runs the command against a control plane that polls three branches of two
// repositories, on two pages.
func run(t *testing.T, args ...string) (screen string, asked []string, err error) {
	t.Helper()
	all := []api.Repo{
		{ID: "rep_1", URL: "https://git/x", Ref: "main", Commit: "0123456789abcdef", Apps: []string{"hello", "shop"}},
		{ID: "rep_2", URL: "https://git/y", Ref: "main", Apps: []string{"shop"}, Problem: "401: the credential is refused"},
		{ID: "rep_3", URL: "https://git/y", Ref: "next", Apps: []string{"shop"}},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/repos" {
			asked = append(asked, r.Method+" "+r.URL.Path)
		}
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/repos/"), "/look")
		for _, repo := range all {
			if repo.ID == id {
				repo.Revisions = []api.Revision{{Commit: repo.Commit, Subject: "Package\tthe shop",
					Outcome: "app hello: version 1\napp shop: nothing\n"}}
				_ = json.NewEncoder(w).Encode(repo)
				return
			}
		}
		if r.URL.Query().Get("cursor") == "" {
			_ = json.NewEncoder(w).Encode(api.RepoList{Items: all[:1], Next: "2"})
			return
		}
		_ = json.NewEncoder(w).Encode(api.RepoList{Items: all[1:]})
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: "table"}})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), asked, err
}

// TestList checks the list of all branches, of those of an app, and of those with a problem.
func TestList(t *testing.T) {
	const one = "rep_1\thttps://git/x\tmain\t0123456789ab\tnever\thello shop\t\n"
	const two = "rep_2\thttps://git/y\tmain\t\tnever\tshop\t401: the credential is refused\n"
	const three = "rep_3\thttps://git/y\tnext\t\tnever\tshop\t\n"
	for line, want := range map[string]string{"list": one + two + three, "list --app hello": one,
		"list --problems": two, "list --app none": "", "list --limit 2": one + two} {
		if screen, _, err := run(t, strings.Fields(line)...); err != nil || screen != want {
			t.Errorf("%s: %v, printed\n%s, want\n%s", line, err, screen, want)
		}
	}
}

// TestNames checks that a branch is found by its id, or by the URL of a repository
// with only one branch.
func TestNames(t *testing.T) {
	for line, c := range map[string]struct {
		asked string
		code  int
		says  string
	}{
		"get rep_1":          {"GET /v1/repos/rep_1", 0, "0123456789ab"},
		"get https://git/x":  {"GET /v1/repos/rep_1", 0, "    app hello: version 1\n    app shop: nothing\n"},
		"poll https://git/x": {"POST /v1/repos/rep_1/look", 0, "Package the shop"},
		"poll rep_2":         {"POST /v1/repos/rep_2/look", exitcode.Failed, "401: the credential is refused"},
		"get https://git/y": {"", exitcode.Usage, "2 branches of https://git/y are polled; name one: rep_2 (main), " +
			"rep_3 (next)"},
		"get https://git/none": {"", exitcode.Failed, "no polled branch of https://git/none; list the polled branches"},
		"get rep_2": {"GET /v1/repos/rep_2", 0, "  last delivery  none (see docs/git.md to set up a webhook)\n  " +
			"last poll      never\n  next poll      none\n"},
	} {
		screen, asked, err := run(t, strings.Fields(line)...)
		if err != nil {
			screen += err.Error()
		}
		if exitcode.CodeOf(err) != c.code || strings.Join(asked, " ") != c.asked || !strings.Contains(screen, c.says) {
			t.Errorf("%s: %v, asked %q, printed\n%s", line, err, asked, screen)
		}
	}
}

// TestPolls checks that a branch is printed with its last delivery, last poll and next
// poll, and the reason for an unusual interval.
func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes between now and the output
		now := time.Now()
		delivered := &api.RepoDelivery{At: now.Add(-3 * time.Minute), Forge: "github", ID: "72d3162e"}
		for want, r := range map[string]api.Repo{
			"  last delivery  3m0s ago, github 72d3162e\n  last poll      2m0s ago\n" +
				"  next poll      in 13m0s (reduced: webhook hok_1 announces pushes)\n": {
				LastDelivery: delivered,
				Webhook:      "hok_1",
				CheckedAt:    now.Add(-2 * time.Minute),
				PolledAt:     now.Add(-2 * time.Minute),
				NextPollAt:   now.Add(13 * time.Minute),
			},
			"  last delivery  3m0s ago, github 72d3162e\n  last poll      2m0s ago\n" +
				"  next poll      now\n": {
				LastDelivery: delivered,
				CheckedAt:    now.Add(-2 * time.Minute),
				PolledAt:     now.Add(-2 * time.Minute),
				NextPollAt:   now.Add(-time.Second),
			},
			"  last poll      2m0s ago, last read: 1h0m0s ago\n" +
				"  next poll      in 10m0s (backing off: it cannot be read)\n  problem        gone\n": {
				Webhook:    "hok_1",
				Problem:    "gone",
				CheckedAt:  now.Add(-time.Hour),
				PolledAt:   now.Add(-2 * time.Minute),
				NextPollAt: now.Add(10 * time.Minute),
			},
		} {
			var out strings.Builder
			if err := show(&out, r); err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("%v, printed\n%s\nwant\n%s", err, out.String(), want)
			}
		}
	})
}
