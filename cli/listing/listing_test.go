package listing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// numbers is a list of `many` items, in pages of at most `page`.
type numbers struct {
	many, page int
	asked      []Page
	fails      int // the number of the request that fails; 0 for none
	printed    func() string
	before     []int // how much had been printed at each request
}

var errBroken = errors.New("broken")

func (n *numbers) list(limit int) *List[int] {
	return &List[int]{
		Limit:  limit,
		Header: []string{"NAME", "TWICE"},
		Row:    func(i int) []string { return []string{fmt.Sprint("n", i), strconv.Itoa(2 * i)} },
		Page: func(_ context.Context, _ *apiclient.Client, at Page) ([]int, string, error) {
			n.asked = append(n.asked, at)
			n.before = append(n.before, len(n.printed()))
			if len(n.asked) == n.fails {
				return nil, "", errBroken
			}
			from, _ := strconv.Atoi(at.Cursor) // the first page has no cursor
			to := min(from+min(at.Limit, n.page), n.many)
			items := []int{}
			for i := from; i < to; i++ {
				items = append(items, i)
			}
			if to == n.many {
				return items, "", nil
			}
			return items, strconv.Itoa(to), nil
		},
	}
}

func (n *numbers) run(t interface{ Context() context.Context }, list *List[int], format string,
	args ...string) (string, error) {
	var out strings.Builder
	n.printed = out.String
	c := list.Command(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &strings.Builder{}, Output: format}},
		&cobra.Command{Use: "list", SilenceErrors: true, SilenceUsage: true})
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func chosen(t *testing.T) {
	t.Helper()
	t.Setenv("NUON_URL", "http://plane")
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
}

// TestAsManyAsAsked checks for any sizes of list, pages and limit that the first items are
// printed in order, once each.
func TestAsManyAsAsked(t *testing.T) {
	chosen(t)
	rapid.Check(t, func(t *rapid.T) {
		n := &numbers{many: rapid.IntRange(0, 1500).Draw(t, "many"), page: rapid.IntRange(1, 600).Draw(t, "page")}
		limit := rapid.IntRange(0, 1600).Draw(t, "limit")
		format := rapid.SampledFrom([]string{"table", "name", "json"}).Draw(t, "format")
		out, err := n.run(t, n.list(20), format, "--limit", strconv.Itoa(limit))
		if err != nil {
			t.Fatal(err)
		}
		want := n.many
		if limit > 0 {
			want = min(want, limit)
		}
		if format == "json" {
			var got []int
			if err := json.Unmarshal([]byte(out), &got); err != nil || got == nil || len(got) != want {
				t.Fatalf("%d items, %v; want %d", len(got), err, want)
			}
			return
		}
		var lines strings.Builder
		for i := range want {
			fmt.Fprintf(&lines, "n%d", i)
			if format == "table" {
				fmt.Fprintf(&lines, "\t%d", 2*i)
			}
			lines.WriteString("\n")
		}
		if out != lines.String() {
			t.Fatalf("printed %.300q", out)
		}
		for _, at := range n.asked {
			if at.Limit < 1 || at.Limit > largePage {
				t.Fatalf("asked for a page of %d", at.Limit)
			}
		}
	})
}

// TestRowsAreThereBeforeTheNextPage checks that the rows of a page are printed
// before the next page is fetched.
func TestRowsAreThereBeforeTheNextPage(t *testing.T) {
	chosen(t)
	n := &numbers{many: 3000, page: 500}
	if _, err := n.run(t, n.list(0), "table"); err != nil {
		t.Fatal(err)
	}
	if n.asked[0].Limit != firstPage || len(n.asked) != 7 {
		t.Errorf("asked for %+v", n.asked)
	}
	for i := 1; i < len(n.before); i++ {
		if n.before[i] <= n.before[i-1] {
			t.Errorf("nothing was printed between the pages %d and %d", i, i+1)
		}
	}
}

// TestHalfAListIsNoData checks that an incomplete list returns its error, and
// that data is printed only if complete.
func TestHalfAListIsNoData(t *testing.T) {
	chosen(t)
	for format, prints := range map[string]bool{"json": false, "yaml": false, "table": true, "name": true} {
		n := &numbers{many: 300, page: 100, fails: 3}
		out, err := n.run(t, n.list(0), format)
		if !errors.Is(err, errBroken) || (out != "") != prints {
			t.Errorf("%s: printed %d bytes, %v", format, len(out), err)
		}
	}
}

// TestAPageForEver checks that a control plane that returns the same page again, or two pages in turn, is an error.
func TestAPageForEver(t *testing.T) {
	chosen(t)
	n := &numbers{}
	l := n.list(0)
	for _, second := range []string{"again", "other"} {
		after := map[string]string{"": "again", "again": second, "other": "again"}
		l.Page = func(_ context.Context, _ *apiclient.Client, at Page) ([]int, string, error) {
			return []int{1}, after[at.Cursor], nil
		}
		if _, err := n.run(t, l, "name"); exitcode.CodeOf(err) != exitcode.Unreachable ||
			!strings.Contains(err.Error(), "twice") {
			t.Errorf("ended with %v", err)
		}
	}
}

// TestNames checks that Name overrides the first cell of a row.
func TestNames(t *testing.T) {
	chosen(t)
	n := &numbers{many: 2, page: 9}
	l := n.list(0)
	l.Name = func(i int) string { return fmt.Sprint("id\n", i) }
	if out, err := n.run(t, l, "name"); err != nil || out != "id 0\nid 1\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

// TestThereIsMore checks that the message about more items appears only on a
// terminal and only if the list was cut.
func TestThereIsMore(t *testing.T) {
	chosen(t)
	for _, c := range []struct {
		many     int
		terminal bool
		want     bool
	}{{5, true, true}, {3, true, false}, {5, false, false}} {
		n := &numbers{many: c.many, page: 9}
		var out, remarks strings.Builder
		n.printed = out.String
		cmd := n.list(3).Command(
			&cmdenv.Env{Console: &console.Console{Out: &out, Err: &remarks, OutIsTerminal: c.terminal, Output: "table"}},
			&cobra.Command{Use: "list"})
		cmd.SetArgs(nil)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(remarks.String(), "--limit 0"); got != c.want {
			t.Errorf("%+v: said %q", c, remarks.String())
		}
	}
}
