// Package listing implements the list commands of nuon: it prints pages as they arrive,
// handles --limit and --watch, and prints a table, data or names according to -o. A list
// command defines its page and its row.
package listing

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/watch"
)

// List defines a list command for items of type T.
type List[T any] struct {
	Header []string
	Row    func(T) []string
	// Rows, if set, builds the rows of a table on a terminal from all items, where
	// rows and items do not correspond one to one. A pipe still gets one row per item.
	Rows func([]T) [][]string
	// Name returns what -o name prints; the default is the first cell of the row.
	Name func(T) string
	// Page fetches one page. A list without pages returns all items and no next cursor.
	Page func(ctx context.Context, client *apiclient.Client, at Page) (items []T, next string, err error)
	// Limit is the default of --limit; 0 lists all.
	Limit int

	watch bool
}

// Page selects the part of a list to fetch.
type Page struct {
	Args   []string // of the command
	Cursor string
	Limit  int // the maximum number of items
}

// Page sizes. The first page is small, so that its rows appear soon; the others have the
// maximum size of the API.
const (
	firstPage = 100
	largePage = 500
)

// Command adds --limit and --watch to c and makes it print the list. Filters
// are flags of the command itself.
func (l *List[T]) Command(e *cmdenv.Env, c *cobra.Command) *cobra.Command {
	c.Flags().IntVar(&l.Limit, "limit", l.Limit, "maximum number of items to list; 0 for all")
	watch.Flag(c, &l.watch)
	c.RunE = func(c *cobra.Command, args []string) error {
		if l.Limit < 0 {
			return exitcode.Usagef("--limit %d: use a number from 1 up, or 0 for all", l.Limit)
		}
		client, err := e.Client()
		if err != nil {
			return err
		}
		look := func(ctx context.Context, onto *console.Console) error { return l.print(ctx, onto, client, args) }
		if l.watch {
			return watch.Run(c.Context(), e.Console, look)
		}
		return look(c.Context(), e.Console)
	}
	return c
}

// newestOfApp is the default limit of a list that OfApp creates.
const newestOfApp = 20

// OfApp makes c a list of an app's history, such as its releases: the app is
// the argument, and the newest items come first.
func (l *List[T]) OfApp(e *cmdenv.Env, c *cobra.Command) *cobra.Command {
	l.Limit, c.Args, c.ValidArgsFunction = newestOfApp, cobra.ExactArgs(1), complete.Args(e, complete.Apps)
	return l.Command(e, c)
}

// print prints the list once. It prints rows page by page, but data only if it is complete.
func (l *List[T]) print(ctx context.Context, c *console.Console, client *apiclient.Client, args []string) error {
	rows := c.Rows(l.Header)
	all := []T{}
	data := c.Output == "json" || c.Output == "yaml"
	together := l.Rows != nil && c.Output == "table" && c.OutIsTerminal
	more, err := l.pages(ctx, client, args, func(items []T) error {
		switch {
		case data || together:
			all = append(all, items...)
			return nil
		case c.Output == "name":
			return l.names(c, items)
		}
		cells := make([][]string, 0, len(items))
		for _, i := range items {
			cells = append(cells, l.Row(i))
		}
		return rows.Print(cells)
	})
	switch {
	case err != nil:
		return err
	case data:
		return c.Result(all, nil)
	case together:
		if err := rows.Print(l.Rows(all)); err != nil {
			return err
		}
	}
	if more && c.OutIsTerminal && !l.watch {
		c.Messagef("there are more; list all with --limit 0")
	}
	return nil
}

// pages fetches pages up to the limit, calls each for every page (also for an
// empty first page), and reports whether more items exist.
func (l *List[T]) pages(ctx context.Context, client *apiclient.Client, args []string,
	each func([]T) error) (more bool, err error) {
	at := Page{Args: args, Limit: firstPage}
	var walked apiclient.Pages
	for left := l.Limit; ; at.Limit = largePage {
		if l.Limit > 0 {
			at.Limit = min(at.Limit, left)
		}
		items, next, err := l.Page(ctx, client, at)
		if err != nil {
			return false, err
		}
		more := next != ""
		if l.Limit > 0 && len(items) > left {
			items, more = items[:left], true
		}
		if err := each(items); err != nil {
			return false, err
		}
		left -= len(items)
		if !more || l.Limit > 0 && left <= 0 {
			return more, nil
		}
		if err := walked.Next(next); err != nil {
			return false, err
		}
		at.Cursor = next
	}
}

func (l *List[T]) names(c *console.Console, items []T) error {
	for _, i := range items {
		name := ""
		if l.Name != nil {
			name = l.Name(i)
		} else {
			name = l.Row(i)[0]
		}
		if _, err := fmt.Fprintln(c.Out, console.Line(name)); err != nil {
			return err
		}
	}
	return nil
}
