package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// MaxRecord is the size in bytes from which the API server refuses the record of a
// release, and WarnRecord the size from which a warning is shown.
const (
	MaxRecord  = 1 << 20
	WarnRecord = MaxRecord / 4 * 3
)

// RecordSize returns the size in bytes of the release record for a chart, its values
// and a rendering, as Helm encodes it: the text that it puts into a ConfigMap or
// Secret. Names and descriptions that are not known yet count with a typical length.
func RecordSize(chart *Chart, values map[string]any, rendered *Rendered) (int, error) {
	prepared, err := chart.prepare(values, nil)
	if err != nil {
		return 0, err
	}
	var kept recordSizer
	if err := driver.NewConfigMaps(&kept).Create("size", finalRecord(prepared, values, rendered)); err != nil {
		return 0, fmt.Errorf("encode the record of the release: %s; correct the values", bounded(err))
	}
	return kept.bytes, nil
}

// finalRecord returns a record as it is at the end of an upgrade, its longest form.
func finalRecord(prepared *chart.Chart, values map[string]any, rendered *Rendered) *release.Release {
	now := helmtime.Time{Time: time.Unix(1_700_000_000, 123_456_789).UTC()}
	hooks := make([]*release.Hook, len(rendered.hooks))
	for i, h := range rendered.hooks {
		run := *h
		run.LastRun = release.HookExecution{StartedAt: now, CompletedAt: now, Phase: release.HookPhaseSucceeded}
		hooks[i] = &run
	}
	return &release.Release{
		Name: strings.Repeat("n", 53), Namespace: strings.Repeat("s", 63), Version: 1000, Chart: prepared, Config: values,
		Manifest: rendered.Manifest, Hooks: hooks,
		Info: &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusPendingUpgrade,
			Notes: rendered.Notes, Description: strings.Repeat("d", 100)},
	}
}

// recordSizer replaces a cluster.
type recordSizer struct {
	corev1.ConfigMapInterface
	bytes int
}

// Create measures the record.
func (c *recordSizer) Create(_ context.Context, made *v1.ConfigMap, _ metav1.CreateOptions) (*v1.ConfigMap, error) {
	if len(made.Data) != 1 {
		return nil, errors.New("the record has another form than is known")
	}
	for _, text := range made.Data {
		c.bytes = len(text)
	}
	return made, nil
}
