// Package runners implements `nuon runners`, which manages the runners that build and
// that work in customers' accounts.
package runners

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "runners", Short: "Manage runners"}
	c.AddCommand(newList(e), newGet(e), newCreate(e), newRegister(e), newConfirm(e), newReplace(e),
		newDelete(e))
	return c
}

// statuses are the possible statuses of a runner.
var statuses = []string{"online", "off", "offline", "not registered", "replaced"}

func newList(e *cmdenv.Env) *cobra.Command {
	var kind, stands string
	l := &listing.List[api.Runner]{
		Header: []string{"NAME", "KIND", "STATUS", "LAST SEEN", "VERSION", "IDENTITY"},
		Row: func(r api.Runner) []string {
			identity := cmp.Or(string(r.RegisteredBy), "-")
			if r.Identity != nil {
				identity = string(r.Identity.Cloud) + " " + r.Identity.Account
			}
			return []string{r.Name, string(r.Kind), Status(r), lastSeen(r), r.Version, identity}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.Runner, string, error) {
			l, err := apiclient.Decode[api.RunnerList](client.ListRunners(ctx,
				&api.ListRunnersParams{Cursor: at.Cursor, Limit: at.Limit}))
			fit := slices.DeleteFunc(l.Items, func(r api.Runner) bool {
				return kind != "" && string(r.Kind) != kind || stands != "" && Status(r) != stands
			})
			return fit, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List runners", Args: cobra.NoArgs,
		Example: `  nuon runners list
  nuon runners list --status offline -o name`,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case stands != "" && !slices.Contains(statuses, stands):
				return exitcode.Usagef("--status %s: use one of %s", stands, strings.Join(statuses, ", "))
			case kind != "" && !api.RunnerKind(kind).Valid():
				return exitcode.Usagef("--kind %s: use install or build", kind)
			}
			return nil
		},
	})
	c.Flags().StringVar(&kind, "kind", "", "only runners of this kind: install or build")
	c.Flags().StringVar(&stands, "status", "", "only these statuses: "+strings.Join(statuses, ", "))
	complete.FlagWords(c, "kind", "install", "build")
	complete.FlagWords(c, "status", statuses...)
	return c
}

// Status returns the status of a runner.
func Status(r api.Runner) string {
	switch {
	case !r.Registered && !r.RegisteredAt.IsZero():
		return "replaced"
	case !r.Registered:
		return "not registered"
	case !r.Online:
		return "offline"
	case r.Policy.Off:
		return "off"
	}
	return "online"
}

func lastSeen(r api.Runner) string {
	switch {
	case !r.LastSeen.IsZero():
		return ago(r.LastSeen)
	case !r.RegisteredAt.IsZero():
		return "-" // the runner was replaced, and the new machine has not registered yet
	}
	return "never"
}

func ago(at time.Time) string { return time.Since(at).Round(time.Second).String() + " ago" }

func newGet(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "get RUNNER",
		Short:             "Show a runner, its restrictions and its running jobs",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Args(e, complete.Runners),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			r, err := apiclient.Decode[api.Runner](client.GetRunner(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(r, func(w io.Writer) error { return show(e.Console, w, r) })
		}),
	}
}

// show prints a runner for people.
func show(c *console.Console, w io.Writer, r api.Runner) error {
	fmt.Fprintf(w, "runner %s (%s): %s\n", r.Name, r.ID, Status(r))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-13s%s\n", name, console.Line(value))
		}
	}
	kind := string(r.Kind)
	if r.Shared {
		kind += ", shared: runs installs that name no runner"
	}
	line("kind", kind)
	line("last seen", lastSeen(r))
	line("version", r.Version)
	if r.Capacity > 0 {
		line("capacity", fmt.Sprintf("%d jobs at once", r.Capacity))
	}
	if !r.RegisteredAt.IsZero() {
		line("registered", r.RegisteredAt.Local().Format(time.DateTime)+registeredBy(r))
	}
	if !r.KeySince.IsZero() {
		line("runner key", "in use since "+r.KeySince.Local().Format(time.DateTime))
	}
	if r.Identity != nil {
		line("identity", subject(*r.Identity))
	}
	line("install key", r.KeyID)
	if r.Policy.Pods {
		line("executor", ExecutorOfPods)
	}
	for _, words := range Restrictions(r.Policy) {
		line("runner file", words)
	}
	showClaims(w, r)
	if len(r.Attempts) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nrunning jobs:")
	var rows [][]string
	for _, a := range r.Attempts {
		rows = append(rows, []string{a.Job, fmt.Sprint(a.Attempt), a.Kind, cmp.Or(a.Install, "-"),
			AttemptStatus(a), ago(a.OfferedAt)})
	}
	return c.Table(w, []string{"JOB", "ATTEMPT", "KIND", "INSTALL", "STATUS", "SINCE"}, rows)
}

// AttemptStatus returns an attempt's status as text for people.
func AttemptStatus(a api.RunnerAttempt) string {
	if a.Status == "expired" {
		return "lost contact"
	}
	return a.Status
}

// ExecutorOfPods describes the executor of a runner whose jobs are pods.
const ExecutorOfPods = "kubernetes: each job is a pod"

// Restrictions describes the restrictions in a runner's own file; none if it allows everything.
func Restrictions(p api.RunnerPolicy) []string {
	var lines []string
	if p.Off {
		lines = append(lines, "accepts no jobs now")
	}
	if p.Reason != "" {
		lines = append(lines, p.Reason)
	}
	if p.Off {
		return lines // its other restrictions do not matter while it is off
	}
	if p.Jobs != nil {
		lines = append(lines, "jobs: "+cmp.Or(strings.Join(*p.Jobs, ", "), "none"))
	}
	if p.Components != nil {
		lines = append(lines, "components: "+cmp.Or(strings.Join(*p.Components, ", "), "none"))
	}
	if p.Window != "" {
		lines = append(lines, "applies and actions: "+p.Window)
	}
	if p.Limits.MemoryBytes > 0 {
		lines = append(lines, fmt.Sprintf("memory of a job: %d MiB", p.Limits.MemoryBytes>>20))
	}
	if p.Limits.TimeoutSeconds > 0 {
		lines = append(lines, "time of a job: "+(time.Duration(p.Limits.TimeoutSeconds)*time.Second).String())
	}
	if p.Debug.Logs {
		lines = append(lines, "sends logs of pods")
	}
	if len(p.Debug.Commands) > 0 {
		lines = append(lines, "debug commands: "+strings.Join(p.Debug.Commands, ", "))
	}
	if len(p.Debug.Shells) > 0 {
		lines = append(lines, "shells in pods of: "+strings.Join(p.Debug.Shells, ", "))
	}
	if len(p.Debug.Images) > 0 {
		lines = append(lines, "images of debug containers: "+strings.Join(p.Debug.Images, ", "))
	}
	return lines
}

func newCreate(e *cmdenv.Env) *cobra.Command {
	var kind string
	var shared bool
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a runner and print how to start it", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			made, err := apiclient.Decode[api.CreatedRunner](client.CreateRunner(ctx,
				api.NewRunner{Name: args[0], Kind: api.NewRunnerKind(kind), Shared: shared}))
			if err != nil {
				return err
			}
			return e.Console.Result(made, func(w io.Writer) error { return HowToStart(w, made) })
		}),
	}
	c.ValidArgsFunction = complete.Nothing
	c.Flags().StringVar(&kind, "kind", "install", "install (runs in a customer's account) or build")
	complete.FlagWords(c, "kind", "install", "build")
	c.Flags().BoolVar(&shared, "shared", false, "run the installs that name no runner")
	return c
}

func newRegister(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "register RUNNER",
		Short:             "Create a new registration token for a runner that has not registered",
		Args:              cobra.ExactArgs(1),
		Example:           `  nuon runners register berlin`,
		ValidArgsFunction: complete.Args(e, complete.Runners),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			made, err := apiclient.Decode[api.CreatedRunner](client.CreateRegistration(ctx, args[0]))
			if err != nil {
				return err
			}
			return e.Console.Result(made, func(w io.Writer) error {
				if _, err := fmt.Fprintf(w, "earlier registration tokens are revoked. "); err != nil {
					return err
				}
				return howToStart(w, made.Runner, made.RegistrationToken)
			})
		}),
	}
}

// HowToStart prints how to start a new runner with its registration token.
func HowToStart(w io.Writer, made api.CreatedRunner) error {
	if _, err := fmt.Fprintf(w, "created runner %s. ", console.Line(made.Runner.Name)); err != nil {
		return err
	}
	return howToStart(w, made.Runner, made.RegistrationToken)
}

// tokenForm matches registration tokens: prefix, ids and a secret in base64.
var tokenForm = lazyregexp.New(`^[A-Za-z0-9._-]+$`)

// howToStart prints the command that starts a runner. A person pastes it on the runner's machine, so the texts of the
// control plane are quoted.
func howToStart(w io.Writer, made api.Runner, token string) error {
	if !tokenForm.MatchString(token) {
		return fmt.Errorf("the control plane returned a registration token for runner %s that is none: it has characters "+
			"besides letters, digits, ., _ and -", console.Line(made.Name))
	}
	whose := "customer"
	if made.Kind == api.RunnerKindBuild {
		whose = "vendor"
	}
	_, err := fmt.Fprintf(w, "Start it on its machine within one hour:\n\n  NUON_REGISTRATION_TOKEN=%s \\\n  "+
		"NUON_REGISTRY=<host/path of the %s's registry> \\\n  runnerd run --url <the runner API's address> --dir "+
		"/var/lib/nuon --name %s\n\nFor more options, such as the password of the registry, run `runnerd run --help`.\n",
		token, whose, console.Line(console.ShellWord(made.Name)))
	return err
}
