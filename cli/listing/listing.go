// Package listing is how every list of nuon works: pages as they come, --limit, --watch, and a table, data or names as -o asks. A
// list command says what a page and a row are.
package listing

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/watch"
)

// List is a list of things of one kind.
type List[T any] struct {
	Header []string
	Row    func(T) []string
	// Rows, when it is set, makes the rows of a table on a terminal from all items at once, because they are not one for each. In a
	// pipe it is a row for each all the same.
	Rows func([]T) [][]string
	// Name is what -o name prints; left out, it is the first cell of the row.
	Name func(T) string
	// Page gets one page. A list that has no pages gives all and no next cursor.
	Page func(ctx context.Context, client *remote.Client, at Page) (items []T, next string, err error)
	// Limit is the default of --limit; 0 lists all.
	Limit int

	watch bool
}

// Page is which part of a list to get.
type Page struct {
	Args   []string // of the command
	Cursor string
	Limit  int // the most that may come
}

// The sizes of pages. The first one is small, so that its rows are there soon; the others are as large as the API allows.
const (
	firstPage = 100
	largePage = 500
)

// Command makes c the list: its flags --limit and --watch, and what it does. Filters are flags of the command's own.
func (l *List[T]) Command(e *env.Env, c *cobra.Command) *cobra.Command {
	c.Flags().IntVar(&l.Limit, "limit", l.Limit, "most to list; 0 for all")
	watch.Flag(c, &l.watch)
	c.RunE = func(c *cobra.Command, args []string) error {
		if l.Limit < 0 {
			return exit.Usagef("--limit %d: use a number from 1 up, or 0 for all", l.Limit)
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

// newestOfApp is how many a list of what an app had shows unless --limit says otherwise.
const newestOfApp = 20

// OfApp makes c the list of what an app had over time, such as its releases: the app is the argument, and the newest come first.
func (l *List[T]) OfApp(e *env.Env, c *cobra.Command) *cobra.Command {
	l.Limit, c.Args, c.ValidArgsFunction = newestOfApp, cobra.ExactArgs(1), complete.Args(e, complete.Apps)
	return l.Command(e, c)
}

// print prints the list once. Rows are printed a page at a time; data is printed whole or not at all.
func (l *List[T]) print(ctx context.Context, c *console.Console, client *remote.Client, args []string) error {
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
		c.Say("there are more: --limit 0 lists all")
	}
	return nil
}

// pages gives page after page to each, up to the limit, and says whether there would be more. The first page is given also when it
// is empty.
func (l *List[T]) pages(ctx context.Context, client *remote.Client, args []string, each func([]T) error) (more bool, err error) {
	at := Page{Args: args, Limit: firstPage}
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
		switch {
		case !more || l.Limit > 0 && left <= 0:
			return more, nil
		case next == at.Cursor:
			return false, remote.ErrNoProgress
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
