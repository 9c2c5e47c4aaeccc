package diff

import (
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	model "github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// manifests holds the flags of `nuon diff manifests`.
type manifests struct {
	options
	before, after string
	live, again   string
	namespace     string
}

func newManifests(e *cmdenv.Env) *cobra.Command {
	var m manifests
	c := &cobra.Command{
		Use: "manifests BEFORE AFTER", Short: "Show what would change between two sets of Kubernetes manifests",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: files(2),
		Long: `Shows what would change between two sets of Kubernetes manifests. Each is a file, a directory (every .yaml, .yml and .json file below
it, but not in hidden folders), what a command prints, as <(command), or - for stdin.

Objects are matched by group, kind, namespace and name, elements of lists by what the API takes for their key, and quantities, durations
and numbers by what they mean. Custom resources are compared by the schemas of the CustomResourceDefinitions among the manifests.

With --live it also reads what the cluster has, and shows what an apply would do there: BEFORE is what was applied last, AFTER what is
wanted. With --again, AFTER rendered a second time, it finds the values that are made anew at each rendering.`,
		Example: `  nuon diff manifests old.yaml new.yaml
  nuon diff manifests <(helm get manifest web) <(helm template web ./chart) --namespace shop
  nuon diff manifests last/ wanted/ --live <(kubectl get deploy,svc,cm -o yaml) --exit-code
  nuon diff manifests main/ branch/ -o markdown --ignore ignore.toml`,
		RunE: func(c *cobra.Command, args []string) error {
			m.before, m.after, m.given = args[0], args[1], c.Flags().Changed("output")
			return run(c.Context(), e.Console, m.options, m.sides(), m.report)
		},
	}
	m.flags(c)
	c.Flags().StringVar(&m.live, "live", "", "what the cluster has: a `file`, a directory or -")
	c.Flags().StringVar(&m.again, "again", "", "AFTER rendered a second time: a `file`, a directory or -")
	c.Flags().StringVar(&m.namespace, "namespace", "", "the release's namespace: that of objects which name none")
	completeFile(c, "live")
	completeFile(c, "again")
	return c
}

// sides returns the names of the inputs: before, after, live and again. The last two may be empty.
func (m *manifests) sides() []string { return []string{m.before, m.after, m.live, m.again} }

// report reads the inputs and compares them.
func (m *manifests) report(c *console.Console, s *settled) (*model.Report, error) {
	r := newReader(c)
	var sides [4][]manifest.Source
	for i, name := range m.sides() {
		if name == "" && i > 1 {
			continue // without --live or --again
		}
		var err error
		if sides[i], err = r.manifests(name); err != nil {
			return nil, err
		}
	}
	o := kubernetes.Options{
		Live: sides[2], ThreeWay: m.live != "", Again: sides[3],
		Namespace: m.namespace, Secrets: s.secrets, TagKey: s.tagKey, MaxBytes: maxBytes,
	}
	o.Limit, o.Lines, o.Context = s.bounds()
	return kubernetes.Report(sides[0], sides[1], o)
}
