package diff

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/runnerdcmd"
	model "github.com/nuon-toolkit/nuon/diff"
)

// helm holds the flags of `nuon diff helm`.
type helm struct {
	options
	charts []string

	values, valuesBefore, valuesAfter []string
	sets, setsBefore, setsAfter       []string
	release, namespace                string
	kubeVersion                       string
	apiVersions                       []string

	cluster                         bool
	kubeConfig, kubeContext, driver string
}

const helmHelp = `Compare two Helm charts, two versions of a chart, or a chart with other values. A chart is a directory, a
packed chart (.tgz), oci://host/path/chart:version or https://repository/chart:version; without a
version, the newest.

Both sides are rendered as an upgrade of the same release; the second side is rendered twice, which
detects values that are generated at each rendering. The dependencies of a directory are resolved as in
a build: from Chart.lock, charts/, or file:// dependencies beside it. Nothing is written to the
directory. --values and --set apply to both sides, later ones win; flags that end in -before and -after
apply to one side and come last.

Without --cluster, no cluster is used: lookup finds nothing, and templates see the version and kinds of
a current Kubernetes, or of --kube-version and --api-versions. With --cluster and one chart, the deployed
release is compared with the chart and with the live objects, which also shows drift. The cluster is
only read.

Repositories and registries are read without credentials. This command runs runnerd, which must be
beside nuon or on PATH.`

func newHelm(e *cmdenv.Env) *cobra.Command {
	var h helm
	c := &cobra.Command{
		Use: "helm BEFORE [AFTER]", Short: "Compare two Helm charts, versions or values",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: files(2),
		Long:              helmHelp,
		Example: `  nuon diff helm old/chart new/chart -f values.yaml
  nuon diff helm oci://ghcr.io/acme/charts/web:1.2.0 oci://ghcr.io/acme/charts/web:1.3.0
  nuon diff helm https://charts.example.com/web:1.2.0 ./chart --set image.tag=7 --exit-code
  nuon diff helm ./chart --set-after replicas=3
  nuon diff helm ./chart --cluster --release web --namespace shop -f <(helm get values web -n shop)`,
		RunE: func(c *cobra.Command, args []string) error {
			h.charts, h.given = args, c.Flags().Changed("output")
			compare := func(onto *console.Console, s *resolvedOptions) (*model.Report, error) {
				return h.report(c.Context(), onto, s)
			}
			return run(c.Context(), e.Console, h.options, h.files(), compare)
		},
	}
	h.options.flags(c)
	h.flags(c)
	return c
}

// flags adds the flags of `nuon diff helm`.
func (h *helm) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&h.values, "values", "f", nil, "`file` of values, for both sides (repeatable)")
	f.StringArrayVar(&h.valuesBefore, "values-before", nil, "`file` of values for BEFORE")
	f.StringArrayVar(&h.valuesAfter, "values-after", nil, "`file` of values for AFTER")
	f.StringArrayVar(&h.sets, "set", nil,
		"`KEY=VALUE`, for both sides, like helm --set, but commas are part of the value")
	f.StringArrayVar(&h.setsBefore, "set-before", nil, "`KEY=VALUE` for BEFORE")
	f.StringArrayVar(&h.setsAfter, "set-after", nil, "`KEY=VALUE` for AFTER")
	f.StringVar(&h.release, "release", "release", "`name` of the release")
	f.StringVar(&h.namespace, "namespace", "default", "namespace of the release")
	f.StringVar(&h.kubeVersion, "kube-version", "", "Kubernetes `version` that templates see, such as 1.33.0")
	f.StringSliceVar(&h.apiVersions, "api-versions", nil,
		"more `kinds` that templates see, such as cert-manager.io/v1 or batch/v1/CronJob")
	f.BoolVar(&h.cluster, "cluster", false, "compare with the release that is deployed in a cluster")
	f.StringVar(&h.kubeConfig, "kubeconfig", "",
		"kubeconfig `file` of the cluster (default: like kubectl)")
	f.StringVar(&h.kubeContext, "kube-context", "", "`name` of the kubeconfig context (default: the current one)")
	f.StringVar(&h.driver, "driver", "",
		"storage driver of the release: configmap or secret (default: try both)")
	for _, name := range []string{"values", "values-before", "values-after"} {
		completeFile(c, name, "yaml", "yml", "json")
	}
	completeFile(c, "kubeconfig")
}

// files returns the file names of which one may be stdin.
func (h *helm) files() []string {
	return append(append(append([]string{}, h.values...), h.valuesBefore...), h.valuesAfter...)
}

// helmRequest is the request to runnerd, sent as JSON. runnerd defines the same type.
type helmRequest struct {
	Before     helmSide     `json:"before"`
	After      helmSide     `json:"after"`
	Cluster    *helmCluster `json:"cluster,omitempty"`
	Release    string       `json:"release"`
	Namespace  string       `json:"namespace"`
	Kubernetes string       `json:"kubernetes,omitempty"`
	APIs       []string     `json:"apis,omitempty"`
	Secrets    []string     `json:"secrets,omitempty"`
	TagKey     []byte       `json:"tag_key,omitempty"`
	Limit      int          `json:"limit"`
	Lines      int          `json:"lines"`
	Context    int          `json:"context"`
}

type helmSide struct {
	Chart  string       `json:"chart"`
	Values []helmValues `json:"values,omitempty"`
	Sets   []string     `json:"sets,omitempty"`
}

type helmValues struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

type helmCluster struct {
	KubeConfig string `json:"kubeconfig"`
	Context    string `json:"context,omitempty"`
	Driver     string `json:"driver,omitempty"`
}

// check rejects combinations of flags that have no meaning.
func (h *helm) check() error {
	switch {
	case h.cluster && len(h.charts) == 2:
		return exitcode.Usagef("--cluster compares one chart with the deployed release; name only the new chart")
	case h.cluster && (h.kubeVersion != "" || len(h.apiVersions) > 0):
		return exitcode.Usagef(
			"--kube-version and --api-versions cannot be used with --cluster; remove them")
	case h.cluster && len(h.valuesBefore)+len(h.setsBefore) > 0:
		return exitcode.Usagef(
			"--values-before and --set-before cannot be used with --cluster, where BEFORE is the deployed release; " +
				"remove them")
	case !h.cluster && (h.kubeConfig != "" || h.kubeContext != "" || h.driver != ""):
		return exitcode.Usagef("--kubeconfig, --kube-context and --driver need --cluster")
	case h.driver != "" && h.driver != "configmap" && h.driver != "secret":
		return exitcode.Usagef("--driver %s: use configmap or secret", console.Line(h.driver))
	case !h.cluster && len(h.charts) == 1 &&
		len(h.valuesBefore)+len(h.setsBefore)+len(h.valuesAfter)+len(h.setsAfter) == 0:
		return exitcode.Usagef(
			"nothing to compare the chart with: name another chart, pass values for one side (--values-after, " +
				"--set-after, --values-before, --set-before), or use --cluster")
	}
	return nil
}

// request builds the request to runnerd.
func (h *helm) request(c *console.Console, s *resolvedOptions) (*helmRequest, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	r := &helmRequest{
		Release: h.release, Namespace: h.namespace, Kubernetes: h.kubeVersion, APIs: h.apiVersions, TagKey: s.tagKey,
		Before: helmSide{Chart: h.charts[0], Sets: concat(h.sets, h.setsBefore)},
		After:  helmSide{Chart: h.charts[len(h.charts)-1], Sets: concat(h.sets, h.setsAfter)},
	}
	r.Limit, r.Lines, r.Context = s.bounds()
	from := newReader(c)
	from.max = maxSmall * 4
	read := map[string]helmValues{}
	for _, side := range []struct {
		into  *[]helmValues
		names []string
	}{{&r.Before.Values, concat(h.values, h.valuesBefore)}, {&r.After.Values, concat(h.values, h.valuesAfter)}} {
		for _, name := range side.names {
			if _, known := read[name]; !known { // a pipe can be read only once, for both sides
				content, err := from.file(name)
				if err != nil {
					return nil, fmt.Errorf("--values: %w", err)
				}
				read[name] = helmValues{Name: name, Content: string(content)}
			}
			*side.into = append(*side.into, read[name])
		}
	}
	if s.secretFile != "" {
		content, err := readSmall(s.secretFile)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		r.Secrets = strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' || r == '\r' })
	}
	if !h.cluster {
		return r, nil
	}
	at, err := h.kubeConfigFile()
	r.Cluster = &helmCluster{KubeConfig: at, Context: h.kubeContext, Driver: h.driver}
	return r, err
}

func concat(both, one []string) []string { return append(append([]string{}, both...), one...) }

// file reads a file or stdin.
func (r *reader) file(name string) ([]byte, error) {
	if name == stdin {
		return r.standard()
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, readError(name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, readError(name, err)
	}
	return readBounded(name, file, info, r.max)
}

// kubeConfigFile returns the kubeconfig file that kubectl would use.
func (h *helm) kubeConfigFile() (string, error) {
	if h.kubeConfig != "" {
		return h.kubeConfig, nil
	}
	if named := os.Getenv("KUBECONFIG"); named != "" {
		if strings.Contains(named, string(filepath.ListSeparator)) {
			return "", exitcode.Usagef("KUBECONFIG names several files; choose one with --kubeconfig")
		}
		return named, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", exitcode.Usagef("no home directory to find a kubeconfig in; name the file with --kubeconfig")
	}
	return filepath.Join(home, ".kube", "config"), nil
}

// report has runnerd compare the charts.
func (h *helm) report(ctx context.Context, c *console.Console, s *resolvedOptions) (*model.Report, error) {
	request, err := h.request(c, s)
	if err != nil {
		return nil, err
	}
	output, err := runnerdcmd.Run(ctx, request, maxBytes,
		"its report is larger than "+size(maxBytes)+"; compare in parts", "diff", "helm")
	if err != nil {
		return nil, err
	}
	var r model.Report
	if err := json.Unmarshal(output.Content, &r); err != nil {
		return nil, fmt.Errorf("%s returned no report: %w; install the runnerd of the same version as nuon",
			output.Program, err)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf(
			"%s returned an invalid report: %w; install the runnerd of the same version as nuon",
			output.Program, err)
	}
	return &r, nil
}
