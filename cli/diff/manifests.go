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
		Use: "manifests BEFORE AFTER", Short: "Compare two sets of Kubernetes manifests",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: files(2),
		Long: `Compare two sets of Kubernetes manifests. Each is a file, a directory (every .yaml, .yml and .json file
below it, except in hidden directories), the output of a command, as <(command), or - for stdin.

Objects are matched by group, kind, namespace and name; elements of lists by the keys that the API uses;
quantities, durations and numbers by their meaning. Custom resources are compared by the schemas of the
CustomResourceDefinitions among the manifests.

--live adds the live objects of the cluster and shows what an apply would do there: BEFORE is the last
applied configuration, AFTER the new one. --again adds a second rendering of AFTER, which detects values
that are generated at each rendering.`,
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
	c.Flags().StringVar(&m.live, "live", "", "live objects of the cluster: a `file`, a directory or -")
	c.Flags().StringVar(&m.again, "again", "", "second rendering of AFTER: a `file`, a directory or -")
	c.Flags().StringVar(&m.namespace, "namespace", "", "namespace of objects that name none")
	completeFile(c, "live")
	completeFile(c, "again")
	return c
}

// sides returns the names of the inputs: before, after, live and again. The last two may be empty.
func (m *manifests) sides() []string { return []string{m.before, m.after, m.live, m.again} }

// report reads the inputs and compares them.
func (m *manifests) report(c *console.Console, s *resolvedOptions) (*model.Report, error) {
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
