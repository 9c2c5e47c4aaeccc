package install

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// Actions returns what can be done with an install.
func (s *Screen) Actions() []page.Action {
	return []page.Action{
		{Key: screen.Bind("d", "deploy", "d"), Then: "workflow latest:" + s.full(),
			Command:  func(page.Row) ([]string, error) { return []string{"deploy", s.full()}, nil },
			Question: func(page.Row) string { return fmt.Sprintf("Deploy everything that is behind on %s?", s.full()) }},
		{Key: screen.Bind("w", "why", "w"), Open: func(page.Row) string { return "explain install " + s.full() }},
		{Key: screen.Bind("L", "log", "L"), Open: func(page.Row) string { return "logs latest:" + s.full() }},
	}
}
