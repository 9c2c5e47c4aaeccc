package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/hardening"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk/source"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
)

// The limits for the command's input, in bytes.
const (
	maxRequest = 64 << 20
	maxPacked  = 32 << 20
)

// helmRequest is the request of `nuon diff helm`, as JSON on the standard input: values may be
// secret and must not be on a command line. The same type is in cli/diff.
type helmRequest struct {
	Before     helmSide     `json:"before"`
	After      helmSide     `json:"after"`
	Cluster    *helmCluster `json:"cluster,omitempty"` // if set, Before is the release as deployed there
	Release    string       `json:"release"`
	Namespace  string       `json:"namespace"`
	Kubernetes string       `json:"kubernetes,omitempty"` // the version
	APIs       []string     `json:"apis,omitempty"`
	// Secrets, TagKey and the limits are as in kubernetes.Options.
	Secrets []string `json:"secrets,omitempty"`
	TagKey  []byte   `json:"tag_key,omitempty"`
	Limit   int      `json:"limit"`
	Lines   int      `json:"lines"`
	Context int      `json:"context"`
}

// helmSide is a chart with its values.
type helmSide struct {
	Chart  string       `json:"chart"`
	Values []helmValues `json:"values,omitempty"`
	Sets   []string     `json:"sets,omitempty"` // KEY=VALUE
}

type helmValues struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

type helmCluster struct {
	KubeConfig string `json:"kubeconfig"`
	Context    string `json:"context,omitempty"`
	Driver     string `json:"driver,omitempty"` // empty tries both, configmap first
}

func newDiff() *cobra.Command {
	command := &cobra.Command{Use: "diff", Short: "Compare for nuon diff", Hidden: true, Args: cobra.NoArgs}
	command.AddCommand(&cobra.Command{
		Use: "helm", Short: "Compare charts, by a request on the standard input (started by nuon diff helm)",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := limitMemory(); err != nil {
				return err
			}
			var request helmRequest
			if err := json.NewDecoder(io.LimitReader(command.InOrStdin(), maxRequest)).Decode(&request); err != nil {
				return fmt.Errorf("read the request: %w; run nuon diff helm", err)
			}
			report, err := newHelmDiff(request).report(command.Context())
			if err != nil {
				return err
			}
			return json.NewEncoder(command.OutOrStdout()).Encode(report)
		},
	})
	return command
}

// maxMemory bounds the address space of a comparison, in bytes, because a template can
// allocate any amount at once.
const maxMemory = 8 << 30

// limitMemory limits the memory of this process, so that a comparison that needs too much fails
// before the user's machine does.
func limitMemory() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: maxMemory, Max: maxMemory}); err != nil {
		return fmt.Errorf("bound the memory: %w", err)
	}
	return hardening.HideMemory()
}

// helmDiff is the comparison of one request.
type helmDiff struct {
	helmRequest
	fetcher *source.Fetcher
	log     *helmNotes
	// anyValues leaves out the schemas of values, which placeholders for values do not satisfy.
	anyValues bool
}

func newHelmDiff(request helmRequest) *helmDiff {
	log := &helmNotes{}
	// The user chooses what the command reads, with the user's own rights.
	return &helmDiff{helmRequest: request, fetcher: source.New(source.Options{AllowPrivate: true, Log: log}), log: log}
}

// helmNotes collects warnings as notes of the report.
type helmNotes struct{ lines []string }

func (*helmNotes) Debug(string, ...any) {}
func (*helmNotes) Info(string, ...any)  {}

// Warn adds the warning, up to a limit.
func (n *helmNotes) Warn(format string, args ...any) {
	const most, longest = 20, 900
	if text := fmt.Sprintf(format, args...); len(n.lines) < most {
		n.lines = append(n.lines, strings.ToValidUTF8(text[:min(len(text), longest)], ""))
	}
}

func (d *helmDiff) report(ctx context.Context) (*diff.Report, error) {
	if d.Cluster != nil {
		return d.againstCluster(ctx)
	}
	var charts [2]loadedChart
	var rendered [4]*helmsdk.Rendered // before, after, after a second time, before a second time
	var err error
	for i, side := range []helmSide{d.Before, d.After} {
		if charts[i], err = d.load(ctx, side); err != nil {
			return nil, err
		}
	}
	for i, which := range []int{0, 1, 1, 0} {
		if rendered[i], err = d.offline(ctx, charts[which]); err != nil {
			return nil, err
		}
	}
	d.log.Warn("from %s to %s, rendered without a cluster: lookup finds nothing there, and its version and kinds are %s",
		charts[0], charts[1], d.clusterVersion())
	d.noteCRDs(rendered[0].CRDs, rendered[1].CRDs)
	added := helm.CRDSources(rendered[1].CRDs, notIn(rendered[0].CRDs))
	options := d.options(append(objectsOf("again", rendered[2]), added...))
	options.BeforeAgain = objectsOf("before again", rendered[3])
	return kubernetes.Report(objectsOf("before", rendered[0]), append(objectsOf("after", rendered[1]), added...), options)
}

// clusterVersion describes the cluster version that templates were rendered for.
func (d *helmDiff) clusterVersion() string {
	if d.Kubernetes == "" {
		return "those of a current one (--kube-version, --api-versions)"
	}
	return "those of Kubernetes " + d.Kubernetes
}

// noteCRDs warns of definitions in the folders crds/ that differ: Helm never changes what exists.
func (d *helmDiff) noteCRDs(before, after []helmsdk.CRD) {
	known := map[string]string{}
	for _, crd := range before {
		known[keyOfCRD(crd)] = crd.Manifest
	}
	var changed []string
	for _, crd := range after {
		if was, exists := known[keyOfCRD(crd)]; exists && was != crd.Manifest {
			changed = append(changed, crd.Name)
		}
	}
	if len(changed) > 0 {
		d.log.Warn("crds/ has another definition of %s: Helm changes none that is there", strings.Join(changed, ", "))
	}
}

// notIn selects the objects of the folders crds/ that only the newer chart has. An apply creates them, regardless of
// their kind, so they are compared like all other objects.
func notIn(before []helmsdk.CRD) func(helmsdk.CRD) bool {
	known := map[string]bool{}
	for _, crd := range before {
		known[keyOfCRD(crd)] = true
	}
	return func(c helmsdk.CRD) bool { return !known[keyOfCRD(c)] }
}

// keyOfCRD identifies an object of a folder crds/ in two versions of a chart.
func keyOfCRD(c helmsdk.CRD) string { return c.Kind + "/" + c.Name }

func (d *helmDiff) options(again []manifest.Source) kubernetes.Options {
	options := kubernetes.Options{
		Again: again, Namespace: d.Namespace, TagKey: d.TagKey, Limit: d.Limit, Lines: d.Lines, Context: d.Context,
		Notes: d.log.lines,
	}
	if len(d.Secrets) > 0 {
		values := make([][]byte, len(d.Secrets))
		for i, secret := range d.Secrets {
			values[i] = []byte(secret)
		}
		options.Secrets = diff.NewSecrets(values...).Contains
	}
	return options
}

// loadedChart is a chart with its values.
type loadedChart struct {
	name     string // as given by the user
	chart    *helmsdk.Chart
	values   map[string]any
	defaults string // the chart's own values
}

// String returns a text such as "web 1.2.3 (./chart)".
func (l loadedChart) String() string {
	info := l.chart.Info()
	return fmt.Sprintf("%s %s (%.200s)", info.Name, info.Version, l.name)
}

func (d *helmDiff) load(ctx context.Context, side helmSide) (loadedChart, error) {
	found, err := d.findChart(ctx, side.Chart)
	if err != nil {
		return loadedChart{}, err
	}
	if err := found.Check(); err != nil {
		return loadedChart{}, err
	}
	if d.anyValues {
		found.Files = slices.DeleteFunc(found.Files, func(f artifact.File) bool {
			return path.Base(f.Path) == "values.schema.json"
		})
	}
	loaded, err := helmsdk.LoadChart(found.Files)
	if err != nil {
		return loadedChart{}, fmt.Errorf("%s: %w", side.Chart, err)
	}
	values, err := side.merged()
	for _, text := range side.Sets {
		if key, value, _ := strings.Cut(text, "="); severalSets.MatchString(value) {
			d.log.Warn("--set %.200s is one text, with the comma and what follows it: write --set once for each key", key)
		}
	}
	made := loadedChart{name: side.Chart, chart: loaded, values: values}
	for _, file := range found.Files {
		if file.Path == "values.yaml" {
			made.defaults = string(file.Content)
		}
	}
	return made, err
}

// severalSets matches a value that helm's --set would split into several keys.
var severalSets = lazyregexp.New(`[^\\],[\w.\[\]-]+=`)

// merged returns the values of a side: its files, overridden by its sets.
func (s helmSide) merged() (map[string]any, error) {
	files := make([]string, len(s.Values))
	for i, file := range s.Values {
		// Each file is also parsed separately, so that an error has its name.
		if _, err := helmsdk.ReadValues(file.Name, []byte(file.Content)); err != nil {
			return nil, err
		}
		files[i] = file.Content
	}
	sets := make([]helmsdk.Set, len(s.Sets))
	for i, text := range s.Sets {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, errors.New("--set takes KEY=VALUE, as image.tag=1.2.3; one of them has no =")
		}
		sets[i] = helmsdk.Set{Key: key, Value: scalar(value)}
	}
	return helmsdk.MergeValues(files, sets)
}

// scalar returns the value of --set with the type that Helm gives it: whole numbers, true,
// false and null; everything else is text.
func scalar(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	case "0":
		return int64(0)
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil && !strings.HasPrefix(text, "0") {
		return whole
	}
	return text
}

// findChart returns the chart that an argument names.
func (d *helmDiff) findChart(ctx context.Context, name string) (*source.Chart, error) {
	if scheme, _, is := strings.Cut(name, "://"); is {
		if scheme != "oci" && strings.HasSuffix(name, ".tgz") {
			return d.fetcher.FromURL(ctx, name)
		}
		repository, chart, version, err := splitReference(name)
		if err != nil {
			return nil, err
		}
		return d.fetcher.FromRepository(ctx, repository, chart, version)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is no chart: %w; name a directory, a .tgz file, oci://host/chart:version or "+
			"https://repository/chart:version", name, withoutPath(err))
	case info.IsDir():
		files, at, err := source.ReadLocal(name)
		if err != nil {
			return nil, err
		}
		return d.fetcher.FromTree(ctx, files, at)
	}
	content, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	return d.fetcher.FromArchive(ctx, name, content)
}

// readBounded reads a file that may be endless.
func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxPacked+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(content) > maxPacked {
		return nil, fmt.Errorf("%s is larger than %d MiB, the most that a packed chart may have", name, maxPacked>>20)
	}
	return content, nil
}

// withoutPath returns an error without the path at its start.
func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// splitReference splits https://host/path/chart:version. An empty version means the newest.
func splitReference(text string) (repository, chart, version string, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	dir, last := path.Split(rest)
	chart, version, _ = strings.Cut(last, ":")
	dir = strings.TrimRight(dir, "/")
	if strings.Contains(chart, "@") {
		return "", "", "", fmt.Errorf("%s names a digest, and a chart is named by its version here, as "+
			"%s://host/path/chart:1.2.3", text, scheme)
	}
	if dir == "" || chart == "" {
		return "", "", "", fmt.Errorf("%s names no chart; write the repository's address, a slash and the chart's name, as "+
			"%s://host/path/chart:1.2.3", text, scheme)
	}
	return scheme + "://" + dir, chart, version, nil
}

func (d *helmDiff) offline(ctx context.Context, made loadedChart) (*helmsdk.Rendered, error) {
	rendered, err := helmsdk.RenderOffline(ctx, made.chart, d.renderRequest(made, 1), d.Kubernetes, d.APIs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", made.name, err)
	}
	return rendered, nil
}

// renderRequest returns the request of an upgrade, so that templates render without the parts
// that only an installation has.
func (d *helmDiff) renderRequest(made loadedChart, deployed int) helmsdk.RenderRequest {
	return helmsdk.RenderRequest{Release: d.Release, Namespace: d.Namespace, Values: made.values, Upgrade: deployed > 0,
		Revision: deployed + 1}
}

// objectsOf returns the objects of a rendering, including hooks.
func objectsOf(name string, rendered *helmsdk.Rendered) []manifest.Source {
	return sourcesOf(name, rendered.Manifest, rendered.Hooks)
}

func sourcesOf(name, objects string, hooks []helmsdk.Hook) []manifest.Source {
	sources := []manifest.Source{{Name: name, Data: []byte(objects)}}
	for _, hook := range hooks {
		sources = append(sources, manifest.Source{Name: name + ": " + hook.Path, Data: []byte(hook.Manifest)})
	}
	return sources
}

// againstCluster compares the deployed release, and its live objects in the
// cluster, with the chart.
func (d *helmDiff) againstCluster(ctx context.Context) (*diff.Report, error) {
	made, err := d.load(ctx, d.After)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(d.Cluster.KubeConfig); err != nil {
		return nil, fmt.Errorf("the kubeconfig %s: %w; name the file with --kubeconfig", d.Cluster.KubeConfig,
			withoutPath(err))
	}
	reached, err := cluster.FromFile(d.Cluster.KubeConfig, d.Cluster.Context, d.log)
	if err != nil {
		return nil, err
	}
	client, deployed, err := d.deployed(ctx, reached)
	if err != nil {
		return nil, err
	}
	request := d.renderRequest(made, deployed.Revision)
	var rendered [2]*helmsdk.Rendered
	for i := range rendered {
		if rendered[i], err = client.Render(ctx, made.chart, request); err != nil {
			return nil, fmt.Errorf("%s: %w", d.After.Chart, err)
		}
	}
	before, after := sourcesOf("deployed", deployed.Manifest, deployed.Hooks), objectsOf("after", rendered[0])
	live, err := liveOf(ctx, reached, d.Namespace, before, after)
	if err != nil {
		return nil, err
	}
	d.noteRelease(deployed, made, rendered[0])
	missing := helm.CRDSources(rendered[0].CRDs, func(c helmsdk.CRD) bool { return c.State == helmsdk.CRDMissing })
	after = append(after, missing...)
	options := d.options(append(objectsOf("again", rendered[1]), missing...))
	options.Live, options.ThreeWay, options.HookEvents = live, true, helmsdk.HookEvents(helmsdk.ActionInstall)
	if request.Upgrade {
		options.HookEvents = helmsdk.HookEvents(helmsdk.ActionUpgrade)
	}
	return kubernetes.Report(before, after, options)
}

// noteRelease notes what is compared.
func (d *helmDiff) noteRelease(deployed helmsdk.Release, made loadedChart, rendered *helmsdk.Rendered) {
	was := "not deployed in namespace " + d.Namespace
	if deployed.Revision > 0 {
		was = fmt.Sprintf("revision %d of %s %s, %s", deployed.Revision, deployed.Chart.Name, deployed.Chart.Version,
			deployed.Status)
	}
	d.log.Warn("from release %s, %s, to %s", d.Release, was, made)
	if deployed.Revision > 0 && len(made.values) == 0 {
		d.log.Warn("no values are given, so the chart's own defaults are compared; --values <(helm get values %s -n %s) "+
			"gives those of the release", d.Release, d.Namespace)
	}
	d.log.Warn("the server was not asked what it would make of the chart; the plan of a deploy asks it")
	for _, crd := range rendered.CRDs {
		if crd.State == helmsdk.CRDDiffers {
			d.log.Warn("crds/ has another definition of %s than the cluster: Helm changes none that is there", crd.Name)
		}
	}
}

// deployed returns the newest deployed revision of the release, or the zero
// Release if there is none.
func (d *helmDiff) deployed(ctx context.Context, reached *cluster.Cluster) (*helmsdk.Client, helmsdk.Release, error) {
	drivers := []string{"configmap", "secret"}
	if d.Cluster.Driver != "" {
		drivers = []string{d.Cluster.Driver}
	}
	var first *helmsdk.Client
	for _, driver := range drivers {
		client, err := helmsdk.New(reached, helmsdk.Options{Namespace: d.Namespace, Driver: driver, Log: d.log})
		if err != nil {
			return nil, helmsdk.Release{}, err
		}
		if first == nil {
			first = client
		}
		history, err := client.History(ctx, d.Release)
		if elsewhere := (*helmsdk.OtherDriverError)(nil); errors.As(err, &elsewhere) && d.Cluster.Driver == "" {
			continue // the next driver is tried
		}
		if err != nil {
			return nil, helmsdk.Release{}, err
		}
		for i := len(history) - 1; i >= 0; i-- {
			if history[i].Status == helmsdk.StatusDeployed {
				return client, history[i], nil
			}
		}
	}
	return first, helmsdk.Release{}, nil
}

// liveOf returns the live objects of the cluster that the sides name.
func liveOf(ctx context.Context, reached *cluster.Cluster, namespace string,
	sides ...[]manifest.Source) ([]manifest.Source, error) {
	var refs []api.ObjectRef
	known := map[manifest.ID]bool{}
	for _, side := range sides {
		set, err := manifest.Read(side, manifest.Options{Repeated: true})
		if err != nil {
			return nil, err
		}
		for _, object := range set.Objects {
			if known[object.ID] || object.GenerateName {
				continue
			}
			known[object.ID] = true
			ref := api.ObjectRef{Group: object.ID.Group, Version: object.Version, Kind: object.ID.Kind,
				Namespace: object.ID.Namespace, Name: object.ID.Name}
			if ref.Namespace == "" {
				ref.Namespace = namespace // ignored for cluster-scoped objects
			}
			refs = append(refs, ref)
		}
	}
	objects, err := reached.Objects(ctx, refs)
	if err != nil {
		return nil, err
	}
	live := make([]manifest.Source, 0, len(objects))
	for _, object := range objects {
		content, err := object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", object.GetName(), err)
		}
		live = append(live, manifest.Source{Name: "live", Data: content})
	}
	return live, nil
}
