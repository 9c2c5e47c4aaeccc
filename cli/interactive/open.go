package interactive

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/interactive/app"
	"github.com/nuon-toolkit/nuon/cli/interactive/auditlog"
	"github.com/nuon-toolkit/nuon/cli/interactive/cause"
	"github.com/nuon-toolkit/nuon/cli/interactive/home"
	"github.com/nuon-toolkit/nuon/cli/interactive/install"
	"github.com/nuon-toolkit/nuon/cli/interactive/logview"
	"github.com/nuon-toolkit/nuon/cli/interactive/runner"
	"github.com/nuon-toolkit/nuon/cli/interactive/workflow"
)

// content returns the screen that a command line, such as "install acme", opens.
func (r *requester) content(line []string) (Content, error) { return contentOf(line, r.options) }

// contentOf returns the screen that a command line opens, other than the review.
func contentOf(line []string, o Options) (Content, error) {
	name := ""
	if len(line) > 1 {
		name = line[1]
	}
	switch word := line[0]; word {
	case "home":
		return home.New(o.Cache), nil
	case "installs":
		status := ""
		if len(line) > 2 {
			status = line[2]
		}
		return install.NewList(name, status), nil
	case "workflows":
		return workflow.NewList(name), nil
	case "apps":
		return app.NewList(), nil
	case "runners":
		return runner.NewList(), nil
	case "audit":
		return auditlog.New(name), nil
	case "explain":
		if len(line) != 3 {
			return nil, fmt.Errorf("name what to explain: explain KIND NAME, such as explain install acme")
		}
		return cause.New(line[1], line[2]), nil
	case "states":
		if len(line) != 3 {
			return nil, fmt.Errorf("name the install and the component: states INSTALL COMPONENT")
		}
		return install.NewStates(line[1], line[2]), nil
	case "install", "workflow", "app", "runner", "logs":
		if name == "" {
			return nil, fmt.Errorf("name the %s: %[1]s NAME", word)
		}
		return map[string]func() Content{
			"install":  func() Content { return install.New(name) },
			"workflow": func() Content { return workflow.New(name) },
			"app":      func() Content { return app.New(name) },
			"runner":   func() Content { return runner.New(name) },
			"logs":     func() Content { return logview.New(line[1:], o.Follow) },
		}[word](), nil
	default:
		return nil, fmt.Errorf("there is no screen %q: press : and tab for a list", console.Line(word))
	}
}
