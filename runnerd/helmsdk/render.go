package helmsdk

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// RenderRequest holds what templates can read about a release.
type RenderRequest struct {
	Release, Namespace string
	// Values are the user-supplied values, without the chart's defaults.
	Values map[string]any
	// Upgrade is .Release.IsUpgrade, Revision is .Release.Revision.
	Upgrade  bool
	Revision int
}

// Render renders a chart against the cluster: templates see its version and kinds,
// and lookup reads from it. No write is possible. A violation of the chart's values
// schema is a *SchemaError. Templates cannot be interrupted: when ctx ends, Render
// returns and leaves its goroutine running.
func (c *Client) Render(ctx context.Context, chart *Chart, request RenderRequest) (*Rendered, error) {
	reading := c.cluster.WithTransport(bind(ctx)).WithTransport(readOnly)
	caps, err := c.capabilities(ctx)
	if err != nil {
		return nil, err
	}
	made, err := render(ctx, chart, request, caps, engine.New(reading.RESTConfig()), c.log.Warn)
	if err != nil {
		return nil, err
	}
	return made, c.compareCRDs(ctx, made)
}

// offlineVersion is the Kubernetes version that templates see without a cluster: the
// one whose kinds are compiled in. Helm's own default is from 2020 unless its binary
// is linked otherwise, and most charts reject that.
const offlineVersion = "1.37.0"

// RenderOffline renders without a cluster: lookup finds nothing. kubeVersion is like
// "1.33.0", or empty for a current one; apiVersions are added to the common ones,
// e.g. "batch/v1" or "batch/v1/CronJob".
func RenderOffline(ctx context.Context, chart *Chart, request RenderRequest, kubeVersion string,
	apiVersions []string) (*Rendered, error) {
	caps := chartutil.DefaultCapabilities.Copy()
	parsed, err := chartutil.ParseKubeVersion(cmp.Or(kubeVersion, offlineVersion))
	if err != nil {
		return nil, fmt.Errorf("%.60q is not a version of Kubernetes; one looks like 1.33.0", kubeVersion)
	}
	caps.KubeVersion = *parsed
	caps.APIVersions = append(slices.Clone(caps.APIVersions), apiVersions...)
	return render(ctx, chart, request, caps, engine.Engine{}, func(string, ...any) {})
}

// capabilities returns the cluster's version and kinds.
func (c *Client) capabilities(ctx context.Context) (*chartutil.Capabilities, error) {
	discovery, err := c.cluster.WithTransport(bind(ctx)).RESTClientGetter(c.namespace).ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	version, err := discovery.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its version: %w", explain(ctx, err))
	}
	kinds, err := action.GetVersionSet(discovery)
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", explain(ctx, err))
	}
	return &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		APIVersions: kinds,
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}, nil
}

// render renders in its own goroutine, which cannot be stopped.
func render(ctx context.Context, c *Chart, request RenderRequest, caps *chartutil.Capabilities, with engine.Engine,
	warn func(string, ...any)) (*Rendered, error) {
	silenceSDK()
	type outcome struct {
		made *Rendered
		err  error
	}
	done := make(chan outcome, 1)
	go func() { // renders; ends when done, or with the process
		var o outcome
		defer func() {
			if fault := recover(); fault != nil { // of the engine or of one of its functions, caused by a template
				o = outcome{err: fmt.Errorf("render the chart %s: the engine failed: %s; correct the template", c.meta.Name,
					boundedText(fmt.Sprint(fault), 300))}
			}
			done <- o
		}()
		o.made, o.err = renderNow(c, request, caps, with, warn)
	}()
	select {
	case o := <-done:
		return o.made, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf(
			"render the chart %s: %w; a template that never ends, or the cluster that it looks into, may be why", c.meta.Name,
			context.Cause(ctx))
	}
}

func renderNow(c *Chart, request RenderRequest, caps *chartutil.Capabilities, with engine.Engine,
	warn func(string, ...any)) (*Rendered, error) {
	if err := chartutil.ValidateReleaseName(request.Release); err != nil {
		return nil, fmt.Errorf("the release cannot be called %.80q: %s", request.Release, bounded(err))
	}
	loaded, err := c.prepare(request.Values, caps)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{
		Name: request.Release, Namespace: request.Namespace, Revision: request.Revision, IsInstall: !request.Upgrade,
		IsUpgrade: request.Upgrade,
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, request.Values, options, caps, true)
	if err != nil {
		return nil, fmt.Errorf("put the values together: %s; correct the values", bounded(err))
	}
	if err := checkSchemas(loaded, values["Values"], warn); err != nil {
		return nil, err
	}
	files, err := with.Render(loaded, values)
	if err != nil {
		return nil, templateError(err)
	}
	templates := make([]File, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		templates = append(templates, File{Path: name, Content: []byte(files[name])})
	}
	made, err := compose(loaded.Name(), request.Namespace, templates)
	if err != nil {
		return nil, err
	}
	made.CRDs, err = readCRDs(loaded)
	return made, err
}

// prepare returns the chart in the form that the engine takes: without dependencies
// that values switch off, and with imported values of dependencies.
func (c *Chart) prepare(values map[string]any, caps *chartutil.Capabilities) (*chart.Chart, error) {
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	if err := action.CheckDependencies(loaded, loaded.Metadata.Dependencies); err != nil {
		return nil, fmt.Errorf("the chart %s is not whole: %s; build it again", c.meta.Name, bounded(err))
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, fmt.Errorf("the dependencies of the chart %s: %s; correct Chart.yaml or the values", c.meta.Name,
			bounded(err))
	}
	if caps != nil && c.meta.KubeVersion != "" &&
		!chartutil.IsCompatibleRange(c.meta.KubeVersion, caps.KubeVersion.String()) {
		return nil, fmt.Errorf(
			"the chart %s %s needs Kubernetes %s, and this is %s; use another version of the chart, or upgrade the cluster",
			c.meta.Name, c.meta.Version, c.meta.KubeVersion, caps.KubeVersion.String())
	}
	return loaded, nil
}

// Compose rebuilds a rendering from its templates, for those stored with a plan.
// values are those of the rendering, which decide which CRDs belong to it.
func Compose(chart *Chart, values map[string]any, templates []File) (*Rendered, error) {
	silenceSDK()
	loaded, err := chart.prepare(values, nil)
	if err != nil {
		return nil, err
	}
	made, err := compose(loaded.Name(), "", templates)
	if err != nil {
		return nil, err
	}
	made.CRDs, err = readCRDs(loaded)
	return made, err
}
